"""Halfspaces from an adaptive tree: sums, their noise, and questions that join conditions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet import plan, release
from discreet.artifacts.files import read_release, write_release
from discreet.artifacts.measurement import TreeMeasurement
from discreet.artifacts.release import Part
from discreet.core.noise import DrawnNoise
from discreet.core.refining import refine
from discreet.errors import NotAnswerable
from discreet.families.halfspaces.answer.cells import Leaves
from discreet.families.halfspaces.estimate.prior import random_halfspaces
from discreet.families.halfspaces.estimate.tree import TreeCells
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.halfspaces.release.tree import HalfspaceTree, leaf_estimates
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.estimate.tree_layers import PrunedTree, layers_of
from discreet.families.ranges.release.adaptive import StoppingRule, thresholds
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.questions.cells.ordered_pieces import extents
from discreet.releases.verifying import verify
from discreet.schema import Schema
from discreet.schema.columns.ordered import OrderedColumn

SQUARE = """
dataset = "square"
people = {people}
adjacency = "{adjacency}"
[columns.a]
kind = "integer"
range = [0, 19]
{a}
[columns.b]
kind = "integer"
range = [-3, 12]
{b}
"""
ASKED = Halfspaces("a", "b")


def square(people: int = 3_000, adjacency: str = "change-one", a: str = "", b: str = "") -> Schema:
    return Schema.loads(SQUARE.format(people=people, adjacency=adjacency, a=a, b=b))


def skewed(many: int, seed: int = 1) -> np.ndarray:
    draw = np.random.default_rng(seed)
    a = np.minimum(draw.exponential(3.0, many), 19)
    b = np.clip(np.rint(draw.normal(2, 1.5, many) - 0.2 * a), -3, 12)
    return np.stack([a.astype(np.int64), b.astype(np.int64)], axis=1)


def measured(schema: Schema, rows: np.ndarray, epsilon: str = "1") -> Part:
    """The tree of a release, by the core's own verb and noise, without ledger and engine."""
    prepared = HalfspaceTree().prepare(
        ASKED, schema, share=Budget(epsilon=epsilon), accounting=Accounting.BASIC
    )
    codes = rows - np.array([0, -3])

    def count(columns, shifts, nodes):
        table = np.zeros((32, 32), dtype=np.int64)
        np.add.at(table, tuple((codes >> np.array(shifts)).T), 1)
        return table[tuple(nodes.astype(np.int64).T)]

    rule = StoppingRule(
        prepared.tree,
        schema,
        thresholds(prepared.tree, prepared.schedule.shares, path=prepared.path),
    )
    tree = refine(
        prepared.tree,
        epsilon=prepared.epsilon,
        schedule=prepared.schedule,
        stop=rule,
        schema=schema,
        count=count,
        noise=DrawnNoise(),
        next_step=lambda verb: verb,
    )
    estimates = leaf_estimates(tree, schema, len(rows))
    return Part(
        kind=HalfspaceTree.kind,
        query_class=ASKED,
        algorithm="tree",
        measurements=(tree,),
        estimates={"leaves": estimates},
        facts={},
    )


def cells_of(part: Part, schema: Schema) -> tuple[PrunedTree, TreeCells]:
    (tree,) = part.measurements
    assert isinstance(tree, TreeMeasurement)
    pruned = PrunedTree(layers_of(tree), columns=("a", "b"), schema=schema)
    sides = [extents(column) for column in schema.columns if isinstance(column, OrderedColumn)]
    return pruned, TreeCells(pruned, part.estimates["leaves"], sides)


def test_going_down_the_tree_finds_the_leaves_that_comparing_each_of_them_finds():
    schema = square()
    _, cells = cells_of(measured(schema, skewed(3_000)), schema)
    normals, bounds = random_halfspaces(np.array([0.0, -3]), np.array([19.0, 12]), 300, seed=2)
    found = cells(normals, bounds)
    low, high = cells.bounds()
    up, down = np.maximum(normals, 0), np.minimum(normals, 0)
    inner = up @ low.T + down @ high.T >= bounds[:, None]
    outer = up @ high.T + down @ low.T >= bounds[:, None]
    direct = cells.masked(inner, outer)
    assert (outer & ~inner).any()
    for name in ("inner", "outer", "inner_std", "outer_std"):
        np.testing.assert_allclose(getattr(found, name), getattr(direct, name), atol=1e-6)
    shares = inner @ cells.estimate, outer @ cells.estimate
    assert (shares[0] - 1e-6 <= found.estimate).all()
    assert (found.estimate <= shares[1] + 1e-6).all()


