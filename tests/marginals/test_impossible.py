"""Combinations that the schema declares impossible: no answer, and no synthetic row, says otherwise."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from discreet.answering import ReleaseReader, open_release
from discreet.answering.synthesis.repairing import possible_rows
from discreet.artifacts.files import write_release
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.counting import DECLARED_NOTE
from discreet.privacy.budget import Budget
from discreet.questions.cells.impossible import (
    covers_box,
    impossible_cells,
    impossible_rows,
    rules_over,
)
from discreet.questions.derived import schema_mistakes
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.releasing import release

SCHEMA = """
dataset = "people"
people = 400
[columns."âge"]
kind = "integer"
range = [0, 59]
width = 5
[columns.status]
kind = "category"
values = ["single", "married", "widowed"]
[columns.pay]
kind = "integer"
range = [0, 3]
[[impossible]]
"âge" = { "<" = 15 }
status = ["married", "widowed"]
[[impossible]]
pay = { ">=" = 2, "<=" = 3 }
status = { "=" = "single" }
"âge" = { "between" = [15, 19] }
"""
YOUNG = "\"âge\" < 10 AND status = 'married'"


@pytest.fixture(scope="module")
def schema():
    return Schema.loads(SCHEMA)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Rows that break the declaration as often as not: they must show nowhere."""
    path = tmp_path_factory.mktemp("impossible") / "people.csv"
    source = generator(1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["âge", "status", "pay"])
        for _ in range(400):
            status = ["single", "married", "widowed"][int(source.integers(0, 3))]
            writer.writerow([int(source.integers(0, 25)), status, int(source.integers(0, 4))])
    return path


def released(table, schema, folder, algorithm, workload="marginals(2)"):
    return ReleaseReader(
        release(
            table,
            schema,
            budget=Budget(epsilon=2),
            workload=workload,
            algorithms={workload: algorithm},
            ledger=folder / "ledger.db",
        )
    )


