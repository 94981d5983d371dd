"""Sums and averages from a model's table: whatever rows there are, the columns' own tables bound them."""

from __future__ import annotations

import csv
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.answering import ReleaseReader
from discreet.answering.regions.selecting import select
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.linear_tables import WeightedTable
from discreet.families.tables.answer.models.cell_errors import CellErrors
from discreet.families.tables.answer.models.column_counts import ColumnCounts
from discreet.families.tables.answer.models.misfits import MISFITS
from discreet.families.tables.answer.models.model_table import ModelTable
from discreet.families.tables.answer.models.usual_errors import UsualErrors
from discreet.families.tables.answer.sums.aggregates import aggregate_table
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.questions.dialects.sql import parse_question
from discreet.schema import CategoryColumn, IntegerColumn, Schema
from tests.releasing import release

SCHEMA = Schema(
    dataset="d",
    columns=(IntegerColumn("age", -3, 16), CategoryColumn("town", ("a", "b", "c"))),
)
QUIET = DiscreteLaplaceLaw(Fraction(1, 1000))


class KnownTable(WeightedTable):
    """A table of one column without noise."""

    def __init__(self, counts):
        self.columns, self.counts = ("age",), counts.astype(np.float64)

    def reach(self, weights, confidence):
        return 0.0, 0.0


def tables(source):
    """Rows by age and town, the age missing in some; the last cells are nulls and other towns."""
    joint = source.integers(0, 12, (21, 5)) * (source.random((21, 5)) < 0.4)
    if source.random() < 0.5:
        joint[-1] = 0
    if source.random() < 0.5:  # the oldest all in one town, the next in another: as far as it goes
        ages = np.repeat(np.arange(21), joint.sum(axis=1))
        towns = np.repeat(source.permutation(5), joint.sum(axis=0))
        joint = np.zeros((21, 5), dtype=np.int64)
        np.add.at(joint, (ages, towns), 1)
    return joint


@pytest.mark.parametrize("kind", ["sum", "avg"])
@pytest.mark.parametrize("condition", ["", " WHERE age >= 4", " WHERE town = 'a'"])
def test_the_bounds_hold_for_every_table_with_these_columns(kind, condition):
    """Margins without noise, so what is bounded is certain: no false alarm. The model knows nothing."""
    source = generator(11)
    narrow = 0
    for _ in range(60):
        joint = tables(source)
        model = np.full(joint.shape, joint.sum() / joint.size)
        table = ModelTable(("age", "town"), model, 1e9, QUIET)
        table.total = float(joint.sum())
        table.margins = {0: KnownTable(joint.sum(axis=1)), 1: KnownTable(joint.sum(axis=0))}
        question = parse_question(
            f"SELECT town, {kind}(age) FROM d{condition} GROUP BY town", SCHEMA
        )
        selection = select(question.condition, SCHEMA, keep=["town", "age"], in_domain="age")
        found = aggregate_table(
            kind, table, selection, 0,
            group_axes=(1,), confidence=0.95, public_rows=None, impossible=None,
        )  # fmt: skip
        values = np.arange(-3, 17)
        kept = joint[:20] * np.where("age" in condition, values >= 4, True)[:, None]
        if "town" in condition:
            kept = kept * (np.arange(5) == 0)
        totals, many = values @ kept, kept.sum(axis=0)
        for town in range(5):
            if kind == "avg" and not many[town]:
                continue
            truth = totals[town] / many[town] if kind == "avg" else totals[town]
            assert found.lower[town] - 1e-9 <= truth <= found.upper[town] + 1e-9
            widest = 19 if kind == "avg" else 19 * joint.sum()
            narrow += found.upper[town] - found.lower[town] < 0.9 * widest
    assert narrow > 30