def test_the_noise_of_a_sum_is_that_of_least_squares_worked_out_with_whole_matrices():
    """The covariance of all leaves is (A' P A)^-1, A the nodes' sums of leaves, P their precisions."""
    schema = square()
    pruned, cells = cells_of(measured(schema, skewed(3_000)), schema)
    rows, weights = [], []
    for layer in pruned.layers:
        for node, precision in zip(layer.nodes, layer.precision, strict=True):
            if precision == 0:
                continue
            shift = np.array(pruned.bits) - np.array(layer.depth)
            first = node.astype(np.int64) << shift
            last = first + (1 << shift) - 1
            inside = np.all((cells.first >= first) & (cells.last <= last), axis=1)
            rows.append(inside.astype(float))
            weights.append(precision)
    design, precision = np.array(rows), np.array(weights)
    covariance = np.linalg.inv(design.T @ (precision[:, None] * design))
    draw = np.random.default_rng(0)
    masks = draw.random((40, cells.leaves)) < draw.random((40, 1))
    found = cells.masked(masks, ~masks)
    exact = np.einsum("qi,ij,qj->q", masks.astype(float), covariance, masks.astype(float))
    np.testing.assert_allclose(found.inner_std, np.sqrt(exact), rtol=1e-6)


@pytest.mark.parametrize("epsilon", ["1/5", "2"])
def test_intervals_of_a_tree_cover_as_often_as_they_say(epsilon):
    """300 trees, one question each, so they are independent: a true 95% falls below 87% with
    probability under 1e-7; caught almost surely: intervals that hold in 75% of the draws."""
    schema = square()
    rows = skewed(2_000)
    draws = 300
    normals, bounds = random_halfspaces(np.array([0.0, -3]), np.array([8.0, 5]), draws, seed=5)
    held = 0
    for place in range(draws):
        part = measured(schema, rows, epsilon)
        leaves = Leaves(RangeSource(part, schema), len(rows))
        here = slice(place, place + 1)
        found = leaves.many(normals[here], bounds[here], confidence=0.95).plausible(len(rows))
        truth = int((rows @ normals[place] >= bounds[place]).sum())
        assert found.lower[0] <= found.estimate[0] <= found.upper[0]
        held += found.lower[0] <= truth <= found.upper[0]
    assert held >= 0.87 * draws


NEARLY_EXACT = Budget(epsilon=400)
"""A leaf's noise is then 0 but for one draw in e^20: what is left are the cells."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Cells of 5 and of 2 values, so that most conditions cut some."""
    schema = square(a="width = 5", b="width = 2")
    rows = skewed(600)
    frame = polars.DataFrame({"a": rows[:, 0], "b": rows[:, 1]})
    made = release(
        frame,
        schema,
        budget=NEARLY_EXACT,
        workload=ASKED,
        algorithms={ASKED.text: "tree"},
        ledger=tmp_path_factory.mktemp("tree") / "l.db",
    )
    return made, rows


numbers = st.integers(-6, 6)
atoms = st.one_of(
    st.tuples(numbers, numbers, st.sampled_from([">=", ">", "<=", "<"]), st.integers(-20, 40)).map(
        lambda t: f"{t[0]}*a + {t[1]}*b {t[2]} {t[3]}"
    ),
    st.integers(-3, 20).map(lambda k: f"a >= {k}"),
    st.integers(-3, 12).map(lambda k: f"b BETWEEN {k} AND {k + 3}"),
    st.integers(0, 19).map(lambda k: f"a IN ({k}, {k + 2})"),
)
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda t: f"({t[0]} AND {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]} OR {t[1]})"),
        inner.map(lambda t: f"NOT ({t})"),
    ),
    max_leaves=4,
)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(condition=conditions, linear=atoms.filter(lambda text: "*" in text))
def test_joined_conditions_hold_between_the_cells_inside_and_the_cells_touched(
    opened, condition, linear
):
    made, rows = opened
    where = f"({condition} OR {linear}) AND a IS NOT NULL AND b IS NOT NULL"
    answer = made.ask(f"SELECT count(*) FROM square WHERE {where}", confidence=1 - 1e-9).only
    square = polars.DataFrame({"a": rows[:, 0], "b": rows[:, 1]})
    truth = polars.SQLContext(square=square).execute(
        f"SELECT count(*) AS n FROM square WHERE {where}", eager=True
    )["n"][0]
    assert answer.lower <= truth <= answer.upper


