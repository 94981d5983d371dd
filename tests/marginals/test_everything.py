"""An adaptive release that measures all pairs where its first glance says that all are worth their noise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet import Budget, Schema, release
from discreet.answering import ReleaseReader
from discreet.artifacts.answer import Covers
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.answer.evidence import model_tables
from discreet.families.tables.answer.models.model_table import models_of
from discreet.families.tables.answer.table_source import GLANCED_NOTE
from discreet.families.tables.queries.residuals import ModelDistance, Residual
from discreet.families.tables.release.everything import (
    GLANCED,
    AllCells,
    Look,
    _believed,
    _drawn,
    _left_by_noise,
    mended_by,
    noise_is_less,
)
from discreet.families.tables.release.pair_choice import beyond_chance
from discreet.queries.measurable import Marginal
from discreet.releases.preparing import prepare
from discreet.releases.verifying import verify

NAMES = "abcdef"
CELLS, VALUES, ROWS = 6, 12, 20_000
PAIRS = list(combinations(NAMES, 2))
NOISE: Any = SimpleNamespace(cell_variance=lambda columns: 100.0)
"""Ten rows on each cell: about 36 * 8 rows of a pair."""


def decided(wrong: list[float], mended: float = 0.0) -> bool:
    expected = np.full((CELLS, CELLS), ROWS / CELLS**2)
    looks = [
        Look(place, Residual(pair), expected, each, 0.0)
        for place, (pair, each) in enumerate(zip(PAIRS, wrong, strict=True))
    ]
    return noise_is_less(
        looks,
        [Fraction(1)] * len(PAIRS),
        on_all=NOISE,
        mended=dict.fromkeys(NAMES, mended),
        worse=1.0,
    )


def test_all_pairs_are_measured_where_most_of_them_stand_out_from_noise() -> None:
    assert decided([5000.0] * 15)
    assert decided([400.0] * 15)
    assert not decided([200.0] * 15), "noise would do more harm than independence"
    assert not decided([-50.0] * 15)
    assert not decided([9000.0] * 3 + [0.0] * 12), "those three are better measured alone"
    assert decided([9000.0] * 13 + [0.0] * 2)


def test_what_more_budget_for_single_columns_mends_is_no_dependence() -> None:
    """Noise in single columns makes some of the 500 rows that a pair gets wrong; more budget for them mends these."""
    assert decided([500.0] * 15)
    assert not decided([500.0] * 15, 480.0**2 / 2)
    counts = {"a": np.full(CELLS, ROWS / CELLS)}
    loud, quiet = (SimpleNamespace(cell_variance=lambda c, v=v: v) for v in (900.0, 100.0))
    (found,) = mended_by(counts, loud, quiet).values()  # type: ignore[arg-type]
    assert found == pytest.approx(CELLS**2 * 0.8**2 * (900 - 100))


def test_a_model_leaves_chance_and_a_part_of_the_dependence() -> None:
    """Noise of 5 rows leaves 1,700 of 1,800 rows wrong in tables of small cells; chance makes 1,000 of independent columns wrong."""
    expected, public = np.full((30, 30), 2.0), generator(1)

    def left(wrong: float, worse: float = 1.0, std: float = 5.0) -> bool:
        looks = [
            Look(place, Residual(pair), expected, wrong, 0.0) for place, pair in enumerate(PAIRS)
        ]
        noise: Any = SimpleNamespace(cell_variance=lambda columns: std**2)
        nothing = dict.fromkeys(NAMES, 0.0)
        return noise_is_less(looks, [Fraction(1)] * 15, on_all=noise, mended=nothing, worse=worse)

    assert beyond_chance(1000.0, expected) == 0
    assert not left(1000.0), "chance is all that a model leaves"
    assert not left(1800.0), "most of the dependence is found"
    assert left(1000.0, std=1.0) and not left(1000.0, std=2.0)
    assert left(1000.0, worse=1.7, std=2.0)
    noise = [_left_by_noise(expected, 0.0, std**2, public) for std in (1.0, 2.0, 5.0)]
    assert noise[0] < 1000 < noise[1] < 1700 < noise[2]


def test_a_trial_differs_from_independent_columns_as_much_as_was_seen() -> None:
    expected = np.full((40, 40), 50.0)
    for wrong in (16_000.0, 40_000.0, 80_000.0):
        drawn = _drawn(expected, beyond_chance(wrong, expected), generator(1))
        assert np.abs(drawn - expected).sum() == pytest.approx(wrong, rel=0.1)


def test_pairs_that_differ_by_the_noise_of_the_glance_are_taken_for_equal() -> None:
    """Of 15 pairs with noise as large as what they get wrong, none is believed to get nothing wrong."""
    draw = generator(4)
    looks = [
        Look(place, Residual(pair), np.ones((2, 2)), 400 + 400 * draw.standard_normal(), 400.0)
        for place, pair in enumerate(PAIRS)
    ]
    believed = _believed(looks, np.ones(15))
    assert believed.min() > 200 and believed.mean() == pytest.approx(
        np.mean([each.wrong for each in looks])
    )


def schema_of(people: str, names: str = NAMES, nulls: str = "exclude") -> Schema:
    columns = "".join(
        f'[columns.{name}]\nkind = "integer"\nrange = [0, {VALUES - 1}]\nnulls = "{nulls}"\noutside = "edge"\n'
        for name in names
    )
    return Schema.loads(f'dataset = "t"\n{people}{columns}')


def test_public_facts_decide_whether_a_glance_is_taken() -> None:
    def asked(budget: Budget, people: str = "people = 20000\n", text: str = "marginals(2)") -> Any:
        made = prepare(
            schema_of(people), budget=budget, workload=text, algorithms={text: "adaptive"}
        )
        return made.parts[0].everything()  # type: ignore[attr-defined]

    found = asked(Budget(rho="1/2"))
    assert found is not None and 0 < found.glance <= Fraction(1, 100) and found.single < 1
    assert sum(part for _, part in found.parts) == 1
    assert asked(Budget(epsilon=1)) is None, (
        "Laplace noise: a look at so few columns would be too dear"
    )
    assert asked(Budget(rho="1/2"), people="") is None
    assert asked(Budget(rho="1/2"), text="marginals(3)") is None, "pairs do not tell"
    assert asked(Budget(rho="1/10000000")) is None, "noise would drown them"
    for rho in range(55 * 10**6, 62 * 10**6, 10**6):  # deviations of noise down to the least double
        found = asked(Budget(rho=rho), text="marginals(a, b; b, c; a, c)")
        assert found is None, "no glance would be sharp enough"


@pytest.mark.parametrize("dependent", [True, False])
def test_a_release_follows_what_it_glanced_at(dependent: bool, tmp_path: Path) -> None:
    """Independent columns get about 37,000 rows wrong in each pair, or about 4,100: what drawing and noise in single columns leave. Noise on
    everything leaves about 9,000, and the glance at a pair has noise of 870. Over 15 pairs these are more than 10 deviations apart.
    """
    public = generator(3)
    first = public.integers(0, VALUES, ROWS)
    columns = {
        name: (first + place) % VALUES if dependent else public.integers(0, VALUES, ROWS)
        for place, name in enumerate(NAMES)
    }
    budget = Budget(rho="1/1000")

    def released(algorithm: str) -> ReleaseReader:
        return release(
            pa.table(columns),
            schema_of("people = 20000\n"),
            budget=budget,
            workload="marginals(2)",
            algorithms={"marginals(2)": algorithm},
            ledger=tmp_path / f"{algorithm}.db",
        )

    reader = released("adaptive")
    part = reader.release.parts[0]
    assert part.algorithm == "adaptive"
    assert part.kind == ("residuals" if dependent else "model")
    verified = verify(reader.release, thorough=True)
    assert verified.ok, verified.problems
    assert verified.allowed.minus(verified.total) == budget.times(0)
    if not dependent:
        totals = [each.law for each in part.noisy if each.query == Residual(())]
        known = {each.total_law for each in models_of(model_tables(part, reader.schema))}
        assert len(totals) >= 2 and known == {min(totals, key=lambda law: law.variance)}
        return
    looks = [each for each in part.noisy if isinstance(each.query, ModelDistance)]
    assert len(looks) == len(PAIRS), "one glance at each pair, and no audit"
    for one, other in PAIRS:
        answer = reader.ask(f"SELECT {one}, {other}, count(*) FROM t GROUP BY {one}, {other}")
        assert answer.columns[0].covers is Covers.NOISE
        assert GLANCED_NOTE in answer.notes, "the counts before the glance took part in the choice"
    assert all(claim.theorem.endswith(GLANCED) for claim in reader.release.claims)
    std = {
        each.query.columns: each.law.std for each in part.noisy if isinstance(each.query, Residual)
    }
    alone = released("residuals").release.parts[0]
    for each in alone.noisy:
        assert isinstance(each.query, Residual)
        # All that is lost is the glance, by one in a hundred of the budget.
        assert std[each.query.columns] <= 1.01 * each.law.std
    assert math.isclose(std[()], next(e.law.std for e in alone.noisy if e.query == Residual(())))


def test_where_single_columns_have_enough_before_the_glance_they_get_no_more(
    tmp_path: Path,
) -> None:
    """Tables of few cells: residuals give single columns more than a model would. All pairs or a model, the budget is spent exactly."""
    public, names = generator(5), "abcde"
    columns = "".join(f'[columns.{name}]\nkind = "integer"\nrange = [0, 2]\n' for name in names)
    schema = Schema.loads(f'dataset = "t"\npeople = 20000\n{columns}')
    independent = {name: public.integers(0, 3, ROWS) for name in names}
    equal = dict.fromkeys(names, public.integers(0, 3, ROWS))
    budget = Budget(rho="1/1000")
    for number, (table, kind) in enumerate([(independent, "model"), (equal, "residuals")]):
        reader = release(
            pa.table(table),
            schema,
            budget=budget,
            workload="marginals(2)",
            algorithms={"marginals(2)": "adaptive"},
            ledger=tmp_path / f"{number}.db",
        )
        (part,) = reader.release.parts
        assert part.kind == kind
        times = sum(each.query == Residual(()) for each in part.noisy)
        # A model may measure single columns again in its two rounds, instead of pairs.
        assert times == 1 if kind == "residuals" else 1 <= times <= 3
        verified = verify(reader.release, thorough=True)
        assert verified.ok, verified.problems
        assert verified.allowed.minus(verified.total) == budget.times(0)


@pytest.mark.parametrize("weight", [1, 30, 10_000])
def test_no_weight_of_single_columns_leaves_a_model_without_a_budget(
    weight: int, tmp_path: Path
) -> None:
    """Residuals give single columns nearly everything here: a model that got as much would have nothing left, or less."""
    public, workload = generator(6), f"marginals(a * {weight}; b; a, b)"
    columns = "".join(f'[columns.{name}]\nkind = "integer"\nrange = [0, 1]\n' for name in "ab")
    budget = Budget(rho="1/1000")
    reader = release(
        pa.table({name: public.integers(0, 2, 300) for name in "ab"}),
        Schema.loads(f'dataset = "t"\npeople = 300\n{columns}'),
        budget=budget,
        workload=workload,
        algorithms={workload: "adaptive"},
        ledger=tmp_path / "ledger.db",
    )
    verified = verify(reader.release)
    assert verified.ok, verified.problems
    assert verified.allowed.minus(verified.total) == budget.times(0)


def test_with_laplace_noise_a_glance_is_taken_where_it_costs_little() -> None:
    text = "marginals(2)"

    def asked(epsilon: str, names: str = "abcdefghij", nulls: str = "cell") -> Any:
        schema = schema_of("people = 20000\n", names, nulls)
        budget = Budget(epsilon=epsilon)
        made = prepare(schema, budget=budget, workload=text, algorithms={text: "adaptive"})
        return made.parts[0].everything()  # type: ignore[attr-defined]

    found = asked("5")
    assert isinstance(found, AllCells) and 0 < found.glance + found.single < Fraction(15, 100)
    bounds = [
        [claim.bound for claim in found.released_as(found.pair_requests(own)).claims(0.95)]
        for own in (Budget(epsilon=5), Budget(epsilon=1))
    ]
    for most, least in zip(*bounds, strict=True):
        assert least == pytest.approx(5 * most, rel=0.01), "of the noise that is left to draw"
    assert asked("5", names="abc") is None, "three tables need little noise, a look at them much"
    assert asked("1/100") is None, "noise would drown all tables"
    assert asked("5", nulls="exclude") is None, "tables that leave out different rows do not add up"


@pytest.mark.parametrize("dependent", [True, False])
def test_a_release_with_laplace_noise_follows_what_it_glanced_at(
    dependent: bool, tmp_path: Path
) -> None:
    """Columns that determine one another, or independent ones."""
    names, public = "abcdefghij", generator(3)
    first = public.integers(0, VALUES, ROWS)
    columns = {
        name: (first + place) % VALUES if dependent else public.integers(0, VALUES, ROWS)
        for place, name in enumerate(names)
    }
    budget = Budget(epsilon=2)
    reader = release(
        pa.table(columns),
        schema_of("people = 20000\n", names, "cell"),
        budget=budget,
        workload="marginals(2)",
        algorithms={"marginals(2)": "adaptive"},
        ledger=tmp_path / "ledger.db",
    )
    part = reader.release.parts[0]
    assert part.algorithm == "adaptive"
    assert part.kind == ("marginals" if dependent else "model")
    verified = verify(reader.release, thorough=True)
    assert verified.ok, verified.problems
    assert verified.allowed.minus(verified.total) == budget.times(0)
    if not dependent:
        return
    counted = [each.query.columns for each in part.noisy if isinstance(each.query, Marginal)]
    assert counted == list(combinations(names, 2))
    costs = [each.cost.epsilon for each in part.noisy if isinstance(each.query, Marginal)]
    assert sum(filter(None, costs)) > budget.epsilon * 85 / 100, "little was spent before"
    found = reader.ask("SELECT a, b, count(*) FROM t GROUP BY a, b")
    assert found.columns[0].covers is Covers.NOISE and GLANCED_NOTE in found.notes
    true = np.zeros((VALUES + 1, VALUES + 1))  # the last are for nulls
    np.add.at(true, (columns["a"], columns["b"]), 1)
    held = (found.columns[0].lower <= true.ravel()) & (true.ravel() <= found.columns[0].upper)
    assert held.mean() > 0.75  # of 169 intervals of 95%; a chance below 1e-16
    assert all(claim.theorem.endswith(GLANCED) for claim in reader.release.claims)
    claimed = max(claim.bound for claim in reader.release.claims)
    assert np.abs(found.columns[0].estimate - true.ravel()).max() <= claimed
    rows = reader.synthesize(seed=1).codes
    assert (rows[:, 0] == (rows[:, 1] - 1) % VALUES).mean() > 0.5, "rows follow the dependence"
