"""Bounds for whole classes, tables that agree, and combinations of measurements, against fresh noise."""

from __future__ import annotations

import csv
import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom

from discreet.answering import ReleaseReader
from discreet.artifacts.release import Release
from discreet.families.shared.estimate.linear_widths import variance_of_repeated
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.estimate.consistent import ConsistentTables, DirectTable
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.classes import parse_class
from discreet.schema import Schema
from tests.marginals.redrawing import Redrawing
from tests.releases_by_hand import table_of
from tests.releasing import release

SCHEMA = """
dataset = "people"
people = 900
adjacency = "{adjacency}"
[columns.age]
kind = "integer"
range = [0, 4]
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.city]
kind = "category"
values = ["a", "b", "c"]
[columns.one]
kind = "boolean"
nulls = "exclude"
[columns.two]
kind = "boolean"
nulls = "exclude"
"""
SPLIT = "parities(2; age >= 3, sex = 'f', city = 'a')"


def schema_of(adjacency="add-remove"):
    return Schema.loads(SCHEMA.format(adjacency=adjacency))


@pytest.fixture(scope="module")
def rows():
    source = generator(6)
    return [
        {
            "age": int(source.integers(0, 5)),
            "sex": ["f", "m", None][int(source.choice(3, p=[0.5, 0.4, 0.1]))],
            "city": "abcd"[int(source.integers(0, 4))],
            "one": bool(source.random() < 0.3),
            "two": bool(source.random() < 0.6),
        }
        for _ in range(900)
    ]


