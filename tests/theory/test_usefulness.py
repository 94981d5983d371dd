"""Usefulness as a measured property: what is stated for a whole class holds for all its queries, run after run."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas
import pytest

from discreet.answering import ReleaseReader
from discreet.errors import BadInput, NotAnswerable
from discreet.families.halfspaces.answer.usefulness import (
    directions_of,
    divisions,
    most_cut,
    most_inside,
)
from discreet.families.halfspaces.estimate.prior import random_halfspaces
from discreet.privacy.budget import Budget
from discreet.queries.classes import parse_class
from discreet.reference.halfspaces.theorem import theorem_parameters
from discreet.releases.algorithms import algorithm_for
from discreet.schema import Schema
from tests.releasing import release

SCHEMA = """
dataset = "points"
people = 3000
adjacency = "{adjacency}"
[columns.x]
kind = "integer"
range = [0, 7]
[columns.y]
kind = "integer"
range = [0, 7]
"""
CONDITIONS = ("x >= 4", "y < 2", "x >= 4 AND y < 2", "x = 0 OR y = 7")
PREDICATES = f"predicates({', '.join(chr(34) + each + chr(34) for each in CONDITIONS)})"


def points(rows=3000):
    public = np.random.default_rng(15)
    return pandas.DataFrame({"x": public.binomial(7, 0.4, rows), "y": public.integers(0, 8, rows)})


def released(asked, tmp_path, *, adjacency="add-remove", algorithm=None, confidence=0.95):
    return ReleaseReader(
        release(
            points(), Schema.loads(SCHEMA.format(adjacency=adjacency)), budget=Budget(epsilon=1),
            workload=[asked], confidence=confidence, ledger=tmp_path / "ledger.db",
            algorithms={} if algorithm is None else {asked: algorithm},
        )
    )  # fmt: skip


def true_counts(table):
    x, y = table.x, table.y
    met = (x >= 4, y < 2, (x >= 4) & (y < 2), (x == 0) | (y == 7))
    return [int(each.sum()) for each in met]


@pytest.mark.parametrize("algorithm", ["strategy", "independent", "mwem", "general"])
def test_no_predicate_is_off_by_more_than_its_usefulness(tmp_path, algorithm):
    """At delta 1e-9; the general mechanism must be run for that delta."""
    adjacency = "change-one" if algorithm == "general" else "add-remove"
    delta = Fraction(1, 10**9)
    reader = released(
        PREDICATES, tmp_path, adjacency=adjacency, algorithm=algorithm, confidence=1 - 1e-9
    )
    claim = reader.usefulness(PREDICATES, delta=delta)
    assert claim.simultaneous and claim.confidence == pytest.approx(1 - float(delta))
    exact = true_counts(points())
    found = [
        reader.ask(f"SELECT count(*) FROM points WHERE {condition}").only.estimate
        for condition in CONDITIONS
    ]
    worst = max(abs(one - other) for one, other in zip(found, exact, strict=True))
    assert worst <= claim.bound < 3000
    assert reader.usefulness(PREDICATES, delta=delta / 10**3).bound >= claim.bound


def test_a_list_of_predicates_is_bounded_by_the_union_of_its_answers(tmp_path):
    reader = released(PREDICATES, tmp_path)
    claim = reader.usefulness(PREDICATES, delta=Fraction(1, 100))
    reach = []
    for condition in CONDITIONS:
        answer = reader.ask(
            f"SELECT count(*) FROM points WHERE {condition}", confidence=1 - 1 / 400
        ).only
        reach.append(max(answer.upper - answer.estimate, answer.estimate - answer.lower))
    assert claim.bound == max(reach)


def test_no_halfspace_is_off_by_more_than_its_usefulness(tmp_path):
    """5,000 random halfspaces at delta 1e-9: cells of single values are cut by none of them."""
    reader = released("halfspaces(x, y)", tmp_path, algorithm="cells")
    claim = reader.usefulness("halfspaces(x, y)", delta=Fraction(1, 10**9))
    table = points()[["x", "y"]].to_numpy(dtype=float)
    normals, bounds = random_halfspaces(np.zeros(2), np.full(2, 7.0), 5_000, seed=3)
    exact = (table @ normals.T >= bounds).sum(axis=0)
    found = reader.count_halfspaces(["x", "y"], normals, bounds)
    assert np.abs(found.estimate - exact).max() <= claim.bound < 1500
    # the same, and not less, for halfspaces that are close
    assert reader.usefulness("halfspaces(x, y)", delta=Fraction(1, 10**9), gamma="0.3") == claim


def test_planes_divide_points_in_no_more_ways_than_counted():
    """All divisions of a 3 x 3 grid, by a fine search; and the counts of the formula for general position."""
    grid = np.array([(x, y) for x in range(3) for y in range(3)], dtype=float)
    seen = set()
    for angle in np.linspace(0, 2 * np.pi, 2000, endpoint=False):
        reach = grid @ np.array([np.cos(angle), np.sin(angle)])
        seen |= {tuple(reach >= edge) for edge in [*reach, reach.max() + 1]}
    assert 40 < len(seen) <= divisions(9, 2)
    assert [divisions(points, 2) for points in (1, 2, 3, 4)] == [2, 4, 8, 14]


def test_the_net_is_useful_for_some_close_halfspace(tmp_path):
    """Definition 5.3, literally: every answer is within the bound of the count of some halfspace within gamma."""
    reader = released("halfspaces(x, y)", tmp_path, adjacency="change-one", algorithm="net")
    claim = reader.usefulness("halfspaces(x, y)", delta=Fraction(1, 10**9), gamma="0.3")
    assert "definition 5.3" in claim.theorem
    (measured,) = reader.release.parts[0].measurements
    table = np.zeros((9, 9), dtype=np.int64)  # a cell for nulls too
    np.add.at(table, tuple(points()[["x", "y"]].to_numpy().T), 1)
    exact = measured.query.evaluate(table)
    assert np.abs(measured.values - exact).max() <= claim.bound  # of every canonical halfspace
    normals, bounds = random_halfspaces(np.zeros(2), np.full(2, 7.0), 500, seed=4)
    answers = reader.count_near_halfspaces(["x", "y"], normals, bounds)
    assert set(answers.tolist()) <= set(
        measured.values.tolist()
    )  # and each answer is about one of them
    with pytest.raises(NotAnswerable, match="halfspaces"):
        reader.usefulness("halfspaces(x, y)", delta=Fraction(1, 10**9))
    with pytest.raises(NotAnswerable):
        reader.usefulness("halfspaces(x, y)", delta=Fraction(1, 10**9), gamma="0.1")


WIDE = SCHEMA.replace("range = [0, 7]", "range = [0, 63]\nwidth = 4")


def scattered(rows=3000):
    public = np.random.default_rng(16)
    return pandas.DataFrame(
        {"x": public.binomial(63, 0.4, rows), "y": public.integers(0, 64, rows)}
    )


def cut_release(tmp_path, algorithm, adjacency="add-remove"):
    return ReleaseReader(
        release(
            scattered(), Schema.loads(WIDE.format(adjacency=adjacency)), budget=Budget(epsilon=4),
            workload=["halfspaces(x, y)"], algorithms={"halfspaces(x, y)": algorithm},
            ledger=tmp_path / "ledger",
        )
    )  # fmt: skip


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
@pytest.mark.parametrize("algorithm", ["cells", "tree"])
def test_where_planes_cut_cells_no_halfspace_is_off_by_more_than_the_bound(
    tmp_path, algorithm, adjacency
):
    """3,000 random halfspaces at delta 1e-9; for a tree the bound is nominal, and it says so."""
    reader = cut_release(tmp_path, algorithm, adjacency)
    delta = Fraction(1, 10**9)
    claim = reader.usefulness("halfspaces(x, y)", delta=delta)
    assert claim.simultaneous and ("nominal" in claim.theorem) == (algorithm == "tree")
    table = scattered().to_numpy(dtype=float)
    normals, bounds = random_halfspaces(np.zeros(2), np.full(2, 63.0), 3_000, seed=5)
    exact = (table @ normals.T >= bounds).sum(axis=0)
    found = reader.count_halfspaces(["x", "y"], normals, bounds)
    assert np.abs(found.estimate - exact).max() <= claim.bound < 3000
    assert reader.usefulness("halfspaces(x, y)", delta=delta / 10**3).bound >= claim.bound
    assert reader.usefulness("halfspaces(x, y)", delta=delta, gamma="0.3") == claim
    with pytest.raises(BadInput, match="gamma is 2"):
        reader.usefulness("halfspaces(x, y)", delta=delta, gamma=2)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_no_plane_cuts_more_than_the_most_that_any_plane_can_cut(columns):
    """Planes through the corners of boxes, and random ones; and a plane along a row of boxes cuts all of these."""
    public = np.random.default_rng(17)
    sides = [np.arange(6.0) * 10 for _ in range(columns)]
    low = np.stack([each.reshape(-1) for each in np.meshgrid(*sides, indexing="ij")], axis=1)
    high = low + 9
    weights = public.integers(0, 50, len(low)).astype(float)
    most, inside = most_cut(low, high, weights), most_inside(low, high, weights - 25)
    worst, gathered = 0.0, 0.0
    for _ in range(4000):
        normal = public.normal(size=columns)
        if public.random() < 0.3:
            normal = np.eye(columns)[public.integers(columns)]
        corner = np.where(
            public.random(columns) < 0.5, *(e[public.integers(len(low))] for e in (low, high))
        )
        ends = [low * np.maximum(s * normal, 0) + high * np.minimum(s * normal, 0) for s in (1, -1)]
        least, greatest = ends[0].sum(axis=1), -ends[1].sum(axis=1)
        point = corner if public.random() < 0.5 else public.random(columns) * 59
        at = float(normal @ point)
        worst = max(worst, weights[(least < at) & (greatest > at)].sum())
        gathered = max(gathered, abs((weights - 25)[least >= at].sum()))
    assert worst <= most <= (1.6 if columns < 3 else 3) * worst
    assert gathered <= inside
    net, apart = directions_of(columns, boxes=10)
    drawn = public.normal(size=(500, columns))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    nearest = np.minimum(
        *(np.linalg.norm(drawn[:, None] - s * net[None], axis=2).min(axis=1) for s in (1, -1))
    )
    assert nearest.max() <= apart + 1e-12


def test_the_rows_near_a_plane_are_counted_with_an_interval(tmp_path):
    """200 planes at confidence 1 - 1e-9: false alarm below 1e-6. The share is of points in the unit ball."""
    reader = cut_release(tmp_path, "cells")
    table = scattered().to_numpy(dtype=float)
    normals, bounds = random_halfspaces(np.zeros(2), np.full(2, 63.0), 200, seed=6)
    found = reader.count_within_margin(
        ["x", "y"], normals, bounds, gamma="0.1", confidence=1 - 1e-9
    )
    ball = (table - 31.5) / 31.5 / np.sqrt(2)
    scaled = normals * 31.5 * np.sqrt(2)
    offsets = bounds - normals.sum(axis=1) * 31.5
    lengths = np.linalg.norm(scaled, axis=1)
    near = np.abs(ball @ scaled.T - offsets) < 0.1 * lengths
    exact = near.sum(axis=0)
    assert (found.lower <= exact).all() and (exact <= found.upper).all()
    assert np.abs(found.estimate - exact).mean() < 150 and exact.max() > 300
    with pytest.raises(BadInput, match="one coefficient for each column"):
        reader.count_within_margin(["x", "y"], [[1.0]], [0.0], gamma="0.1")


def test_theorem_6_5_is_solved_for_the_error_and_the_budget_that_are_given():
    """At alpha 1 it asks for a million times the rows that it asks for at alpha 10^6."""
    facts = {"gamma": 0.5, "bits": 8, "columns": 3}
    one = theorem_parameters(epsilon=0.1, delta=0.05, alpha=1, **facts)
    huge = theorem_parameters(epsilon=0.1, delta=0.05, alpha=1e6, **facts)
    assert one.log10_rows - huge.log10_rows == pytest.approx(6)
    assert "budget of epsilon 1," in one.sentence and "an error of 0.1" in one.sentence
    finer = theorem_parameters(epsilon=0.01, delta=0.001, alpha=1, **facts)
    assert finer.dimensions > one.dimensions and finer.projections > one.projections
    literal = parse_class("halfspaces(x, y, gamma=0.5, projections=theorem)")
    with pytest.raises(BadInput, match="budget of epsilon 1,"):
        algorithm_for(literal, Schema.loads(SCHEMA.format(adjacency="change-one")), named="net")
