"""Sums and averages from a model's table: whatever rows there are, the columns' own tables bound them."""

from __future__ import annotations

import csv
from fractions import Fraction

import numpy as np
import pytest

from discreet.answering import ReleaseReader
from discreet.answering.regions.selecting import select
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.linear_tables import WeightedTable
from discreet.families.tables.answer.models.model_table import ModelTable
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