@pytest.fixture(scope="module")
def table(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("useful") / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def made(table, folder, workload, algorithms=None, budget=None, adjacency="add-remove") -> Release:
    return release(
        table,
        schema_of(adjacency),
        budget=budget or Budget(epsilon=1),
        workload=workload,
        algorithms=algorithms,
        ledger=folder / f"{len(list(folder.iterdir()))}.db",
    )


def worst(reader, text, rows):
    """The largest error of any query of the class."""
    schema, query_class = reader.schema, parse_class(text)
    if text.startswith("parities"):
        if query_class.splits is not None:
            tests = {
                "age >= 3": lambda r: r["age"] >= 3,
                "sex = 'f'": lambda r: r["sex"] == "f",
                "city = 'a'": lambda r: r["city"] == "a",
            }
            sets = [(), *query_class.split_sets()]
        else:
            tests = {name: (lambda r, n=name: r[n]) for name in ("one", "two")}
            sets = [(), ("one",), ("two",), ("one", "two")]
        return max(
            abs(
                reader.parity(*each).estimate
                - sum((-1) ** sum(tests[name](row) for name in each) for row in rows)
            )
            for each in sets
        )
    if text.startswith(("means", "sums")):
        values = [row["age"] for row in rows]
        truth, kind = (np.mean(values), "avg") if text[0] == "m" else (sum(values), "sum")
        return abs(reader.ask(f"SELECT {kind}(age) FROM people").only.estimate - truth)
    errors = [0.0]
    for columns in query_class.sets(schema):
        by = ", ".join(columns)
        found = reader.ask(f"SELECT {by}, count(*) FROM people GROUP BY {by}").columns[0].estimate
        errors.append(float(np.abs(found - table_of(schema, columns, rows).reshape(-1)).max()))
    return max(errors)


RHO = Budget(rho="1/20")
CASES = {
    "cells": ("marginals(age, sex; sex, city; age)", "direct", Budget(epsilon=1), None),
    "all cells": ("marginals(age, sex; sex, city)", "all-cells", Budget(epsilon=1), None),
    "residuals": ("marginals(age, sex; sex, city)", "residuals", RHO, None),
    "residuals, laplace": ("marginals(age, sex)", "residuals", Budget(epsilon=2), "marginals(age)"),
    "a smaller class": ("marginals(age, sex; sex, city)", "direct", RHO, "marginals(sex; city)"),
    "conjunctions": ("conjunctions(sex, city)", "direct", Budget(epsilon=1), None),
    "a model": ("marginals(age, sex; sex, city)", "adaptive", Budget(epsilon=1), None),
    "parities": ("parities(one, two)", "fourier", Budget(epsilon=1), None),
    "marginals of parities": ("parities(one, two)", "fourier", RHO, "marginals(one, two)"),
    "a whole table": ("marginals(one, two)", "all-cells", Budget(epsilon="1/20"), None),
    "splits": (SPLIT, "parities-of-splits", Budget(epsilon=1), None),
    "mean": ("means(age)", "mean-of-values", Budget(epsilon=1), None),
    "sum": ("sums(age)", "clamped-sum", Budget(epsilon=1), None),
}
DRAWS, DELTA = 70, 0.1
SITUATIONS = [(case, "add-remove") for case in CASES]
SITUATIONS += [(case, "change-one") for case in ("residuals", "a model", "splits", "parities")]


@pytest.mark.parametrize(("case", "adjacency"), SITUATIONS)
def test_a_whole_class_is_within_its_bound_as_often_as_it_says(
    case, adjacency, table, rows, tmp_path
):
    """Of 70 releases with fresh noise at most 10% may break the bound: binomial, false alarm 1e-7.

    A bound that fails in half of the releases is caught with probability 0.99; one that forgets the
    union over 30 cells fails in nearly all.
    """
    workload, algorithm, budget, asked = CASES[case]
    text = parse_class(workload).text
    once = made(table, tmp_path, workload, {text: algorithm}, budget, adjacency)
    again, source = Redrawing(once, rows), np.random.default_rng()
    # Elsewhere the bound is the same for all noise.
    fixed = case not in ("a model", "mean", "marginals of parities", "a whole table")
    claim = ReleaseReader(once).usefulness(asked or text, delta=DELTA)
    assert claim.simultaneous and claim.confidence == pytest.approx(1 - DELTA)
    failures = 0
    for _ in range(DRAWS):
        reader = ReleaseReader(again(source))
        if not fixed:
            claim = reader.usefulness(asked or text, delta=DELTA)
        failures += worst(reader, asked or text, rows) > claim.bound + 1e-9
    assert failures <= binom.isf(1e-7, DRAWS, DELTA)


def test_a_bound_for_all_is_wider_than_for_one_and_grows_as_delta_falls(table, tmp_path):
    once = made(table, tmp_path, ["marginals(2)", SPLIT])
    reader = ReleaseReader(once)
    for text in ("marginals(2)", "marginals(1)", SPLIT):
        bounds = [reader.usefulness(text, delta=delta).bound for delta in ("1/2", "1/20", "1e-6")]
        assert 0 < bounds[0] <= bounds[1] < bounds[2]


@pytest.mark.parametrize("budget", [Budget(epsilon=1), RHO], ids=str)
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize("algorithm", [None, "direct", "all-cells", "residuals", "adaptive"])
def test_two_ways_of_computing_any_smaller_table_agree(
    table, tmp_path, algorithm, adjacency, budget
):
    """Over tables that measurements determine; a model's tables are compared with one another."""
    workload = "marginals(age, sex; sex, city; age, city)"
    named = None if algorithm is None else {workload: algorithm}
    reader = ReleaseReader(made(table, tmp_path, workload, named, budget, adjacency))
    library = reader._library.made(TableLibrary)
    tables = {pair: library.table(pair) for pair in combinations(("age", "sex", "city"), 2)}
    for name in ("age", "sex", "city"):
        alone = library.table((name,)).counts
        for pair, found in tables.items():
            if name in pair and not getattr(found, "is_model", False):
                summed = found.counts.sum(axis=1 - pair.index(name))
                assert np.abs(summed - alone).max() < 1e-9 * max(1, np.abs(alone).max())
        assert alone.sum() == pytest.approx(float(library.table(()).counts.sum()), rel=1e-9)


def test_synthetic_rows_agree_with_themselves_to_the_last_integer(table, tmp_path):
    reader = ReleaseReader(made(table, tmp_path, "marginals(age, sex; sex, city; age, city)"))
    rows = reader.synthesize(seed=2)
    places = [rows.names.index(name) for name in ("age", "sex", "city")]
    sizes = [reader.schema.column(name).cells for name in ("age", "sex", "city")]
    whole = np.zeros(sizes, dtype=np.int64)
    np.add.at(whole, tuple(rows.codes[:, place] for place in places), 1)
    assert whole.sum() == len(rows)


MIXED = {
    "residuals and a table": (
        ["marginals(age, sex; sex, city)", "marginals(age, sex)"],
        {"marginals(age, sex; sex, city)": "residuals", "marginals(age, sex)": "direct"},
    ),
    "two tables that share a column": (
        ["marginals(age, sex)", "marginals(sex, city)"],
        {"marginals(age, sex)": "direct", "marginals(sex, city)": "direct"},
    ),
    "a whole table and one of its sides": (
        ["marginals(age, sex)", "marginals(sex)"],
        {"marginals(age, sex)": "direct", "marginals(sex)": "direct"},
    ),
}


@pytest.mark.parametrize("budget", [Budget(epsilon=1), RHO], ids=str)
@pytest.mark.parametrize("case", MIXED)
def test_a_combination_has_no_more_noise_than_each_part_and_its_intervals_hold(
    case, budget, table, rows, tmp_path
):
    """Coverage of 95% intervals over 150 draws of 12 cells, which share noise: by draw, not by cell.

    A draw's share of covered cells lies in [0, 1] with mean >= .95; Hoeffding over 150 draws: a mean
    below .72 has probability <= exp(-2 * 150 * .23^2) = 1.3e-7. Noise twice as large as stated covers
    68% and is caught. The variance is compared with the one observed: within 45% both ways, where
    150 * 3 or more independent numbers stay with probability above 1 - 1e-6.
    """
    workload, algorithms = MIXED[case]
    once = made(table, tmp_path, workload, algorithms, budget)
    alone = []
    for part in once.parts:
        reader = ReleaseReader(Release(**{**_fields(once), "parts": (part,)}))
        if reader._library.made(TableLibrary).has_linear(("sex",)):
            alone.append(
                reader.ask("SELECT sex, count(*) FROM people GROUP BY sex").columns[0].std[0]
            )
    reader = ReleaseReader(once)
    together = reader.ask("SELECT sex, count(*) FROM people GROUP BY sex").columns[0].std[0]
    assert len(alone) == 2 and together <= min(alone) * (1 + 1e-9)
    assert together == pytest.approx(1 / math.sqrt(sum(1 / each**2 for each in alone)), rel=0.35)
    again, source = Redrawing(once, rows), np.random.default_rng()
    truth = table_of(reader.schema, ("sex",), rows)
    errors, covered = [], []
    for _ in range(150):
        drawn = ReleaseReader(again(source))
        errors.append(drawn._library.made(TableLibrary).table(("sex",)).counts - truth)
        found = drawn.ask("SELECT sex, count(*) FROM people GROUP BY sex").columns[0]
        covered.append(np.mean((found.lower <= truth) & (truth <= found.upper)))
    assert np.mean(covered) >= 0.72
    observed = math.sqrt(np.mean(np.square(errors)))
    assert together / 1.45 < observed < together * 1.45


def test_the_noise_of_a_combination_is_that_of_its_draws_one_by_one():
    """Each draw alone, put through the combination, against its computed coefficient: no chance."""
    schema = schema_of()
    law, other = DiscreteLaplaceLaw(Fraction(3)), DiscreteLaplaceLaw(Fraction(5))
    layout = [(("age", "sex"), law), (("sex", "city"), other), (("age",), other)]
    shapes = [schema.sizes(columns) for columns, _ in layout]
    residuals = ResidualTables(schema, [])
    weights = generator(4).normal(size=schema.sizes(("age", "sex")))

    def tables(unit=None):
        made = [np.zeros(shape, dtype=np.int64) for shape in shapes]
        if unit is not None:
            made[unit[0]].reshape(-1)[unit[1]] = 1
        return ConsistentTables(
            residuals,
            [DirectTable(c, counts, own) for (c, own), counts in zip(layout, made, strict=True)],
        )

    alone = [
        [
            float((weights * tables((place, cell)).table(("age", "sex"))).sum())
            for cell in range(math.prod(shape))
        ]
        for place, shape in enumerate(shapes)
    ]
    rows = tables().coefficients(("age", "sex"), weights)
    assert len(rows) == 3
    for (_, row, many), found in zip(rows, alone, strict=True):
        assert sorted(np.repeat(row, many).tolist()) == pytest.approx(sorted(found), abs=1e-12)
    variance = sum(
        own.variance * sum(x * x for x in found)
        for (_, own), found in zip(layout, alone, strict=True)
    )
    assert variance_of_repeated(rows) == pytest.approx(variance)
    best = law.variance * float((weights**2).sum())
    assert variance < best, "the other tables help"


def _fields(each):
    from dataclasses import fields

    return {one.name: getattr(each, one.name) for one in fields(each) if one.init}