def test_intervals_of_group_sums_and_averages_hold_with_real_noise(tmp_path):
    """12 intervals at 1 - 1e-8: false alarm below 2e-7."""
    source = generator(5)
    with (tmp_path / "d.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "town"])
        rows = []
        for _ in range(3000):
            town = int(source.integers(0, 3))
            rows.append((int(source.integers(-3, 17 - 5 * town)), "abc"[town]))
        writer.writerows(rows)
    for epsilon in ("1/2", "5"):
        made = release(
            tmp_path / "d.csv",
            SCHEMA,
            budget=Budget(epsilon=epsilon),
            workload="marginals(age, town)",
            algorithms={"marginals(age, town)": "adaptive"},
            ledger=tmp_path / f"{epsilon[0]}.db",
        )
        reader = ReleaseReader(made)
        for kind in ("sum", "avg"):
            asked = f"SELECT town, {kind}(age) FROM d GROUP BY town"
            found = reader.ask(asked, confidence=1 - 1e-8).columns[0]
            for town in range(3):
                values = [age for age, name in rows if name == "abc"[town]]
                truth = sum(values) / (len(values) if kind == "avg" else 1)
                assert found.lower[town] <= truth <= found.upper[town]


@pytest.mark.parametrize("kind", ["sum", "avg"])
@pytest.mark.parametrize("condition", ["", " WHERE age >= 4"])
def test_averages_and_sums_are_off_as_far_as_their_cells_usually_are(kind, condition):
    """Towns that fall on ages by chance, 400 tables of 3 towns: at least .95 hold. False alarm below 1e-9; .91 would be caught.

    Intervals from the measured distance of the whole table are more than twice as wide.
    """
    source = generator(17)
    ages = np.repeat(np.arange(21), [100 + 5 * age for age in range(20)] + [50])
    towns = source.choice(5, len(ages), p=[0.4, 0.24, 0.32, 0.02, 0.02])
    every = len(ages)
    model = np.multiply.outer(np.bincount(ages), np.bincount(towns)) / every
    lines = [ColumnCounts(model.sum(axis=axis), np.zeros(size)) for axis, size in ((1, 21), (0, 5))]
    cells = CellErrors.of(model, lines)
    usual = UsualErrors(cells, np.asarray(MISFITS == 1.0, dtype=float), 0.0)
    table = ModelTable(("age", "town"), model, 600.0, DiscreteLaplaceLaw(Fraction(1)))
    table.total = float(every)
    question = parse_question(f"SELECT town, {kind}(age) FROM d{condition} GROUP BY town", SCHEMA)
    selection = select(question.condition, SCHEMA, keep=["town", "age"], in_domain="age")
    values = np.arange(-3, 17) * (np.arange(-3, 17) >= 4 if condition else 1)
    counted = np.arange(-3, 17) >= (4 if condition else -3)
    widths, held = [], 0
    for known in (None, usual):
        table.find_usual = None if known is None else lambda: usual
        table.margins = {0: KnownTable(model.sum(axis=1)), 1: KnownTable(model.sum(axis=0))}
        found = aggregate_table(
            kind, table, selection, 0,
            group_axes=(1,), confidence="0.95", public_rows=every, impossible=None,
        )  # fmt: skip
        widths.append((found.upper - found.lower)[:3])
    assert np.all(widths[1] < 0.5 * widths[0])
    for _ in range(400):
        rows = np.zeros(model.shape, dtype=np.int64)
        np.add.at(rows, (ages, source.permutation(towns)), 1)
        truth = values @ rows[:20, :3]
        if kind == "avg":
            truth = truth / np.maximum(counted @ rows[:20, :3], 1)
        held += int(((found.lower[:3] <= truth) & (truth <= found.upper[:3])).sum())
    assert binomtest(held, 1200, 0.95, alternative="less").pvalue > 1e-9


def test_beyond_what_was_measured_averages_have_the_proved_interval_alone():
    model = np.full((21, 5), 30.0)
    lines = [ColumnCounts(model.sum(axis=axis), np.zeros(size)) for axis, size in ((1, 21), (0, 5))]
    usual = UsualErrors(CellErrors.of(model, lines), np.ones(len(MISFITS)) / len(MISFITS), 0.0)
    table = ModelTable(("age", "town"), model, 600.0, DiscreteLaplaceLaw(Fraction(1)))
    table.margins = {0: KnownTable(model.sum(axis=1)), 1: KnownTable(model.sum(axis=0))}
    question = parse_question("SELECT town, avg(age) FROM d GROUP BY town", SCHEMA)
    selection = select(question.condition, SCHEMA, keep=["town", "age"], in_domain="age")
    ends = []
    for known in (None, usual):
        table.find_usual = None if known is None else lambda: usual
        found = aggregate_table(
            "avg", table, selection, 0,
            group_axes=(1,), confidence="0.995", public_rows=None, impossible=None,
        )  # fmt: skip
        ends.append((found.lower.tolist(), found.upper.tolist()))
    assert ends[0] == ends[1]
