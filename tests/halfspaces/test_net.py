"""The literal net: it covers what it should, counts what it says, and knows when it is hopeless."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars
import pytest

from discreet import plan, release
from discreet.errors import BadInput
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.predicates.queries.strategy import InequalityCounts
from discreet.privacy.budget import Budget
from discreet.queries.classes import parse_class
from discreet.reference.halfspaces.net import canonical, lifted, net, projection, unlifted
from discreet.reference.halfspaces.theorem import theorem_parameters
from discreet.releases.algorithms import algorithm_for
from discreet.schema import Schema
from tests.halfspaces.strict_errors import strict_errors

SQUARE = """
dataset = "square"
people = 1000
adjacency = "{adjacency}"
[columns.a]
kind = "integer"
range = [0, 15]
[columns.b]
kind = "integer"
range = [-8, 7]
"""


def square(adjacency: str = "change-one") -> Schema:
    return Schema.loads(SQUARE.format(adjacency=adjacency))


@pytest.mark.parametrize("dimensions", [2, 3, 4])
def test_every_direction_is_within_the_reach_of_the_net(dimensions):
    reach = Fraction(1, 3)
    own = np.array(net(dimensions, reach), dtype=float)
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    draw = np.random.default_rng(0)
    directions = draw.standard_normal((20_000, dimensions))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    nearest = (directions @ own.T).max(axis=1)
    assert nearest.min() > 0  # close, and not close to the opposite
    assert np.sqrt(1 - np.minimum(nearest, 1) ** 2).max() <= float(reach)


def test_a_canonical_halfspace_of_a_projection_counts_the_projected_rows():
    schema = square()
    draw = np.random.default_rng(1)
    rows = np.stack([draw.integers(0, 16, 300), draw.integers(-8, 8, 300)], axis=1)
    table = np.zeros([schema.column(name).cells for name in ("a", "b")], dtype=np.int64)
    np.add.at(table, (rows[:, 0], rows[:, 1] + 8), 1)
    asked = canonical(schema, ("a", "b"), Fraction(1, 2), (2, 2))
    counts = InequalityCounts.of(schema, asked).evaluate(table)
    up = np.stack([2 * rows[:, 0] / 15 - 1, (2 * rows[:, 1] + 1) / 15, np.ones(300)], axis=1)
    own = np.array(net(2, Fraction(3, 8)))
    for number in range(2):
        inside = (up @ projection(3, 2, number=number)) @ own.T
        sure = np.abs(inside).min(axis=0) > 1e-9  # where floats can be trusted with ties
        part = counts[number * len(own) : (number + 1) * len(own)]
        assert sure.any()
        assert (part == (inside >= 0).sum(axis=0))[sure].all()


def test_lifting_an_inequality_and_back_gives_the_same_halfspace():
    schema = square()
    asked = unlifted(schema, ("a", "b"), [300, -400, 1200])
    numbers = np.array([[float(each) for each in asked.coefficients]])
    again = lifted(schema, ("a", "b"), numbers, np.array([float(asked.bound)]))
    assert again[0] == pytest.approx(np.array([300, -400, 1200]) / 1300)


def test_the_net_is_refused_where_the_number_of_rows_is_a_secret():
    with pytest.raises(BadInput, match="public number of rows"):
        algorithm_for(Halfspaces("a", "b"), square("add-remove"), named="net")
    assert algorithm_for(Halfspaces("a", "b"), square(), named="net").name == "net"


def test_a_net_that_no_machine_could_hold_is_refused_with_the_reason():
    with pytest.raises(BadInput, match="more than 50,000 halfspaces"):
        algorithm_for(Halfspaces("a", "b", projections=(3, 12)), square(), named="net")


def test_the_net_answers_about_some_close_halfspace(tmp_path):
    """Noise of scale 1/5 a count: the strict error is far below that of a constant answer."""
    schema = square()
    draw = np.random.default_rng(3)
    rows = np.stack([draw.integers(0, 16, 1000), draw.integers(-8, 8, 1000)], axis=1)
    asked = Halfspaces("a", "b", gamma="1/2")
    many = len(canonical(schema, ("a", "b"), asked.gamma, None))
    opened = release(
        polars.DataFrame({"a": rows[:, 0], "b": rows[:, 1]}), schema,
        budget=Budget(epsilon=5 * many), workload=[asked], algorithms={asked.text: "net"},
        ledger=tmp_path / "l.db",
    )  # fmt: skip
    normals, bounds = draw.standard_normal((40, 2)), draw.standard_normal(40)
    answers = opened.count_near_halfspaces(["a", "b"], normals, bounds) / 1000
    up = np.stack([2 * rows[:, 0] / 15 - 1, (2 * rows[:, 1] + 1) / 15, np.ones(1000)], axis=1)
    close = lifted(schema, ("a", "b"), normals, bounds)
    assert strict_errors(up, close, answers, gamma=0.5).max() < 0.05
    exact = (up @ close.T >= 0).mean(axis=0)
    assert strict_errors(up, close, exact, gamma=0.5).max() == 0
    assert strict_errors(up, close, np.full(40, 2.0), gamma=0.5).min() >= 1


def test_the_theorem_asks_for_more_rows_than_there_are_atoms():
    needed = theorem_parameters(epsilon=0.1, delta=0.05, gamma=0.5, alpha=1, bits=8, columns=3)
    margin = 0.5 / 16
    assert needed.dimensions == math.ceil(4 * math.log(8 / 0.05) / (margin**2 - margin**3))
    assert needed.projections == math.ceil(12 * (math.log(1 / 0.025) + math.log(2) * 24))
    assert needed.log10_net > 1000
    assert needed.log10_rows > needed.log10_net
    refusal = needed.refusal(50_000)
    assert refusal is not None
    assert "10^" in refusal
    (row,) = plan(
        square(), workload="halfspaces(a, b)", budget=Budget(epsilon=1),
        algorithms={"halfspaces(a, b)": "net"},
    ).classes  # fmt: skip
    assert "theorem 6.5" in row.error.note


def test_the_theorems_own_mechanism_is_refused_with_its_numbers_before_anything_is_charged(
    tmp_path,
):
    asked = Halfspaces("a", "b", gamma="9/10", projections="theorem")
    assert parse_class(asked.text) == asked
    frame = polars.DataFrame({"a": [1] * 1000, "b": [0] * 1000})
    for epsilon in ("1/10", "1000"):
        with pytest.raises(
            BadInput, match=r"projections to k = .* 10\^.*Nothing was read or charged"
        ):
            release(
                frame, square(), budget=Budget(epsilon=epsilon), workload=[asked],
                algorithms={asked.text: "net"}, ledger=tmp_path / "l.db",
            )  # fmt: skip
    assert not list(tmp_path.iterdir())  # not even a ledger was opened


def test_a_net_of_halfspaces_is_charged_for_every_count():
    """One changed row, from one corner to the opposite one, moves about half of all counts."""
    schema = square()
    query = InequalityCounts.of(schema, canonical(schema, ("a", "b"), Fraction(1, 2), None))
    tables = np.zeros((2, *(schema.column(name).cells for name in ("a", "b"))), dtype=np.int64)
    tables[0, 0, 0] = tables[1, 15, 15] = 1
    moved = int(np.abs(query.evaluate(tables[0]) - query.evaluate(tables[1])).sum())
    assert len(query.bounds) // 4 < moved <= query.sensitivity(schema).l1 == len(query.bounds)


@pytest.mark.parametrize(("columns", "to", "off"), [(3, 16, 0.5), (8, 64, 0.4), (8, 256, 0.2)])
def test_random_signs_keep_lengths_as_often_as_johnson_and_lindenstrauss_say(columns, to, off):
    """400 projections, which are public and the same in every run; the theorem bounds each side by exp(-(e^2 - e^3) k / 4)."""
    point = np.random.default_rng(9).normal(size=columns)
    ratios = []
    for number in range(400):
        signs = projection(columns, to, number=number)
        assert set(np.unique(signs)) <= {-1, 1}
        ratios.append(((point @ signs.reshape(columns, to)) ** 2).sum() / to / (point**2).sum())
    missed = float(np.mean(np.abs(np.array(ratios) - 1) > off))
    assert missed <= 2 * math.exp(-(off**2 - off**3) * to / 4)
    assert abs(float(np.mean(ratios)) - 1) < 0.1
