"""One person's long text decides nothing but the counts of its row, whatever an expression does with it.

Found by a review: `concat` of a text with itself nine hundred times took 810 MB where a row held 900 KB, and
the process was killed; `LIKE` with 200,000 wildcards went deeper than PostgreSQL's stack where a row was
long enough, and the question failed after its charge. So both told whether such a row was there.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.engines.sql.units import LONGEST_TEXT
from discreet.questions.cells.reach import texts
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.dialects.sql import parse_question
from discreet.questions.reading.texts import MOST_JOINED, longest_part
from tests.no_noise import without_noise

SCHEMA = dc.Schema.loads("""
dataset = "t"
[columns.m]
kind = "category"
values = ["F", "M"]
""")
LETTERS = 100_000


def counted(condition: str, **more: Any) -> float:
    """How many of two short texts and a long one meet a condition, without noise."""
    table = pd.DataFrame({"m": ["F", "M", "x" * LETTERS]})
    with (
        without_noise(),
        dc.Curator(table, SCHEMA, cap=dc.Budget(epsilon=1), **more) as curator,
    ):
        asked = f"SELECT count(*) FROM t WHERE {condition}"
        return curator.ask(asked, budget=dc.Budget(epsilon=1))[0]["count"].estimate


def test_no_joined_text_is_longer_than_a_few_thousand_letters(tmp_path):
    inner = f"concat({', '.join(['m'] * 30)})"
    for joined, most in (
        ("m || m", MOST_JOINED),
        (" || ".join(["m"] * 1000), 1000 * longest_part(1000)),
        (f"concat({', '.join([inner] * 30)})", MOST_JOINED),
    ):
        path = tmp_path / f"{len(joined)}.db"
        assert counted(f"length({joined}) > {most}", ledger=path) == 0
        path = tmp_path / f"{len(joined)} again.db"
        least = min(most // 2, 2 * (LONGEST_TEXT + 1))  # of each text so much is read
        assert counted(f"length({joined}) BETWEEN {least} AND {most}", ledger=path) == 1


def test_a_release_joins_texts_as_an_engine_does():
    condition = parse_question(
        f"SELECT count(*) FROM t WHERE m || m = '{'x' * MOST_JOINED}'", SCHEMA
    ).condition
    for letters, met in ((LETTERS, True), (longest_part(2), True), (longest_part(2) - 1, False)):
        assert reach_of(condition, {"m": texts(frozenset({"x" * letters}))}).only is met


@pytest.mark.parametrize("pattern", ["%_x" * 20_000, "_" * 1_001, "%a" * 21])
def test_a_pattern_that_matches_by_deep_recursion_is_refused_before_the_charge(pattern, tmp_path):
    with pytest.raises(dc.BadQuestion, match="at most 1,000 and 20 are matched"):
        counted(f"m LIKE '{pattern}'", ledger=tmp_path / "ledger.db")
    with dc.Ledger.open(tmp_path / "ledger.db") as ledger:
        assert ledger.entries() == []


def test_a_pattern_of_twenty_wildcards_is_matched(tmp_path):
    assert counted("m LIKE '" + "%x" * 20 + "'", ledger=tmp_path / "ledger.db") == 1
