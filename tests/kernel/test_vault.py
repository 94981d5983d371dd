"""The vault charges, then reads, then adds noise; nothing else leads from a row to a return value."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from discreet.core.mechanisms import (
    AboveThreshold,
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
)
from discreet.core.noise import DrawnNoise
from discreet.core.refining import Schedule, path_epsilon
from discreet.core.vault import Request, Vault
from discreet.errors import BadBudget, BadInput, BudgetExceeded, EntryTaken
from discreet.families.tables.queries.cell_count import CellCount
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.measurable import ClampedSum, Marginal
from discreet.queries.tree import Tree
from discreet.schema import Schema
from tests.harness.material.most_frequent import MostFrequent
from tests.memory_engine import MemoryEngine

SCHEMA = """
dataset = "people"
people = 1000
adjacency = "{adjacency}"
{unit}
[cap]
epsilon = "2"
delta = "1e-6"
[columns.age]
kind = "integer"
range = [0, 99]
nulls = "exclude"
[columns.sex]
kind = "category"
values = ["F", "M"]
"""


def schema_of(adjacency="add-remove", unit=""):
    return Schema.loads(SCHEMA.format(adjacency=adjacency, unit=unit))


ROWS = [{"age": (7 * i) % 100, "sex": "F" if i % 3 else "M"} for i in range(300)]


class NoNoise(DrawnNoise):
    """Shows what the core would have added noise to; reachable only from here."""

    def add(self, exact, law, *, step):
        return exact.copy()

    def chain(self, exact, laws, *, step):
        return np.repeat(exact[np.newaxis, :], len(laws), axis=0)

    def is_above(self, exact, threshold_with_noise, law, *, step):
        return exact >= threshold_with_noise


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        yield ledger


def vault_of(ledger, *, schema=None, rows=ROWS, noise=None):
    schema = schema or schema_of()
    engine = MemoryEngine(schema, rows)
    vault = Vault(engine, schema, ledger)
    if noise is not None:
        vault._noise = noise
    return vault, engine


def charge(vault, epsilon="1", delta=0, accounting=Accounting.BASIC, request="r"):
    budget = Budget(epsilon=epsilon, delta=delta)
    return vault.charge(budget, purpose="test", request=request, accounting=accounting)


LAPLACE = DiscreteLaplace(epsilon=Fraction(1))
BY_AGE_AND_SEX = Request(Marginal(("age", "sex")), LAPLACE)


def test_a_charge_is_in_the_ledger_before_anything_is_read(ledger):
    vault, engine = vault_of(ledger)
    charge(vault)
    assert ledger.spent("people") == Budget(epsilon=1)
    assert engine.questions == []


def test_a_verb_refused_by_its_charge_reads_nothing(ledger):
    vault, engine = vault_of(ledger)
    grant = charge(vault, "0.999999999999")
    with pytest.raises(BudgetExceeded):
        grant.measure([BY_AGE_AND_SEX])
    assert engine.questions == []


def test_a_charge_beyond_the_cap_reads_nothing_and_costs_nothing(ledger):
    vault, engine = vault_of(ledger)
    charge(vault, "1.5")
    with pytest.raises(BudgetExceeded):
        charge(vault, "0.500000000001", request="another")
    assert ledger.spent("people") == Budget(epsilon="1.5")
    assert engine.questions == []


def test_several_measurements_add_to_exactly_the_charge_and_not_a_part_more(ledger):
    vault, _ = vault_of(ledger)
    grant = charge(vault, 1)
    tenth = Request(Marginal(("sex",)), DiscreteLaplace(epsilon=Fraction("0.1")))
    for _ in range(10):
        grant.measure([tenth])
    assert grant.left == Budget.nothing(grant.allowed.notion)
    with pytest.raises(BudgetExceeded):
        grant.measure([Request(Marginal(("sex",)), DiscreteLaplace(epsilon=Fraction(1, 10**12)))])


def test_measurements_are_the_exact_counts_plus_noise_of_the_recorded_law(ledger):
    vault, _ = vault_of(ledger, noise=NoNoise())
    (table,) = charge(vault).measure([BY_AGE_AND_SEX])
    expected = Counter((row["age"], row["sex"]) for row in ROWS)
    sexes = vault.schema.column("sex")
    counts = table.values.reshape(Marginal(("age", "sex")).shape(vault.schema))
    for (age, sex), count in expected.items():
        assert counts[age, sexes.code_of(sex)] == count
    assert counts.sum() == len(ROWS)
    assert table.law.scale == table.sensitivity.l1 / Fraction(1)


def test_change_one_doubles_the_noise_of_a_table_but_not_of_a_single_count(ledger):
    schema = schema_of("change-one")
    vault, _ = vault_of(ledger, schema=schema)
    table, single = charge(vault, 2).measure(
        [BY_AGE_AND_SEX, Request(CellCount(("sex",), (0,)), LAPLACE)]
    )
    assert (table.law.scale, single.law.scale) == (2, 1)


def test_a_unit_of_several_rows_multiplies_the_noise(ledger):
    schema = schema_of(unit='[unit]\nidentifier = "id"\nmax_rows = 4')
    vault, _ = vault_of(ledger, schema=schema)
    table, gauss = charge(vault, 1, "1e-6", Accounting.CONCENTRATED).measure(
        [
            Request(Marginal(("sex",)), DiscreteGaussian(rho=Fraction(1, 1000))),
            Request(Marginal(("sex",)), DiscreteLaplace(epsilon=Fraction(1, 100))),
        ]
    )
    assert table.law.sigma_squared == 16 * 500
    assert gauss.law.scale == 400


def test_noise_is_really_added(ledger):
    """A table of 200 counts equals its exact self with probability (tanh(1/2))^200 < 1e-60."""
    vault, engine = vault_of(ledger)
    (table,) = charge(vault).measure([BY_AGE_AND_SEX])
    exact = engine.marginals([("age", "sex")])[0].reshape(-1)
    assert (table.values != exact).any()


def test_gaussian_and_selection_share_a_charge_in_rho(ledger):
    vault, _ = vault_of(ledger)
    grant = charge(vault, 1, "1e-6", Accounting.CONCENTRATED)
    grant.measure([Request(Marginal(("sex",)), DiscreteGaussian(rho=Fraction(1, 200)))])
    grant.select(MostFrequent(("sex",)), Exponential(epsilon=Fraction(1, 10)))
    assert grant.spent == Budget(rho=Fraction(1, 200) + Fraction(1, 800))


def test_gaussian_noise_without_a_delta_is_refused_before_the_charge(ledger):
    vault, engine = vault_of(ledger)
    with pytest.raises(BadBudget, match="delta"):
        charge(vault, 1, 0, Accounting.CONCENTRATED)
    assert engine.questions == []
    assert ledger.entries() == []


def test_the_analytic_gaussian_spends_its_epsilon_and_delta(ledger):
    vault, _ = vault_of(ledger)
    grant = charge(vault, 1, "1e-6")
    grant.measure(
        [
            Request(
                Marginal(("sex",)),
                AnalyticGaussian(epsilon=Fraction(1), delta=Fraction(1, 10**6)),
            )
        ]
    )
    assert grant.spent == Budget(epsilon=1, delta="1e-6")


def test_sums_are_clamped_centred_fixed_point_integers(ledger):
    rows = [*ROWS, {"age": 1000, "sex": "F"}, {"age": None, "sex": "M"}]
    vault, _ = vault_of(ledger, rows=rows, noise=NoNoise())
    query = ClampedSum("age", grid=10, center=Fraction(99, 2))
    (total,) = charge(vault).measure([Request(query, LAPLACE)])
    ages = [min(row["age"], 99) for row in rows if row["age"] is not None]
    assert total.values[0] == sum(10 * age - 495 for age in ages)
    assert total.sensitivity.l1 == 495


def test_the_sensitivity_of_a_sum_counts_nulls_as_zero_under_change_one():
    query = ClampedSum("age", grid=1, center=Fraction(-50))
    assert query.sensitivity(schema_of("change-one")).l1 == 149
    assert query.sensitivity(schema_of()).l1 == 149


def test_selection_prefers_the_most_frequent_cell(ledger):
    """With a gap of 100 and epsilon 1 a wrong choice has probability below 1e-20."""
    vault, _ = vault_of(ledger)
    chosen = charge(vault).select(MostFrequent(("sex",)), Exponential(epsilon=Fraction(1)))
    assert chosen.chosen == vault.schema.column("sex").code_of("F")
    assert chosen.cost.epsilon == 1


def test_a_grant_left_behind_allows_nothing_more(ledger):
    vault, _ = vault_of(ledger)
    with charge(vault) as grant:
        pass
    with pytest.raises(BudgetExceeded):
        grant.measure([BY_AGE_AND_SEX])


def test_neither_a_charge_nor_an_alert_can_be_copied(ledger):
    """A copy of either, made before it is used up, would be used up once more for the same charge."""
    vault, _ = vault_of(ledger)
    grant = charge(vault)
    alert = grant.above_threshold(0, AboveThreshold(epsilon=Fraction(1, 2)), sensitivity=1)
    for one in (grant, alert):
        for copying in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="spend the same charge"):
                copying(one)


def test_a_run_taken_over_by_a_later_one_may_not_read(ledger):
    vault, engine = vault_of(ledger)
    first = charge(vault)
    second = charge(vault)
    assert ledger.spent("people") == Budget(epsilon=1), "the same request is paid once"
    second.measure([BY_AGE_AND_SEX])
    read = len(engine.questions)
    with pytest.raises(EntryTaken):
        first.measure([BY_AGE_AND_SEX])
    assert len(engine.questions) == read


def test_a_failure_after_the_charge_refunds_nothing_and_a_second_run_pays_again(ledger):
    vault, engine = vault_of(ledger)

    def broken(column_sets):
        raise RuntimeError("disk on fire")

    engine.marginals = broken
    with pytest.raises(RuntimeError):
        charge(vault).measure([BY_AGE_AND_SEX])
    assert ledger.spent("people") == Budget(epsilon=1)
    charge(vault)
    assert ledger.spent("people") == Budget(epsilon=2)


def test_the_number_of_rows_is_public_only_under_change_one(ledger, tmp_path):
    vault, _ = vault_of(ledger, schema=schema_of("change-one"))
    assert charge(vault).public_rows() == len(ROWS)
    with Ledger.open(tmp_path / "another.db") as other, pytest.raises(BadInput, match="secret"):
        charge(vault_of(other, schema=schema_of())[0], request="b").public_rows()


def test_a_dataset_without_a_cap_is_published_once(ledger):
    text = SCHEMA.format(adjacency="add-remove", unit="").replace(
        '[cap]\nepsilon = "2"\ndelta = "1e-6"\n', ""
    )
    vault, _ = vault_of(ledger, schema=Schema.loads(text))
    charge(vault, "0.5").measure(
        [Request(Marginal(("sex",)), DiscreteLaplace(epsilon=Fraction(1, 2)))]
    )
    with pytest.raises(BudgetExceeded):
        charge(vault, "1e-9", request="more")


# --- the sparse vector -------------------------------------------------------------------


def count_of(cells):
    return CellCount(("age",), tuple(cells))


def test_an_alert_costs_once_and_ends_with_its_first_true(ledger):
    vault, _ = vault_of(ledger, noise=NoNoise())
    grant = charge(vault)
    alert = grant.above_threshold(100, AboveThreshold(epsilon=Fraction(1)), sensitivity=1)
    assert [alert.is_above(count_of(range(n))) for n in (1, 5, 20, 33)] == [False] * 4
    assert alert.is_above(count_of(range(50)))
    with pytest.raises(BadInput, match="fired"):
        alert.is_above(count_of(range(1)))
    assert grant.spent == Budget(epsilon=1)


def test_an_alert_refuses_counts_of_larger_sensitivity(ledger):
    vault, _ = vault_of(ledger)
    alert = charge(vault).above_threshold(10, AboveThreshold(epsilon=Fraction(1)), sensitivity=1)
    with pytest.raises(BadInput, match="single counts"):
        alert.is_above(Marginal(("sex",)))


def test_an_alert_draws_its_threshold_once_and_its_counts_afresh(ledger):
    """P(count + L(4) >= 0 + L(2)) at count 0: exact by convolution; false alarm 1e-9 over 4,000 alerts."""
    from discreet.privacy.laws import DiscreteLaplaceLaw

    grid = np.arange(-400, 401)
    bar, noise = (DiscreteLaplaceLaw(scale=Fraction(s)).pmf(grid) for s in (2, 4))
    expected = float((bar * np.cumsum(noise[::-1])[::-1]).sum())
    schema = Schema.loads(
        SCHEMA.format(adjacency="add-remove", unit="").replace('epsilon = "2"', 'epsilon = "9999"')
    )
    vault, _ = vault_of(ledger, schema=schema, rows=[])
    grant = charge(vault, 4000)
    mechanism = AboveThreshold(epsilon=Fraction(1))
    hits = sum(
        grant.above_threshold(0, mechanism, sensitivity=1).is_above(count_of([0]))
        for _ in range(4000)
    )
    assert binomtest(hits, 4000, expected).pvalue > 1e-9


# --- refine ------------------------------------------------------------------------------

TREE = Tree(columns=("age",), depths=((0,), (3,), (5,), (7,)))
SHARES = Schedule(
    shares=(Fraction(0), Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)), deciding=Fraction(1, 2)
)


def small(view):
    return view.first < 40


@pytest.mark.parametrize(("adjacency", "part"), [("add-remove", 1), ("change-one", 2)])
def test_every_path_of_a_refined_tree_costs_exactly_its_epsilon(ledger, adjacency, part):
    vault, _ = vault_of(ledger, schema=schema_of(adjacency), noise=NoNoise())
    measured = charge(vault).refine(TREE, epsilon=Fraction(1), schedule=SHARES, stop=small)
    assert measured.path_epsilon == Fraction(1, part)
    last = TREE.depths[-1][0]
    for age in range(100):
        spent = Fraction(0)
        for level in measured.levels:
            prefix = age >> (last - TREE.depths[level.level][0])
            (found,) = np.nonzero(level.nodes[:, 0] == prefix)
            assert len(found) == 1
            stopped = bool(level.stopped[found[0]])
            spent += level.stopped_epsilon if stopped else level.refined_epsilon
            if stopped:
                break
        assert spent == measured.path_epsilon


def test_a_unit_of_several_rows_divides_the_path():
    assert path_epsilon(
        Fraction(1), schema_of(unit='[unit]\nidentifier = "id"\nmax_rows = 5')
    ) == Fraction(1, 5)


def test_nothing_is_read_below_a_stopped_node_or_beyond_the_domain(ledger):
    vault, engine = vault_of(ledger, noise=NoNoise())
    measured = charge(vault).refine(
        TREE, epsilon=Fraction(1), schedule=SHARES, stop=lambda view: view.nodes[:, 0] % 2 == 0
    )
    asked = [question for question in engine.questions if question.startswith("nodes")]
    assert len(asked) == 3
    first, second, third = measured.levels
    assert first.nodes[:, 0].tolist() == list(range(7)), "ages end at 99: the eighth node is empty"
    assert set(second.nodes[:, 0] >> 2) == {1, 3, 5}
    assert set(third.nodes[:, 0] >> 2) == set(second.nodes[~second.stopped][:, 0])
    assert third.stopped.all()


def test_the_stopping_rule_sees_only_published_numbers(ledger):
    vault, _ = vault_of(ledger)
    seen = []

    def stop(view):
        seen.append(view)
        return np.zeros(len(view.nodes), dtype=bool)

    measured = charge(vault).refine(TREE, epsilon=Fraction(1), schedule=SHARES, stop=stop)
    for view, level in zip(seen, measured.levels, strict=False):
        assert view.first is level.first
        assert view.first.base is None, "a slice would carry finer noise in its base"
        assert not view.first.flags.writeable
        assert not view.nodes.flags.writeable
        assert level.values.base is None
        assert view.first_epsilon == level.first_epsilon == Fraction(1, 8)


@pytest.mark.parametrize("answer", [np.zeros(3), np.zeros(2, dtype=bool), [True]])
def test_a_stopping_rule_that_returns_something_else_is_refused(ledger, answer):
    vault, _ = vault_of(ledger)
    with pytest.raises(BadInput, match="boolean"):
        charge(vault).refine(TREE, epsilon=Fraction(1), schedule=SHARES, stop=lambda view: answer)


def test_coarse_and_fine_numbers_of_a_stopped_node_have_their_joint_law(ledger):
    """Chi-square on (fine, coarse - fine) pooled to 25 cells: false alarm 1e-9; catches fine and
    coarse drawn independently, whose difference has three times the variance, with certainty."""
    schema = schema_of()
    vault, _ = vault_of(ledger, schema=schema, rows=[])
    grant = vault.charge(Budget(epsilon=2), purpose="t", request="t")
    tree = Tree(columns=("age",), depths=((0,), (7,)))
    schedule = Schedule(shares=(Fraction(1, 2), Fraction(1, 2)), deciding=Fraction(1))
    fine, extra = [], []
    for _ in range(2000):
        measured = grant.refine(
            tree,
            epsilon=Fraction(1, 1000),
            schedule=schedule,
            stop=lambda view: np.ones(1, dtype=bool),
        )
        (root,) = measured.levels
        assert root.stopped_epsilon == Fraction(1, 1000)
        fine.append(root.values[0] / 1000)
        extra.append((root.first[0] - root.values[0]) / 1000)
    # Coarse has scale 2, fine 1: extra is 0 with probability (1/2)^2, else Laplace of scale 2.
    zeros = sum(value == 0 for value in extra)
    assert binomtest(zeros, len(extra), 0.25).pvalue > 1e-9
    edges = [-np.inf, *(np.log([0.4, 0.8]).tolist()), *(-np.log([0.8, 0.4])).tolist(), np.inf]
    laplace = lambda x: 0.5 * np.exp(x) if x < 0 else 1 - 0.5 * np.exp(-x)  # noqa: E731
    share_fine = np.diff([0, *map(laplace, edges[1:-1]), 1])
    moved = np.array([value for value in extra if value != 0])
    with_move = np.array([f for f, value in zip(fine, extra, strict=True) if value != 0])
    table, _, _ = np.histogram2d(with_move, moved / 2, bins=[edges, edges])
    expected = np.outer(share_fine, share_fine) * len(moved)
    assert chisquare(table.ravel(), expected.ravel()).pvalue > 1e-9


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_tree_never_loses_or_doubles_a_cell(data):
    cells = data.draw(st.integers(1, 70))
    schema = Schema.loads(
        f'dataset = "d"\nadjacency = "add-remove"\n[columns.x]\nkind = "integer"\nrange = [0, {cells - 1}]\n'
        if cells > 1
        else 'dataset = "d"\nadjacency = "add-remove"\n[columns.x]\nkind = "integer"\nrange = [0, 1]\n'
    )
    cells = max(cells, 2)
    bits = (cells - 1).bit_length()
    cuts = sorted(data.draw(st.sets(st.integers(1, bits))) | {bits})
    tree = Tree(columns=("x",), depths=((0,), *((cut,) for cut in cuts)))
    tree.check(schema)
    nodes = tree.root()
    for level in range(len(cuts)):
        nodes = tree.children(nodes, level, schema)
        width = 1 << tree.shifts(level + 1)[0]
        assert nodes[:, 0].tolist() == list(range(-(-cells // width)))
