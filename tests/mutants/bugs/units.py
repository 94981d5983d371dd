"""One cap for charges that protect different people, and file locks that are dropped or not compared."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

PAIRS = (
    "tests/audits/test_charging.py::test_every_kind_of_charge_to_every_kind_of_cap_stays_below_it"
)
UNITS = "tests/ledger/test_ledger_units.py"
LOCKS = "tests/ledger/test_ledger_locks.py"
CAPS = "tests/cli/test_large_caps.py"

ACCOUNT = "src/discreet/ledger/account.py"
JOURNAL = "src/discreet/ledger/journal.py"
PROTECTED = "src/discreet/privacy/protection.py"

COMPARED = """        size = steps(charge=protects, cap=self.protects)
"""

READ = "tests/ledger/test_ledger_units.py::test_charges_under_one_cap_tell_people_and_rows_apart_in_one_way"
RECORDS = (
    "tests/ledger/test_ledger_units.py::test_whoever_reads_one_record_as_many_rows_protects_others"
)
APART = "tests/privacy/test_protection.py::test_steps_are_counted_between_those_who_are_told_apart_alike"

UNITS_AND_LOCKS = (
    Mutant(
        name="a-cap-does-not-look-how-people-are-told-apart",
        trap=3,
        file=PROTECTED,
        old="        return (*mine, self.reading) == (*theirs, other.reading)\n",
        new="        return mine == theirs\n",
        tests=(READ, APART),
    ),
    Mutant(
        name="the-ledger-forgets-how-people-are-told-apart",
        trap=3,
        file=PROTECTED,
        old='        read = f":{self.reading}" if self.reading else ""\n',
        new='        read = ""\n',
        tests=(
            "tests/privacy/test_protection.py::test_whom_a_charge_protects_is_written_and_read_back",
        ),
    ),
    Mutant(
        name="a-row-of-several-lines-is-charged-like-one-line",
        trap=3,
        file=PROTECTED,
        old='    if charge.reading.partition(";")[0] != cap.reading.partition(";")[0]:\n',
        new='    if charge.reading == ";" != cap.reading:\n',
        tests=(APART,),
    ),
    Mutant(
        name="blanks-around-an-identifier-tell-nobody-apart",
        trap=3,
        file="src/discreet/schema/csv_options.py",
        old='("header", "trim", "quote", ',
        new='("header", "quote", ',
        tests=(READ,),
    ),
    Mutant(
        name="spaces-before-a-quote-tell-no-rows-apart",
        trap=3,
        file="src/discreet/schema/csv_options.py",
        old=" if spans and self.trim else []",
        new=" if spans and not self.trim and self.trim else []",
        tests=(READ, RECORDS),
    ),
    Mutant(
        name="the-encoding-of-a-quote-tells-no-rows-apart",
        trap=3,
        file="src/discreet/schema/csv_options.py",
        old=' or (spans and self.encoding != "utf-8"):',
        new=":",
        tests=(READ, RECORDS),
    ),
    Mutant(
        name="a-public-table-may-be-peoples-under-the-same-cap",
        trap=3,
        file="src/discreet/schema/schema.py",
        old="        if view is not None and view.public:\n",
        new="        if view is not None and not view.sql:\n",
        tests=(
            "tests/ledger/test_ledger_units.py::test_tables_that_are_about_nobody_are_the_same_under_one_cap",
        ),
    ),
    Mutant(
        name="a-cap-does-not-look-whom-a-charge-protects",
        trap=3,
        file=ACCOUNT,
        old=COMPARED,
        new="        size = 1 if self.protects else steps(charge=protects, cap=self.protects)\n",
        tests=(PAIRS,),
        quick=True,
    ),
    Mutant(
        name="rows-charged-to-a-cap-for-people",
        trap=3,
        file=PROTECTED,
        old="    if cap.identifier is None:\n        return 4 if changes else 2\n",
        new="    if cap.identifier is None or charge.identifier is None:\n        return 4 if changes else 2\n",
        tests=(PAIRS,),
    ),
    Mutant(
        name="a-row-that-passes-from-one-person-to-another-counts-as-one-person",
        trap=3,
        file=PROTECTED,
        old="        return 4 if changes else 2\n",
        new="        return 2\n",
        tests=(PAIRS,),
    ),
    Mutant(
        name="a-changed-row-hides-one-more",
        trap=20,
        file=PROTECTED,
        old="    if not adds:\n        return None\n",
        new="    if not adds and charge.identifier != cap.identifier:\n        return None\n",
        more=(
            (
                "        return 2 if changes and charge.reading == cap.reading else None\n",
                "        return 2\n",
            ),
        ),
        tests=(PAIRS,),
    ),
    Mutant(
        name="a-conversion-is-announced-and-forgotten",
        trap=1,
        file=ACCOUNT,
        old="        return cost if size == 1 else Loss.of(for_a_group(cost.budget(), size))\n",
        new="        return cost\n",
        tests=(PAIRS,),
    ),
    Mutant(
        name="a-groups-delta-does-not-grow",
        trap=29,
        file=PROTECTED,
        old="    delta = cost.delta * growth\n",
        new="    delta = cost.delta * min(growth, size)\n",
        tests=(PAIRS,),
    ),
    Mutant(
        name="a-groups-rho-grows-by-its-size-alone",
        trap=1,
        file=PROTECTED,
        old="        return cost.times(size * size)\n",
        new="        return cost.times(size)\n",
        tests=(PAIRS,),
    ),
    Mutant(
        name="a-rho-with-a-delta-is-converted-without-a-theorem",
        trap=29,
        file=PROTECTED,
        old="        if cost.delta:\n",
        new="        if cost.delta > 1:\n",
        tests=(f"{UNITS}::test_a_rho_with_a_delta_is_not_converted",),
    ),
    Mutant(
        name="the-vault-charges-rows-whatever-the-schema-protects",
        trap=3,
        file="src/discreet/core/vault.py",
        old="            request=request,\n            protects=self._schema.protects,\n",
        new="            request=request,\n            protects=type(self._schema.protects)(),\n",
        tests=(PAIRS,),
    ),
    Mutant(
        name="learning-forgets-the-adjacency-that-its-cap-protects",
        trap=1,
        file="src/discreet/curator/learning.py",
        old="        adjacency=known.adjacency if adjacency is None else adjacency,\n",
        new="        adjacency=Adjacency.ADD_REMOVE if adjacency is None else adjacency,\n",
        tests=(
            "tests/curator/test_curator_units.py::test_learning_protects_whom_the_cap_protects",
        ),
    ),
    Mutant(
        name="old-charges-of-unknown-unit-are-added-to",
        trap=32,
        file=ACCOUNT,
        old="        return self.protects is None and self.spent != self.nothing()\n",
        new="        return self.protects is not None and self.spent != self.nothing()\n",
        tests=(
            f"{UNITS}::test_old_charges_of_unknown_unit_accept_nothing_until_somebody_says_whom_they_protect",
        ),
    ),
    Mutant(
        name="a-charge-taken-over-by-one-that-protects-others",
        trap=31,
        file="src/discreet/ledger/book.py",
        old="        return self.dataset, self.analyst, self.request, self.cost, self.protects\n",
        new='        return self.dataset, self.analyst, self.request, self.cost, ""\n',
        more=(
            (
                '        key = account.dataset, analyst, body["request"], cost, body.get("protects")\n',
                '        key = account.dataset, analyst, body["request"], cost, ""\n',
            ),
        ),
        tests=(f"{UNITS}::test_a_proved_conversion_is_made_only_on_purpose_and_is_recorded",),
    ),
    Mutant(
        name="a-charge-that-names-nobody-is-believed",
        trap=32,
        file="src/discreet/ledger/book.py",
        old="            if self.format > 1:\n",
        new="            if self.format > 2:\n",
        tests=(f"{UNITS}::test_a_charge_without_a_unit_is_damage_in_a_ledger_that_records_units",),
    ),
    # Locks
    Mutant(
        name="the-database-file-is-opened-beside-sqlite",
        trap=24,
        file="src/discreet/ledger/place.py",
        old="os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC",
        new="os.O_RDWR | os.O_CREAT | os.O_CLOEXEC",
        tests=(
            "tests/audits/test_concurrency.py::test_no_call_opens_a_ledgers_file_beside_sqlite",
        ),
    ),
    Mutant(
        name="the-database-file-is-read-to-see-whether-it-is-one",
        trap=24,
        file="src/discreet/ledger/stores/sqlite.py",
        old="        check_one_name(path)\n",
        new="        check_one_name(path)\n        path.open('rb').close()\n",
        tests=(
            "tests/audits/test_concurrency.py::test_no_call_opens_a_ledgers_file_beside_sqlite",
        ),
    ),
    Mutant(
        name="a-forked-child-keeps-the-lock-of-the-mark",
        trap=24,
        file="src/discreet/ledger/mark.py",
        old="            fcntl.flock(descriptor, fcntl.LOCK_UN)  # a child may have it open too\n",
        new="",
        more=(("        _locks.add(descriptor)\n", ""),),
        tests=(
            "tests/ledger/test_ledger_locks.py::test_a_child_that_is_forked_while_the_mark_is_locked_does_not_keep_the_lock",
        ),
    ),
    Mutant(
        name="two-events-of-one-number-both-pass-the-mark",
        trap=24,
        file="src/discreet/ledger/mark.py",
        old="            if current.seq == mark.seq and current.hash != mark.hash:\n",
        new="            if current.seq < mark.seq and current.hash != mark.hash:\n",
        tests=(f"{LOCKS}::test_the_last_charge_is_granted_once_even_where_the_locks_were_dropped",),
    ),
    Mutant(
        name="a-mark-found-further-on-is-not-compared",
        trap=24,
        file=JOURNAL,
        old="        if found.seq > mark.seq:\n",
        new="        if found.seq < mark.seq:\n",
        tests=(f"{LOCKS}::test_the_last_charge_is_granted_once_even_where_the_locks_were_dropped",),
    ),
    Mutant(
        name="connections-stay-open-through-a-fork",
        trap=24,
        file=JOURNAL,
        old="        _held.append(journal)\n        journal._let_go()\n",
        new="        _held.append(journal)\n",
        more=(
            (
                "        self._lock, self._book, self._seen = threading.RLock(), Book(), None\n",
                "        _left_behind.append(self._store)\n"
                "        self._store = None\n"
                "        self._lock, self._book, self._seen = threading.RLock(), Book(), None\n",
            ),
            (
                "_forking = threading.RLock()\n",
                "_left_behind: list[object] = []\n_forking = threading.RLock()\n",
            ),
        ),
        tests=(f"{LOCKS}::test_a_forked_child_has_locks_of_its_own",),
    ),
    Mutant(
        name="a-ledger-under-two-names-has-two-logs",
        trap=24,
        file="src/discreet/ledger/place.py",
        old="    if path.stat().st_nlink != 1:\n",
        new="    if path.stat().st_nlink < 1:\n",
        tests=(f"{LOCKS}::test_a_second_name_by_a_hard_link_is_refused",),
    ),
    # Caps
    Mutant(
        name="a-huge-cap-passes-without-a-yes",
        trap=26,
        file="src/discreet/cli/options.py",
        old="    if is_huge(cap) and not yes:\n",
        new="    if is_huge(cap) and yes is None:\n",
        tests=(f"{CAPS}::test_a_cap_above_100_needs_a_yes_before_anything_is_read_or_charged",),
    ),
    Mutant(
        name="a-raised-cap-does-not-say-who-raised-it",
        trap=32,
        file="src/discreet/ledger/ledger.py",
        old='                "raise", dataset=dataset, analyst=analyst, cap=loss.text, reason=reason, by=by\n',
        new='                "raise", dataset=dataset, analyst=analyst, cap=loss.text, reason=reason\n',
        tests=(f"{UNITS}::test_a_raised_cap_says_who_raised_it_and_why",),
    ),
)