def test_a_declaration_is_kept_by_the_file_and_changes_the_digest(schema):
    assert Schema.loads(schema.dumps()) == schema
    assert schema.digest() != Schema.loads(SCHEMA.split("[[impossible]]")[0]).digest()
    assert schema.impossible[0].text == "âge < 15 and status in ('married', 'widowed')"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"<" = 15', '"<" = 13', "cuts through a cell of column 'âge', such as 10 to 14"),
        ('"<" = 15', '"~" = 15', "not a comparison"),
        ('"<" = 15', '"<" = [15]', "takes one value"),
        ('"between" = [15, 19]', '"between" = 15', "takes a list"),
        ('"between" = [15, 19]', '"is null" = 3', "takes true"),
        ('status = { "=" = "single" }', 'state = "single"', "no column 'state'"),
        ('status = ["married", "widowed"]', "", "fewer than two columns"),
        ('status = ["married", "widowed"]', 'status = { "<" = "m" }', "no order"),
        ("[[impossible]]\npay", "[impossible]\npay", "TOML"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused_in_one_sentence(old, new, said):
    assert SCHEMA.count(old) == 1
    mistakes = schema_mistakes(SCHEMA.replace(old, new))
    assert any(said in mistake for mistake in mistakes), mistakes


def test_a_declaration_that_leaves_no_row_is_refused():
    every = '[[impossible]]\n"âge" = { "is not null" = true, "!=" = 99 }\nstatus = { "=" = "married" }\n'
    assert schema_mistakes(SCHEMA + every) == []
    alone = "dataset = 'd'\n[columns.a]\nkind = 'boolean'\nnulls = 'exclude'\n"
    alone += "[columns.b]\nkind = 'boolean'\nnulls = 'exclude'\n"
    alone += "[[impossible]]\na = { in = [true, false] }\nb = { in = [true, false] }\n"
    assert "rules every row out" in schema_mistakes(alone)[0]


@pytest.mark.parametrize("algorithm", ["direct", "residuals", "adaptive"])
def test_an_impossible_cell_is_0_exactly_from_every_kind_of_part_and_says_why(
    table, schema, tmp_path, algorithm
):
    reader = released(table, schema, tmp_path, algorithm)
    write_release(reader.release, tmp_path / "x.release")
    assert verify(tmp_path / "x.release").ok
    reader = open_release(tmp_path / "x.release")
    for question in (
        f"SELECT count(*) FROM people WHERE {YOUNG}",
        f"SELECT count(*) FROM people WHERE {YOUNG} AND pay = 1",
    ):
        answers = reader.ask(question)
        assert (answers.only.estimate, answers.only.lower, answers.only.upper) == (0, 0, 0)
        assert answers.only.std == 0 and DECLARED_NOTE in answers.notes
    by = reader.ask('SELECT "âge", status, count(*) FROM people GROUP BY "âge", status')
    mask = impossible_cells(schema, ("âge", "status"))
    inside = mask[by.codes[:, 0], by.codes[:, 1]]
    column = by.columns[0]
    assert len(by) == mask.size and inside.sum() == 6
    assert (column.estimate[inside] == 0).all() and (column.upper[inside] == 0).all()
    assert (column.std[~inside] > 0).all() and (column.std[inside] == 0).all()
    many = reader.count_cells(["status", "âge"], by.codes[:, ::-1])
    assert many.estimate.tolist() == column.estimate.tolist()
    assert many.upper.tolist() == column.upper.tolist()


def test_a_sum_of_counts_with_noise_of_their_own_leaves_impossible_cells_out(
    table, schema, tmp_path
):
    reader = released(table, schema, tmp_path, "direct", "marginals(âge, status)")
    one = reader.ask("SELECT count(*) FROM people WHERE \"âge\" < 5 AND status = 'single'").only.std
    whole = "\"âge\" < 20 AND status = 'married'"
    assert reader.ask(f"SELECT count(*) FROM people WHERE {whole}").only.std == pytest.approx(one)


@pytest.mark.parametrize("algorithm", ["direct", "residuals", "adaptive"])
def test_no_synthetic_row_is_impossible_whatever_the_release_was_made_of(
    table, schema, tmp_path, algorithm
):
    reader = released(table, schema, tmp_path, algorithm)
    rows = reader.synthesize(3000, seed=4)
    assert not impossible_rows(schema, rows.names, rows.codes).any()
    values = rows.to_dict()
    for age, status, pay in zip(values["âge"], values["status"], values["pay"], strict=True):
        assert not (age is not None and age < 15 and status in ("married", "widowed"))
        named = None not in (age, pay) and status == "single"
        assert not (named and 15 <= age <= 19 and pay >= 2)


def test_exchanges_keep_the_counts_of_every_column_and_copies_are_the_last_resort(schema):
    source = generator(3)
    codes = source.integers(0, [13, 5, 5], (5000, 3))
    mended = possible_rows(codes, schema, schema.names, source)
    assert not impossible_rows(schema, schema.names, mended).any()
    for column in range(3):
        before, after = np.bincount(codes[:, column]), np.bincount(mended[:, column])
        assert before.tolist() == after.tolist()
    stuck = np.tile([[0, 1, 0]], (20, 1))
    assert not impossible_rows(
        schema, schema.names, possible_rows(stuck, schema, schema.names, source)
    ).any()


def test_a_box_is_impossible_if_each_of_its_cells_is(schema):
    """Against the listed cells, for boxes at random."""
    rules = rules_over(schema, schema.names)
    mask = impossible_cells(schema, schema.names)
    source = generator(5)
    found = 0
    for _ in range(3000):
        ends = [sorted(source.integers(0, size + 1, 2).tolist()) for size in mask.shape]
        box = dict(zip(schema.names, map(tuple, ends), strict=True))
        inside = mask[tuple(slice(*pair) for pair in ends)]
        assert covers_box(rules, box) == bool(inside.all())
        found += inside.size > 0 and bool(inside.all())
    assert found > 10


def test_boxes_of_a_release_of_rectangles_are_0_where_nothing_can_be(tmp_path):
    text = "dataset = 'd'\n" + "".join(
        f"[columns.{name}]\nkind = 'integer'\nrange = [0, 15]\nnulls = 'exclude'\n" for name in "xy"
    )
    text += "[[impossible]]\nx = { '<' = 4 }\ny = { '>=' = 8 }\n"
    schema = Schema.loads(text)
    path = tmp_path / "d.csv"
    path.write_text("x,y\n" + "1,9\n" * 500 + "9,9\n" * 500)
    reader = ReleaseReader(
        release(
            path, schema, budget=Budget(epsilon=2), workload="rectangles(x, y)",
            ledger=tmp_path / "l.db",
        )
    )  # fmt: skip
    answers = reader.ask("SELECT count(*) FROM d WHERE x < 3 AND y >= 9")
    assert answers.only.upper == 0 and DECLARED_NOTE in answers.notes
    many = reader.count_boxes(["x", "y"], [[0, 8], [0, 8]], [[2, 10], [9, 10]])
    assert many.upper[0] == 0 and many.std[0] == 0 < many.std[1]


def test_a_value_that_its_column_does_not_declare_is_refused_as_a_slip():
    every = '[[impossible]]\n"âge" = { "<" = 10 }\nstatus = "maried"\n'
    (mistake,) = schema_mistakes(SCHEMA + every)
    assert "'maried' is none of the values that column 'status' declares" in mistake
