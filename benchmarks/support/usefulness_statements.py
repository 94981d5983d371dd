"""Every statement of `usefulness()`: a class and an algorithm that releases it, and the largest error of a release.

A statement is about all queries of a class at once. Here it is met by a table of 2,000 invented rows, small enough that all
queries, or a thousand of them, can be asked. `tests/theory/test_usefulness_statements.py` checks that no class and no
algorithm is missing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from discreet.answering import ReleaseReader
from discreet.artifacts.release import ErrorClaim
from discreet.families.halfspaces.estimate.prior import random_halfspaces
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.queries.classes import parse_class
from discreet.queries.registry import merged
from discreet.releases import release
from discreet.releases.algorithms import algorithms_of
from discreet.schema import Schema

SEED, ROWS, VALUES = 19, 2000, 16
SCHEMA = """
dataset = "t"
people = 2000
adjacency = "{adjacency}"
[columns.x]
kind = "integer"
range = [0, 15]
width = {width}
[columns.y]
kind = "integer"
range = [0, 15]
width = {width}
[columns.a]
kind = "boolean"
[columns.b]
kind = "boolean"
[columns.c]
kind = "boolean"
nulls = "exclude"
[columns.d]
kind = "boolean"
nulls = "exclude"
"""
CONDITIONS = ("x >= 8", "y < 4", "x >= 8 AND y < 4", "a OR b")
PREDICATES = "predicates(" + ", ".join(f'"{each}"' for each in CONDITIONS) + ")"
SPLITS = ("x >= 8", "a", "b")
LEVELS = (Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))


@dataclass(frozen=True, slots=True)
class Statement:
    """One class, released in one way."""

    asked: str
    algorithm: str | None = None
    """`None`: the one that the class takes by itself."""
    width: int = 1
    """Values in a cell of x and y."""
    adjacency: str = "add-remove"
    gamma: str | None = None

    @property
    def schema(self) -> Schema:
        return Schema.loads(SCHEMA.format(adjacency=self.adjacency, width=self.width))

    @property
    def class_name(self) -> str:
        """Under which the registry knows the class."""
        return parse_class(self.asked).name

    def made(self, table: pandas.DataFrame, *, confidence: float = 0.9) -> ReleaseReader:
        """One release, with noise of its own."""
        with tempfile.TemporaryDirectory() as folder:
            return release(
                table, self.schema, budget=Budget(epsilon=1), workload=[self.asked],
                algorithms={} if self.algorithm is None else {self.asked: self.algorithm},
                confidence=confidence, ledger=Path(folder) / "ledger.db",
            )  # fmt: skip

    def stated(self, reader: ReleaseReader, delta: Fraction) -> ErrorClaim:
        return reader.usefulness(self.asked, delta=delta, gamma=self.gamma)


_CLOSE: dict[str, Any] = {"adjacency": "change-one", "gamma": "0.3"}
_LITERAL: dict[str, Any] = {"adjacency": "change-one"}
STATED = {
    "tables, noise on each": Statement("marginals(a, b; x)", "direct"),
    "tables of booleans, noise on each": Statement("marginals(a, b; b, c; a, d)", "direct"),
    "tables, residuals": Statement("marginals(x, a; a, b)", "residuals"),
    "tables, residuals, rows without a cell": Statement("marginals(c, a; c, d)", "residuals-even"),
    "tables, a model": Statement("marginals(x, a; a, b; x, b)", "adaptive"),
    "tables, a model, rows without a cell": Statement(
        "marginals(x, c; c, d; x, d)", "adaptive-even"
    ),
    "tables, all cells": Statement("marginals(a, b)", "all-cells"),
    "tables, Fourier": Statement("marginals(c, d)", "fourier"),
    "tables, default": Statement("marginals(2)"),
    "parities": Statement("parities(c, d)", "fourier"),
    "parities of conditions": Statement(
        "parities(2; " + ", ".join(f'"{each}"' for each in SPLITS) + ")", "parities-of-splits"
    ),
    "intervals, default": Statement("intervals(x)"),
    "intervals, whole levels": Statement("intervals(x)", "tree"),
    "intervals, a tree that follows the rows": Statement("intervals(x)", "adaptive-tree"),
    "intervals, two stages": Statement("intervals(x)", "two-stage-tree"),
    "intervals, a strategy": Statement("intervals(x)", "strategy"),
    "intervals, cells of four values": Statement("intervals(x)", None, 4),
    "intervals, literal": Statement("intervals(x)", "noisy-search", **_LITERAL),
    "intervals, general": Statement("intervals(x)", "general", **_LITERAL),
    "quantiles, default": Statement("quantiles(x)"),
    "quantiles, whole levels": Statement("quantiles(x)", "tree"),
    "quantiles, a tree that follows the rows": Statement("quantiles(x)", "adaptive-tree"),
    "quantiles, two stages": Statement("quantiles(x)", "two-stage-tree"),
    "quantiles, a strategy": Statement("quantiles(x)", "strategy"),
    "rectangles, default": Statement("rectangles(x, y)"),
    "rectangles, whole levels": Statement("rectangles(x, y)", "tree"),
    "rectangles, a tree that follows the rows": Statement("rectangles(x, y)", "adaptive-tree"),
    "rectangles, two stages": Statement("rectangles(x, y)", "two-stage-tree"),
    "rectangles, literal": Statement("rectangles(x, y)", "noisy-search", **_LITERAL),
    "unions, default": Statement("unions(x, 2)"),
    "unions, whole levels": Statement("unions(x, 2)", "tree"),
    "unions, a tree that follows the rows": Statement("unions(x, 2)", "adaptive-tree"),
    "unions, two stages": Statement("unions(x, 2)", "two-stage-tree"),
    "unions, a strategy": Statement("unions(x, 2)", "strategy"),
    "unions, literal": Statement("unions(x, 2)", "noisy-search", **_LITERAL),
    "a sum": Statement("sums(x)", "clamped-sum"),
    "a mean of rows with a value": Statement("means(x)", "mean-of-values"),
    "a mean of all rows": Statement("means(c)", "mean-of-all-rows", **_LITERAL),
    "sums by group, default": Statement("sums(x by a)"),
    "sums by group, both ends": Statement("sums(x by a)", "group-ends"),
    "sums by group, sums alone": Statement("sums(x by a)", "group-sums"),
    "means by group, default": Statement("means(x by a)"),
    "means by group, both ends": Statement("means(x by a)", "group-ends"),
    "means by group, sum and count": Statement("means(x by a)", "group-split"),
    "intervals by group, default": Statement("intervals(x by a)"),
    "intervals by group, trees": Statement("intervals(x by a)", "group-trees"),
    "intervals by group, a strategy": Statement("intervals(x by a)", "group-strategy"),
    "quantiles by group, default": Statement("quantiles(x by a)"),
    "quantiles by group, trees": Statement("quantiles(x by a)", "group-trees"),
    "quantiles by group, a strategy": Statement("quantiles(x by a)", "group-strategy"),
    "predicates, default": Statement(PREDICATES, "strategy"),
    "predicates, noise on each": Statement(PREDICATES, "independent"),
    "predicates, mwem": Statement(PREDICATES, "mwem"),
    "predicates, general": Statement(PREDICATES, "general", **_LITERAL),
    "halfspaces, default": Statement("halfspaces(x, y)"),
    "halfspaces, single cells": Statement("halfspaces(x, y)", "cells"),
    "halfspaces, cells that planes cut": Statement("halfspaces(x, y)", "cells", 4),
    "halfspaces, a tree": Statement("halfspaces(x, y)", "tree"),
    "halfspaces, literal, of a close one": Statement("halfspaces(x, y)", "net", **_CLOSE),
}


ELSEWHERE = {"keys"}
"""The invented rows have no undeclared column; `tests/keys` shows that the claims about one hold."""


def not_stated() -> Iterator[str]:
    """Classes with a bound, and algorithms that release them, that no statement is about."""
    found = {(each.class_name, each.algorithm) for each in STATED.values()}
    for name in set(merged("usefulness")) - ELSEWHERE:
        if name not in {own for own, _ in found}:
            yield name
        for each in algorithms_of(name):
            if not getattr(each, "chooses", False) and (name, each.name) not in found:
                yield f"{name} by {each.name}"


def invented_rows(rows: int = ROWS) -> pandas.DataFrame:
    """A skewed column, an even one, and four of two values."""
    source = generator(SEED)
    return pandas.DataFrame(
        {
            "x": source.binomial(VALUES - 1, 0.4, rows),
            "y": source.integers(0, VALUES, rows),
            **{name: source.random(rows) < 0.3 for name in "abcd"},
        }
    )


def largest_error(reader: ReleaseReader, statement: Statement, table: pandas.DataFrame) -> float:
    """Of all queries of the class; of unions, rectangles and halfspaces, of many random ones."""
    return _ERRORS[statement.class_name](reader, statement.asked, table)


def _of_tables(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    sets = parse_class(asked).sets(reader.schema)  # type: ignore[attr-defined]
    return max(_of_one_table(reader, list(columns), table) for columns in sets)


def _of_one_table(reader: ReleaseReader, columns: list[str], table: pandas.DataFrame) -> float:
    by = ", ".join(columns)
    told = reader.ask(f"SELECT {by}, count(*) FROM t GROUP BY {by}")
    true = table.groupby(columns).size().to_dict()
    worst = 0.0
    for place in range(len(told)):
        key = tuple(told.value(axis, int(code)) for axis, code in enumerate(told.codes[place]))
        exact = true.get(key if len(key) > 1 else key[0], 0)
        worst = max(worst, abs(float(told.columns[0].estimate[place]) - exact))
    return worst


def _of_parities(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    names = ("c", "d") if ";" not in asked else SPLITS
    signs = {name: 1 - 2 * table.eval(name).to_numpy().astype(int) for name in names}
    worst = 0.0
    for size in range(3):
        for own in combinations(names, size):
            if own or ";" not in asked:
                true = np.prod([signs[name] for name in own], axis=0) if own else np.ones(ROWS)
                worst = max(worst, abs(reader.parity(*own).estimate - true.sum()))
    return worst


def _intervals() -> tuple[np.ndarray, np.ndarray]:
    low, high = np.array([(a, b) for a in range(VALUES) for b in range(a, VALUES)]).T
    return low, high


def _of_intervals(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    low, high = _intervals()
    width = VALUES // reader.schema.column("x").value_cells
    along = (low % width == 0) & (
        (high + 1) % width == 0
    )  # the queries of the class are ranges of cells
    low, high = low[along], high[along]
    found = reader.count_many("x", low, high).estimate
    up_to = np.append(0, np.cumsum(np.bincount(table.x, minlength=VALUES)))
    return float(np.abs(found - (up_to[high + 1] - up_to[low])).max())


def _of_quantiles(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    """How far the rank of an answer is from the one asked for."""
    questions = [f"SELECT quantile(x, {float(level)}) FROM t" for level in LEVELS]
    told = reader.ask_many(questions)
    x = table.x.to_numpy()
    return max(
        _rank_error(x, float(each.only.estimate), level)
        for each, level in zip(told, LEVELS, strict=True)
    )


def _rank_error(values: np.ndarray, answer: float, level: Fraction) -> float:
    wanted = float(level) * len(values)
    below, up_to = float((values < answer).sum()), float((values <= answer).sum())
    return max(0.0, below - wanted, wanted - up_to)


def _of_rectangles(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    x, y = table.x.to_numpy(), table.y.to_numpy()
    ends = np.sort(generator(SEED).integers(0, VALUES, (1000, 2, 2)), axis=1)
    inside = ((ends[:, 0, :1] <= x) & (x <= ends[:, 1, :1]) & (ends[:, 0, 1:] <= y) & (y <= ends[:, 1, 1:]))  # fmt: skip
    found = reader.count_boxes(["x", "y"], ends[:, 0], ends[:, 1]).estimate
    return float(np.abs(found - inside.sum(axis=1)).max())


def _of_unions(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    source = generator(SEED)
    ends = [np.sort(source.choice(VALUES, 4, replace=False)) for _ in range(100)]
    told = reader.ask_many(
        [f"SELECT count(*) FROM t WHERE x BETWEEN {a} AND {b} OR x BETWEEN {c} AND {d}" for a, b, c, d in ends]
    )  # fmt: skip
    x = table.x.to_numpy()
    true = [(((a <= x) & (x <= b)) | ((c <= x) & (x <= d))).sum() for a, b, c, d in ends]
    return max(abs(one.only.estimate - other) for one, other in zip(told, true, strict=True))


def _of_one_number(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    word, _, column = asked.rstrip(")").partition("(")
    function, true = ("sum", table[column].sum()) if word == "sums" else ("avg", table[column].mean())  # fmt: skip
    return abs(float(reader.ask(f"SELECT {function}({column}) FROM t").only.estimate) - true)


def _groups(table: pandas.DataFrame) -> list[pandas.DataFrame]:
    """By a: false, true, and nulls, of which there are none."""
    return [table[~table.a], table[table.a], table[:0]]


def _of_group_numbers(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    is_sum = asked.startswith("sums")
    told = reader.ask(f"SELECT a, {'sum' if is_sum else 'avg'}(x) FROM t GROUP BY a")
    worst = 0.0
    for (code,), found in zip(told.codes, told.columns[0].estimate, strict=True):
        group = _groups(table)[int(code)]
        if len(group) or is_sum:  # nobody's mean is no number
            true = group.x.sum() if is_sum else group.x.mean()
            worst = max(worst, abs(float(found) - float(true)))
    return worst


def _of_group_intervals(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    low, high = _intervals()
    told = reader.ask_many(
        [
            f"SELECT a, count(*) FROM t WHERE x BETWEEN {a} AND {b} GROUP BY a"
            for a, b in zip(low, high, strict=True)
        ]
    )
    groups, worst = [each.x.to_numpy() for each in _groups(table)], 0.0
    for each, a, b in zip(told, low, high, strict=True):
        for (code,), found in zip(each.codes, each.columns[0].estimate, strict=True):
            x = groups[int(code)]
            worst = max(worst, abs(float(found) - ((a <= x) & (x <= b)).sum()))
    return worst


def _of_group_quantiles(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    told = reader.ask_many(
        [f"SELECT a, quantile(x, {float(level)}) FROM t GROUP BY a" for level in LEVELS]
    )
    groups, worst = [each.x.to_numpy() for each in _groups(table)], 0.0
    for each, level in zip(told, LEVELS, strict=True):
        for (code,), found in zip(each.codes, each.columns[0].estimate, strict=True):
            worst = max(worst, _rank_error(groups[int(code)], float(found), level))
    return worst


def _of_predicates(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    true = [table.eval(c.replace("AND", "and").replace("OR", "or")).sum() for c in CONDITIONS]
    told = reader.ask_many([f"SELECT count(*) FROM t WHERE {each}" for each in CONDITIONS])
    return max(abs(one.only.estimate - other) for one, other in zip(told, true, strict=True))


def _of_halfspaces(reader: ReleaseReader, asked: str, table: pandas.DataFrame) -> float:
    points = table[["x", "y"]].to_numpy()
    part = reader.release.parts[0]
    if part.kind == "halfspace-net":
        (measured,) = part.noisy
        query: Any = measured.query
        counts = np.zeros((VALUES + 1, VALUES + 1), dtype=np.int64)  # a cell for nulls too
        np.add.at(counts, tuple(points.T), 1)
        return float(np.abs(measured.values - query.evaluate(counts)).max())
    normals, bounds = random_halfspaces(np.zeros(2), np.full(2, VALUES - 1.0), 1000, seed=SEED)
    found = reader.count_halfspaces(["x", "y"], normals, bounds).estimate
    return float(np.abs(found - (points @ normals.T >= bounds).sum(axis=0)).max())


_ERRORS = {
    "marginals": _of_tables,
    "parities": _of_parities,
    "intervals": _of_intervals,
    "quantiles": _of_quantiles,
    "rectangles": _of_rectangles,
    "unions": _of_unions,
    "sums": _of_one_number,
    "means": _of_one_number,
    "sums-by-group": _of_group_numbers,
    "means-by-group": _of_group_numbers,
    "intervals-by-group": _of_group_intervals,
    "quantiles-by-group": _of_group_quantiles,
    "predicates": _of_predicates,
    "halfspaces": _of_halfspaces,
}
