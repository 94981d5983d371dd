"""What a prompt and a notebook show: plans, releases and synthetic rows as tables, and never as dumps of objects."""

from __future__ import annotations

import polars
import pytest

import discreet as dc
from discreet.errors import BadInput
from discreet.releases.verifying import verify

SCHEMA = dc.Schema.loads(
    """
dataset = "d"
people = 20
[columns.age]
kind = "integer"
range = [0, 99]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""
)
TABLE = polars.DataFrame({"age": [20, 30, 40, 50] * 5, "sex": ["f", "m"] * 10})


@pytest.fixture
def made(tmp_path):
    budget = dc.Budget(epsilon=20)
    return dc.release(
        TABLE, SCHEMA, budget=budget, workload=["marginals(age, sex)"], ledger=tmp_path / "l.db"
    )


def test_a_plan_prints_as_the_command_line_shows_it():
    planned = dc.plan(SCHEMA, budget=dc.Budget(epsilon=1), workload=["means(age by sex)"])
    title, header, _, row, *notes = repr(planned).splitlines()
    assert title == "d: epsilon 1, 20 rows"
    assert header.split("  ")[0].strip() == "for" and header.endswith("of the whole")
    assert row.startswith("means(age by sex)  epsilon 1  discrete-laplace")
    assert notes == ["means(age by sex): as if the rows were spread evenly over the groups"]


def test_a_release_made_in_memory_is_written_once_and_verifies(made, tmp_path):
    path = tmp_path / "d.release"
    made.write(path)
    assert verify(path).ok
    question = "SELECT sex, count(*) FROM d GROUP BY sex"
    assert repr(dc.open_release(path).ask(question)) == repr(made.ask(question))
    with pytest.raises(BadInput, match="may be a release that was paid for"):
        made.write(path)
    made.write(path, overwrite=True)


def test_synthetic_rows_print_as_a_short_table_and_become_a_data_frame(made):
    drawn = made.synthesize(rows=50, seed=1)
    lines = repr(drawn).splitlines()
    assert lines[0] == "50 synthetic rows of 'd', the first 10:"
    assert lines[1].split() == ["age", "sex"]
    assert len(lines) == 3 + 10 + len(drawn.notes)
    frame = drawn.to_pandas()
    assert list(frame.columns) == ["age", "sex"] and len(frame) == 50
    for made in (drawn.to_polars(), polars.DataFrame(drawn)):
        assert made.columns == ["age", "sex"] and made["age"].to_list() == frame["age"].tolist()
