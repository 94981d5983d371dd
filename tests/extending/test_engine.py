"""An engine from outside `src`: one entry, and releases, audits and a curator read through it."""

from __future__ import annotations

import pytest

import discreet as dc
from discreet.engines import column_names_and_types
from discreet.engines.opening import EngineEntry, open_engine, register, registered
from discreet.errors import BadInput, BadSource
from tests.extending.list_engine import ENTRY, ListEngine
from tests.extending.test_family import FRAME, SCHEMA
from tests.extending.whole_way import SURE, Way, rows_in, walked

ROWS = FRAME.to_dict("records")
YOUNG = "SELECT count(*) FROM people WHERE age < 6"


@pytest.fixture
def known():
    with registered("lists", ENTRY):
        yield


@pytest.mark.usefixtures("known")
def test_it_goes_the_whole_way_of_a_release(tmp_path):
    walked(Way(ROWS, SCHEMA, ("marginals(1)",), YOUNG, 300), tmp_path)
    workload = ["sums(kids)", "intervals(age)"]
    made = dc.release(
        ROWS, SCHEMA, budget=dc.Budget(epsilon=4), workload=workload, ledger=tmp_path / "more.db"
    )
    for question, exact in (("SELECT sum(kids) FROM people", 900), (YOUNG, 300)):
        answer = made.ask(question, confidence=SURE).only
        assert answer.lower <= exact <= answer.upper
    with open_engine(ROWS, SCHEMA) as engine:
        assert isinstance(engine, ListEngine)
    assert column_names_and_types(ROWS) == [("age", ""), ("kids", "")]


@pytest.mark.usefixtures("known")
def test_a_curator_asks_it(tmp_path):
    """False alarm of each interval: 1e-7."""
    budget = dc.Budget(epsilon=4)
    with dc.Curator(ROWS, SCHEMA, ledger=tmp_path / "l.db", cap=dc.Budget(epsilon=30)) as curator:
        for asked, exact in (
            (YOUNG, 300),
            ("SELECT sum(kids) FROM people WHERE age >= 2 AND age <= 7", 550),
            ("SELECT avg(age) FROM people", 5.5),
            ("SELECT stddev(kids) FROM people", 1.25**0.5),
            ("SELECT median(kids) FROM people", 1.5),
        ):
            answer = curator.ask(asked, budget=budget, confidence=SURE).only
            assert answer.lower - 0.5 <= exact <= answer.upper + 0.5


@pytest.mark.usefixtures("known")
def test_it_counts_what_the_built_in_engine_counts(tmp_path):
    path = tmp_path / "table.csv"
    FRAME.to_csv(path, index=False)
    with open_engine(path, SCHEMA) as own, open_engine(FRAME, SCHEMA) as built_in:
        assert isinstance(own, ListEngine) and not isinstance(built_in, ListEngine)
        sets = [("age",), ("kids", "age")]
        for one, other in zip(own.marginals(sets), built_in.marginals(sets), strict=True):
            assert (one == other).all()
        assert own.row_count() == built_in.row_count() == len(rows_in(path))


def test_without_its_entry_its_sources_are_refused():
    with pytest.raises(BadSource, match="not a table that can be read"):
        open_engine(ROWS, SCHEMA)


def test_a_format_belongs_to_one_engine():
    for name, formats in (("duckdb", ("rows",)), ("another", ("parquet",))):
        with pytest.raises(BadInput, match="already"):
            register(name, EngineEntry(module="nowhere", formats=formats))