def test_groups_of_a_joined_condition_are_each_bracketed_and_none_is_left_out(opened):
    made, rows = opened
    answers = made.ask(
        "SELECT a, count(*) FROM square WHERE a + 2*b >= 5 GROUP BY a", confidence=1 - 1e-9
    )
    (column,) = answers.columns
    for place, code in enumerate(answers.codes[:, 0]):
        mine = rows[rows[:, 0] // 5 == code]
        truth = int((mine @ [1, 2] >= 5).sum())
        assert column.lower[place] <= truth <= column.upper[place]
    assert len(answers.codes) == 4


def test_a_question_that_rows_with_nulls_could_satisfy_is_refused_with_the_remedy(opened):
    made, _ = opened
    with pytest.raises(NotAnswerable, match="AND b IS NOT NULL"):
        made.ask("SELECT count(*) FROM square WHERE a + b >= 3 OR a > 4")
    assert made.ask(
        "SELECT count(*) FROM square WHERE (a + b >= 3 OR a > 4) AND b IS NOT NULL"
    ).only


def test_a_question_about_fewer_columns_is_refused_with_what_to_add(tmp_path):
    schema = square(people=400)
    frame = polars.DataFrame({"a": [3] * 400, "b": [2] * 300 + [None] * 100})
    made = release(
        frame, schema, budget=NEARLY_EXACT, workload=ASKED,
        algorithms={ASKED.text: "tree"}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    with pytest.raises(NotAnswerable, match="add AND b IS NOT NULL"):
        made.ask("SELECT count(*) FROM square WHERE 2*a - a >= 1 + 0*a")
    found = made.ask("SELECT count(*) FROM square WHERE 2*a >= 1 AND b IS NOT NULL").only
    assert found.estimate == 300


def test_rows_with_a_null_or_an_excluded_value_are_in_no_leaf(tmp_path):
    schema = square(people=300, a='outside = "exclude"')
    frame = polars.DataFrame({"a": [5] * 200 + [None] * 60 + [99] * 40, "b": [1] * 300})
    made = release(
        frame, schema, budget=NEARLY_EXACT, workload=ASKED,
        algorithms={ASKED.text: "tree"}, ledger=tmp_path / "l.db",
    )  # fmt: skip
    for sign in (">=", "<"):
        answer = made.ask(f"SELECT count(*) FROM square WHERE a + b {sign} -100")
        assert answer.only.estimate == (200 if sign == ">=" else 0)
        assert any("not counted" in note for note in answer.notes)


def test_values_kept_in_a_cell_of_their_own_are_served_by_the_grid():
    schema = square(a='outside = "other"')
    assert "either side" in str(HalfspaceTree().refusal(ASKED, schema))
    (row,) = plan(schema, workload=ASKED, budget=Budget(epsilon=1)).classes
    assert row.algorithm == "cells"


def test_a_release_by_a_tree_verifies_survives_its_file_and_answers_boxes_too(tmp_path):
    schema = square(people=20_000)
    rows = skewed(20_000)
    frame = polars.DataFrame({"a": rows[:, 0], "b": rows[:, 1]})
    made = release(
        frame, schema, budget=Budget(epsilon=1), workload=ASKED, ledger=tmp_path / "l.db"
    )
    assert made.release.parts[0].algorithm == "tree"
    assert verify(made.release).ok
    write_release(made.release, tmp_path / "square.release")
    again = type(made)(read_release(tmp_path / "square.release"))
    text = "SELECT count(*) FROM square WHERE 0.5*a - b >= 0.25"
    assert str(made.ask(text)) == str(again.ask(text))
    sure = again.ask(text, confidence=1 - 1e-9).only
    assert sure.lower <= int((rows @ [0.5, -1] >= 0.25).sum()) <= sure.upper
    box = again.ask(
        "SELECT count(*) FROM square WHERE a BETWEEN 2 AND 7 AND b < 4", confidence=1 - 1e-9
    ).only
    inside = (rows[:, 0] >= 2) & (rows[:, 0] <= 7) & (rows[:, 1] < 4)
    assert box.lower <= int(inside.sum()) <= box.upper


def test_more_rows_or_more_budget_never_raise_the_error_that_is_foreseen():
    found = []
    for epsilon, rows in (("1/10", 10_000), ("1", 10_000), ("1", 1_000_000)):
        (row,) = plan(
            square(people=rows), workload=ASKED, budget=Budget(epsilon=epsilon),
            algorithms={ASKED.text: "tree"},
        ).classes  # fmt: skip
        found.append(row.error.expected / rows)
        assert "leaves" in row.error.note
    assert found == sorted(found, reverse=True)
    assert Fraction(1, 1000) > found[-1] > 0
