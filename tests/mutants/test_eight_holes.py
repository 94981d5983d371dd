"""Each of the eight holes that outsiders found has planted versions, which the harness catches.

The harness is what was built to find the whole family: its tests try random files, all types, all methods, all
kinds of charges, all altered places. None of them was written for a planted bug.
"""

from __future__ import annotations

import pytest

from tests.mutants.catalogue import MUTANTS

AUDITS = "tests/audits"
HARNESS = (
    f"{AUDITS}/test_charging.py::test_every_kind_of_charge_to_every_kind_of_cap_stays_below_it",
    f"{AUDITS}/test_concurrency.py::test_eight_threads_on_one_object_are_each_given_what_is_right",
    f"{AUDITS}/test_concurrency.py::test_no_call_opens_a_ledgers_file_beside_sqlite",
    f"{AUDITS}/test_file_neighbours.py::test_random_files_and_their_neighbours_are_never_told_apart",
    f"{AUDITS}/test_file_neighbours.py::test_the_plainest_files_and_their_neighbours_are_never_told_apart",
    f"{AUDITS}/test_forgery.py::test_an_altered_release_of_any_class_and_algorithm_is_refused",
    f"{AUDITS}/test_value_fuzz.py::test_no_odd_value_can_be_seen_but_in_the_counts_of_its_row",
    f"{AUDITS}/test_value_fuzz.py::test_no_source_is_touched_before_the_first_verb_or_heard_when_it_fails",
)
"""The quick parts of the harness."""
HOLES = {
    "1 threads": ("threads-share-a-connection", "an-alert-fires-once-for-every-thread"),
    "2 CSV lines": (
        "csv-files-are-read-with-the-options-of-old",
        "an-open-quote-takes-the-next-lines-with-it",
        "a-bare-return-ends-a-line",
        "a-line-that-is-no-text-is-no-row",
        "a-line-that-is-too-long-is-no-row",
    ),
    "3 one value stops a run": (
        "csv-lines-that-stop-the-reader",
        "arrow-text-that-is-no-unicode-is-handed-on",
        "arrow-timestamps-converted-by-the-engine",
        "durations-converted-by-the-engine",
        "half-a-surrogate-pair-is-handed-on",
    ),
    "4 lazy sources": (
        "a-lazy-table-is-computed-before-the-charge",
        "a-message-of-another-package-is-passed-on",
    ),
    "5 units of a cap": (
        "a-cap-does-not-look-whom-a-charge-protects",
        "the-vault-charges-rows-whatever-the-schema-protects",
    ),
    "6 SQLite's locks": ("the-database-file-is-opened-beside-sqlite",),
    "7 verify": (
        "verify-believes-a-selections-sensitivity",
        "verify-believes-a-selections-number-of-candidates",
    ),
    "8 collation": ("the-spelling-of-one-row-names-a-group",),
}
"""Every way in which the report broke each promise, planted."""


@pytest.mark.parametrize("hole", HOLES)
def test_the_harness_alone_must_catch_every_planted_version_of_a_hole(hole: str) -> None:
    """That it does is seen by `make mutants`, which runs the tests named here and no others."""
    known = {mutant.name: mutant for mutant in MUTANTS}
    for name in HOLES[hole]:
        for test in known[name].tests:
            assert test.partition("[")[0] in HARNESS, f"{name} is caught by {test}"
