"""Releases of ranges under replay: budgets of paths, nothing beyond stopped nodes, large and odd domains."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas
import pytest

from benchmarks.baselines.histogram_engine import HistogramEngine, histogram_schema
from discreet.answering import ReleaseReader
from discreet.audits.guessing.tables import GeneratedTable
from discreet.audits.observing import Divergence
from discreet.core.vault import Vault
from discreet.errors import BadInput
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.queries.ranges import Intervals, Rectangles, measured_cuts, range_tree
from discreet.families.ranges.release.adaptive import AdaptiveTree, StoppingRule, thresholds
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import parse_class
from discreet.releases import plan
from discreet.releases.algorithms import algorithm_for, algorithms_of
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.harness.random_neighbours import neighbours
from tests.harness.replay import check_neighbours
from tests.ranges.exact import drawing, prepared
from tests.releasing import release

AUDITED = """
dataset = "audit"
people = 100
adjacency = "{adjacency}"
{unit}
[columns.integer]
kind = "integer"
range = [-3, 8]
nulls = "exclude"
[columns.number]
kind = "number"
bounds = [-1.5, 2.5]
bits = 3
closed = "left"
"""
UNIT = '[unit]\nidentifier = "person"\nmax_rows = 2\n'
NAMES = [algorithm.name for algorithm in algorithms_of("intervals")]


def audit_table(adjacency, with_unit, generator):
    schema = Schema.loads(AUDITED.format(adjacency=adjacency, unit=UNIT if with_unit else ""))
    header = (("person",) if with_unit else ()) + ("integer", "number")
    rows = []
    for _ in range(40):
        row = (str(generator.integers(-4, 10)), str(round(generator.normal(), 2)))
        rows.append((f"p{generator.integers(9)}", *row) if with_unit else row)
    return GeneratedTable(schema=schema, header=header, rows=tuple(rows))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("with_unit", [False, True], ids=["row", "identifier"])
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_a_neighbour_is_told_apart_by_no_more_than_the_charge(adjacency, with_unit, name):
    generator = np.random.default_rng()
    table = audit_table(adjacency, with_unit, generator)
    workload = ["intervals(integer)", "rectangles(integer, number)", "unions(integer, 2)"]
    if name == "noisy-search" and (adjacency != "change-one" or with_unit):
        with pytest.raises(BadInput, match="number of rows"):
            algorithm_for(Intervals("integer"), table.schema, named=name)
        return

    def run(path, ledger, progress):
        return release(
            path,
            table.schema,
            budget=Budget(epsilon=3),
            workload=workload,
            ledger=ledger,
            progress=progress,
            algorithms=dict.fromkeys(workload, name),
        )

    check_neighbours(table, neighbours(table, generator, most=2), run)


def test_replay_catches_a_path_that_is_given_too_much(monkeypatch):
    """The mutant: change-one paths as rich as add-remove ones."""
    monkeypatch.setattr("discreet.core.refining.path_epsilon", lambda epsilon, schema: epsilon)
    generator = np.random.default_rng()
    table = audit_table("change-one", False, generator)
    other = GeneratedTable(table.schema, table.header, (("-3", "-1.5"), *table.rows[1:]))
    one = GeneratedTable(table.schema, table.header, (("8", "2.5"), *table.rows[1:]))

    def run(path, ledger, progress):
        return release(
            path, one.schema, budget=Budget(epsilon=3), workload="intervals(integer)", ledger=ledger
        )

    with pytest.raises(Divergence, match="told apart"):
        check_neighbours(one, [other], run)


class CountingEngine(HistogramEngine):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.asked = []

    def node_counts(self, columns, shifts, nodes):
        self.asked.append((shifts, {tuple(map(int, node)) for node in nodes}))
        return super().node_counts(columns, shifts, nodes)


def test_nothing_is_read_below_a_stopped_node(tmp_path):
    generator = np.random.default_rng()
    histogram = generator.poisson(generator.gamma(0.05, 100, 4096))
    schema = histogram_schema((4096,))
    engine = CountingEngine(histogram, schema)
    made = AdaptiveTree().prepare(
        Intervals("x0"), schema, share=Budget(epsilon=1), accounting=Accounting.BASIC
    )
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        vault = Vault(engine, schema, ledger)
        with vault.charge(Budget(epsilon=1), purpose="test", request="test") as grant:
            (measured,) = made.measure(grant)
    stopped = 0
    for level in measured.levels:
        (shift,) = measured.tree.shifts(level.level)
        gone = {int(node) for node in level.nodes[level.stopped][:, 0]}
        stopped += len(gone) if shift else 0
        for (other,), nodes in engine.asked:
            if other < shift:
                assert not gone & {node >> (shift - other) for (node,) in nodes}
    assert stopped


@pytest.mark.parametrize("adjacency, part", [("add-remove", 1), ("change-one", 2)])
def test_every_path_costs_exactly_its_share(adjacency, part):
    generator = np.random.default_rng()
    histogram = generator.poisson(generator.gamma(0.05, 100, (64, 64)))
    made = prepared((64, 64), adjacency=adjacency)
    with drawing(histogram, made) as draw:
        (measured,) = draw().measurements
    assert measured.path_epsilon == Fraction(1, part)
    spent = Fraction(0)
    for level in measured.levels:
        if level.stopped.any():
            assert spent + level.stopped_epsilon == measured.path_epsilon
        spent += level.refined_epsilon


def test_a_64_bit_domain_stays_small_when_it_is_empty_and_when_it_is_full_of_one_value(tmp_path):
    """An empty node has at most half a live child in expectation, so the tree has few hundred nodes;
    10,000 would need a chance below 1e-9."""
    schema = Schema.loads(
        'dataset = "t"\n[columns.ts]\nkind = "integer"\nrange = [-9223372036854775808, 9223372036854775807]\nnulls = "exclude"'
    )
    tree = range_tree(("ts",), schema)
    assert tree.depths[-1] == (64,)
    for number, value in enumerate([None, 12345]):
        rows = {"ts": [value] * 5000 if value is not None else []}
        frame = pandas.DataFrame(rows, dtype="int64")
        made = release(
            frame,
            schema,
            budget=Budget(epsilon=1),
            workload="intervals(ts)",
            ledger=tmp_path / f"ledger {number}.db",
        )
        (measured,) = made.parts[0].measurements
        assert sum(len(level.nodes) for level in measured.levels) < 10_000
        assert verify(made).ok
        reader = ReleaseReader(made)
        answer = reader.ask("SELECT count(*) FROM t WHERE ts >= 0").only
        truth = 0 if value is None else 5000
        assert answer.lower - 300 <= truth <= answer.upper + 300
        many = reader.count_many(
            "ts", np.array([0, 2**63], dtype=np.uint64), np.array([2**63, 2**64 - 1], dtype=np.uint64),
            codes=True,
        )  # fmt: skip
        assert many.estimate[1] == pytest.approx(answer.estimate, abs=1)


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_thresholds_keep_an_empty_nodes_expected_live_children_below_a_half(columns):
    names = [f"c{place}" for place in range(columns)]
    schema = Schema.loads(
        'dataset = "t"\n'
        + "".join(
            f'[columns.{name}]\nkind = "integer"\nrange = [-9223372036854775808, 9223372036854775807]\n'
            for name in names
        )
    )
    asked = Intervals(*names) if columns == 1 else Rectangles(*names)
    made = AdaptiveTree().prepare(
        asked, schema, share=Budget(epsilon="1/10"), accounting=Accounting.BASIC
    )
    tree, shares = made.tree, made.schedule.shares
    bars_ = thresholds(tree, shares, path=Fraction(1, 10))
    for level in range(1, len(shares)):
        fan = 2 ** (sum(tree.depths[level]) - sum(tree.depths[level - 1]))
        alive = np.exp(-float(shares[level]) / 10 * bars_[level]) / 2
        assert fan * alive <= 0.5 + 1e-9


def test_the_stopping_rule_never_stops_the_root_and_stops_what_is_far_below_the_bar():
    schema = histogram_schema((256,))
    tree = range_tree(("x0",), schema)
    rule = StoppingRule(tree, schema, (20.0, 20.0, 20.0))

    class View:
        level, first_epsilon, above, weights = 1, Fraction(1), (), ()
        nodes = tree.children(tree.root(), 0, schema)
        first = np.array([0] * 8 + [1000] * 8)

    stopped = rule(View())
    assert stopped[:8].all() and not stopped[8:].any()
    View.level, View.nodes, View.first = 0, tree.root(), np.array([-5])
    assert not rule(View()).any()


def test_in_a_deep_domain_a_node_stops_by_its_own_noisy_number_alone():
    """Its ancestors and neighbours, all below the bar, have no say."""
    schema = Schema.loads(
        'dataset = "deep"\n[columns.at]\nkind = "integer"\nrange = [0, 1099511627775]'
    )
    tree = range_tree(("at",), schema)
    rule = StoppingRule(tree, schema, (20.0,) * len(tree.depths))

    class View:
        level, first_epsilon, above, weights = 1, Fraction(1, 1000), (), ()
        nodes = tree.children(tree.root(), 0, schema)
        first = np.array([19, 20] + [-50] * (len(nodes) - 2))

    assert np.flatnonzero(~rule(View())).tolist() == [1]


def test_an_empty_table_is_released_like_any_other(tmp_path):
    schema = Schema.loads(AUDITED.format(adjacency="add-remove", unit=""))
    frame = pandas.DataFrame(
        {"integer": pandas.Series(dtype="int64"), "number": pandas.Series(dtype="float64")}
    )
    made = release(
        frame,
        schema,
        budget=Budget(epsilon=1),
        workload=["intervals(integer)", "rectangles(integer, number)"],
        ledger=tmp_path / "ledger.db",
    )
    assert verify(made).ok
    answer = ReleaseReader(made).ask(
        "SELECT count(*) FROM audit WHERE integer > 2", confidence=1 - 1e-9
    )
    assert answer.only.lower == 0


def test_classes_are_spelt_and_refused():
    for text in (
        "intervals(age)",
        "rectangles(lat, lon)",
        'rectangles("net income", b, c, d)',
        "unions(age, 3)",
        "unions(lat, lon, 2)",
    ):
        assert parse_class(text).text == text
    for bad in (
        "intervals(a, b)",
        "rectangles(a)",
        "rectangles(a, a)",
        "rectangles(a, b, c, d, e)",
        "unions(a)",
        "unions(3)",
        "unions()",
        "unions(a, 0)",
        "unions(a, b, 1/2)",
        "unions(a, a, 2)",
    ):
        with pytest.raises(BadInput):
            parse_class(bad)
    schema = Schema.loads(
        'dataset = "t"\n[columns.c]\nkind = "boolean"\n[columns.d]\nkind = "integer"\nrange = [0, 9]'
    )
    with pytest.raises(BadInput, match="no order"):
        Rectangles("c", "d").check(schema)


def test_levels_are_measured_every_four_or_five_halvings():
    for bits in range(257):
        cuts = measured_cuts(bits)
        assert cuts[0] == 0 and cuts[-1] == bits
        assert all(1 <= b - a <= 6 for a, b in pairwise(cuts))


def test_the_planner_takes_gaussian_noise_where_rho_is_the_budget():
    schema = histogram_schema((4096,))
    pure = plan(schema, budget=Budget(epsilon=1), workload="intervals(x0)")
    concentrated = plan(schema, budget=Budget(rho="1/20"), workload="intervals(x0)")
    assert pure.classes[0].algorithm == "adaptive-tree"
    assert concentrated.classes[0].algorithm == "tree"


@pytest.mark.parametrize("epsilon", [300, 3000])
@pytest.mark.parametrize("name", ["best-tree", "adaptive-tree", "tree", "two-stage-tree"])
def test_noise_too_small_to_measure_is_no_accident(name, epsilon):
    """Noise of variance 0 as far as floats go: the answer is the truth but for a chance below 1e-8."""
    histogram = np.array([5, 0, 0, 7, 120, 3, 9, 0])
    made = prepared(
        (8,),
        algorithm=algorithm_for(Intervals("x0"), histogram_schema((8,)), named=name),
        epsilon=epsilon,
    )
    with drawing(histogram, made) as draw:
        source = RangeSource(draw(), made.schema)
    found = source.count(np.array([[3]], np.uint64), np.array([[7]], np.uint64), confidence=0.95)
    assert (found.lower[0], found.estimate[0], found.upper[0]) == (139, 139, 139)


def test_the_cuts_of_a_grid_hang_on_noisy_counts_alone():
    """A row moves from a value that nobody else has to another such: the same boxes are counted."""
    schema = Schema.loads(AUDITED.format(adjacency="change-one", unit=""))
    others = tuple((str(value), "0.5") for value in (0, 1, 1, 2, 2, 2, 3))
    header = ("integer", "number")
    one = GeneratedTable(schema, header, (("-3", "-1.5"), *others))
    other = GeneratedTable(schema, header, (("8", "2.5"), *others))

    def run(path, ledger, progress):
        return release(
            path,
            schema,
            budget=Budget(epsilon=3),
            workload="rectangles(integer, number)",
            ledger=ledger,
            algorithms={"rectangles(integer, number)": "noisy-search"},
        )

    check_neighbours(one, [other], run)
