"""Parities of declared splits, tables with weights of their own, and classes that share a budget."""

from __future__ import annotations

import csv
import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from discreet.answering import ReleaseReader, open_release
from discreet.artifacts.files import write_release
from discreet.artifacts.measurement import Measurement
from discreet.errors import BadInput, BadRelease, NotAnswerable
from discreet.families.shared.estimate.public_random import generator
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.parities import Parities
from discreet.families.tables.queries.residuals import BinnedTable, ModelDistance, Residual
from discreet.families.tables.release.pair_choice import Candidate, choose
from discreet.families.tables.release.parities_splits import parity_of_splits
from discreet.families.tables.release.residual import ResidualMarginals
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import parse_class
from discreet.releases.planning import plan
from discreet.releases.preparing import prepare
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.no_noise import without_noise
from tests.releasing import release

SCHEMA = """
dataset = "people"
people = 3000
adjacency = "{adjacency}"
[columns.age]
kind = "integer"
range = [0, 99]
width = 10
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.member]
kind = "boolean"
[columns.pay]
kind = "integer"
range = [0, 7]
"""
SPLITS = ("age >= 40", "sex = 'f'", "member", "age >= 70")
CLASS = "parities(2; age >= 40, sex = 'f', member, age >= 70)"


def schema_of(adjacency="add-remove"):
    return Schema.loads(SCHEMA.format(adjacency=adjacency))


@pytest.fixture(scope="module")
def rows():
    source = generator(2)
    found = []
    for _ in range(3000):
        age = int(source.integers(0, 100))
        sex = ["f", "m", None][int(source.integers(0, 3))]
        found.append((age, sex, bool(source.random() < age / 100), int(source.integers(0, 8))))
    return found


@pytest.fixture(scope="module")
def table(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("splits") / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "sex", "member", "pay"])
        writer.writerows([[a, s or "", m, p] for a, s, m, p in rows])
    return path


def holds(split, row):
    age, sex, member, _ = row
    return {"age >= 40": age >= 40, "sex = 'f'": sex == "f", "member": member}.get(split, age >= 70)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("splits", [SPLITS[:1], SPLITS[:3], (SPLITS[0], SPLITS[3])])
def test_a_parity_of_splits_moves_as_far_as_the_worst_pair_of_neighbours(adjacency, splits):
    schema = schema_of(adjacency)
    query = parity_of_splits(schema, splits)
    shape = [schema.column(name).cells for name in query.columns]
    moves = []
    for place in range(math.prod(shape)):
        counts = np.zeros(math.prod(shape), dtype=np.int64)
        counts[place] = 1
        moves.append(int(query.evaluate(counts.reshape(shape))[0]))
    assert set(moves) <= {-1, 1}
    ends = [*moves, 0]  # a row that has no cell adds nothing
    if adjacency is Adjacency.ADD_REMOVE:
        worst = max(abs(each) for each in moves)
    else:
        worst = max(abs(one - other) for one in ends for other in ends)
    assert query.sensitivity(schema).l1 == worst
    assert query.sensitivity(schema).l2_squared == worst**2


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_parities_of_splits_know_how_many_rows_there_are(table, rows, tmp_path, adjacency):
    """An interval at 1 - 1e-8."""
    made = release(
        table,
        schema_of(adjacency),
        budget=Budget(epsilon=4),
        workload=CLASS,
        ledger=tmp_path / "ledger.db",
    )
    found = ReleaseReader(made).ask("SELECT count(*) FROM release", confidence=1 - 1e-8).only
    assert found.lower <= len(rows) <= found.upper
    assert found.upper - found.lower < 2000


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_parities_of_splits_answer_every_combination_of_two_with_intervals_that_hold(
    table, rows, tmp_path, adjacency
):
    """18 intervals at 1 - 1e-8: false alarm below 1e-6. A wrong sign is off by hundreds of rows."""
    made = release(
        table,
        schema_of(adjacency),
        budget=Budget(epsilon=4),
        workload=CLASS,
        ledger=tmp_path / "l.db",
    )
    write_release(made, tmp_path / "x.release")
    assert verify(tmp_path / "x.release").ok
    reader = open_release(tmp_path / "x.release")
    level = 1 - 1e-8
    for one, other in combinations(SPLITS, 2):
        for joined, truth in (
            (f"{one} AND {other}", sum(holds(one, r) and holds(other, r) for r in rows)),
            (f"{one} OR {other}", sum(holds(one, r) or holds(other, r) for r in rows)),
        ):
            found = reader.ask(f"SELECT count(*) FROM people WHERE {joined}", confidence=level).only
            assert found.lower <= truth <= found.upper
            assert found.upper - found.lower < 600
        parity = reader.parity(one, other, confidence=level)
        truth = sum(1 - 2 * (holds(one, r) != holds(other, r)) for r in rows)
        assert parity.lower <= truth <= parity.upper
    with pytest.raises(NotAnswerable):
        reader.ask("SELECT count(*) FROM people WHERE age >= 40 AND sex = 'f' AND member")
    with pytest.raises(NotAnswerable):
        reader.ask("SELECT count(*) FROM people WHERE age >= 50")
    with pytest.raises(NotAnswerable, match="its splits are"):
        reader.parity("age >= 50", "member")


def test_a_file_whose_parity_has_other_signs_than_its_splits_is_refused(table, tmp_path):
    from dataclasses import replace

    made = release(
        table, schema_of(), budget=Budget(epsilon=4), workload=CLASS, ledger=tmp_path / "l.db"
    )
    (part,) = made.parts
    one = part.measurements[1]
    forged = replace(one.query, matrix=tuple(tuple(-x for x in row) for row in one.query.matrix))
    measurements = (part.measurements[0], replace(one, query=forged), *part.measurements[2:])
    with pytest.raises(BadRelease, match="signs"):
        ReleaseReader(replace(made, parts=(replace(part, measurements=measurements),)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parities(2; age >= 45, member)", "cuts through a cell"),
        ("parities(2; city = 'x', member)", "no column"),
        ("parities(3; age >= 40, member)", "from 1 to"),
        ("parities(1; member, member)", "twice"),
        ("parities(x; member)", "a number, then splits"),
        ("marginals(age; age)", "lists a table twice"),
        ("marginals(age; city)", "no column"),
        ("means(age; pay)", "one list"),
    ],
)
def test_splits_and_tables_that_make_no_sense_are_refused_in_one_sentence(text, said):
    with pytest.raises(BadInput, match=said):
        parse_class(text).check(schema_of())


def test_tables_and_splits_are_spelt_as_they_are_read():
    for text in ('marginals("a; b", c; d * 3)', 'marginals("a * 2"; b * 1/2)', CLASS):
        once = parse_class(text)
        assert parse_class(once.text) == once
    assert parse_class('marginals("a * 2"; b * 1/2) * 3').tables == (("a * 2",), ("b",))
    weighted = parse_class("marginals(age, sex; sex, pay * 3)")
    assert isinstance(weighted, Marginals)
    assert weighted.sets(schema_of()) == (("age", "sex"), ("sex", "pay"))
    assert weighted.weights(schema_of()) == (1, 3)
    assert isinstance(parse_class(CLASS), Parities)


@pytest.mark.parametrize("algorithm", ["direct", "residuals", "residuals-even"])
@pytest.mark.parametrize("budget", [Budget(epsilon=1), Budget(rho="1/10")], ids=str)
def test_a_table_of_more_weight_has_less_noise_and_the_others_more(algorithm, budget):
    """Deviations of a cell, before any row is read: no chance is involved."""
    found = []
    for text in ("marginals(age, sex; sex, pay)", "marginals(age, sex * 8; sex, pay)"):
        prospect = prepare(schema_of(), budget=budget, workload=text, algorithms={text: algorithm})
        (part,) = prospect.parts
        if algorithm == "direct":
            found.append([law.std for law in part.laws])
        else:
            tables = part.tables()
            found.append([math.sqrt(tables.cell_variance(each)) for each in part.sets])
    even, weighted = found
    assert weighted[0] < 0.95 * even[0] and weighted[1] > even[1]


def test_of_two_pairs_as_wrong_the_heavier_is_measured_first_and_with_less_noise():
    """No chance is involved: the noisy errors are given."""

    def candidate(pair, weight, error=900.0):
        return Candidate(
            pair=pair, level=pair, error=error, cells=[100.0] * 9, shrink=0.7, price=0.5, power=2,
            weight=weight,
        )  # fmt: skip

    for heavy in (0, 1):
        first, second = choose(
            [candidate(0, 8 ** (heavy == 0)), candidate(1, 8 ** (heavy == 1))], 1.0
        )
        assert first.pair == heavy and first.cost == pytest.approx(4 * second.cost)
        (only,) = choose([candidate(0, 1 + (heavy == 0)), candidate(1, 1 + (heavy == 1))], 2e-5)
        assert only.pair == heavy, "the budget is for one"
    assert choose([candidate(0, 8, -5.0), candidate(1, 1, -4.0)], 1.0)[0].pair == 1
    even = choose([candidate(0, 1), candidate(1, 1)], 1.0)
    assert even[0].cost == even[1].cost


@pytest.mark.parametrize("budget", [Budget(epsilon=1), Budget(rho="1/10")], ids=str)
@pytest.mark.parametrize("heavy", [0, 1])
def test_an_adaptive_release_spends_more_on_a_pair_of_more_weight_and_as_much_in_all(
    tmp_path, budget, heavy
):
    """The noise is off, so chance decides nothing: both pairs are wrong by 20,000 rows. Both shares are 1:1
    where weights are ignored, and 16^(2/3) or 16^(1/3) to 1 where not."""
    text = ("marginals(a, b * 16; c, d)", "marginals(a, b; c, d * 16)")[heavy]
    columns = "".join(f'[columns.{name}]\nkind = "boolean"\n' for name in "abcd")
    path = tmp_path / "pairs.csv"
    path.write_text("a,b,c,d\n" + "false,false,false,false\ntrue,true,true,true\n" * 10_000)
    with without_noise():
        made = release(
            path,
            Schema.loads(f'dataset = "pairs"\n{columns}'),  # nobody says how many: a model is made
            budget=budget,
            workload=[text],
            algorithms={text: "adaptive"},
            ledger=tmp_path / "ledger",
        )
    residuals = [
        each
        for each in made.parts[0].measurements
        if isinstance(each, Measurement) and isinstance(each.query, Residual | BinnedTable)
    ]
    spent = [
        float(each.cost.epsilon if budget.notion == "epsilon" else each.cost.rho)
        for each in residuals
    ]
    pairs = [
        (each.query.columns, cost)
        for each, cost in zip(residuals, spent, strict=True)
        if len(each.query.columns) == 2
    ]
    assert pairs[0][0] == (("a", "b"), ("c", "d"))[heavy], "the heavier pair comes first"
    assert pairs[0][1] > 2 * pairs[1][1]
    singles = {
        each.query.columns: cost
        for each, cost in zip(residuals, spent, strict=True)
        if len(each.query.columns) == 1
    }
    loud, quiet = (("a", "b"), ("c", "d")) if heavy == 0 else (("c", "d"), ("a", "b"))
    assert min(singles[name,] for name in loud) > max(singles[name,] for name in quiet)
    audits = [each for each in made.parts[0].measurements if isinstance(each.query, ModelDistance)][
        -2:
    ]
    assert audits[heavy].law.std < audits[1 - heavy].law.std
    write_release(made, tmp_path / "pairs.release")
    verified = verify(tmp_path / "pairs.release")
    assert verified.ok and verified.allowed.minus(verified.total) == budget.times(0)


def test_the_shares_of_residuals_minimise_the_weighted_sum_of_deviations():
    """Moving 2% of the budget between any two residuals makes it no better."""
    schema = schema_of()
    text = parse_class("marginals(age, sex * 4; sex, pay; member)")
    prepared = ResidualMarginals().prepare(
        text, schema, share=Budget(rho=1), accounting=Accounting.CONCENTRATED
    )
    tables = prepared.tables()
    base = {each.query.columns: each.law.variance for each in tables.measured}
    cells = {c: math.prod(tables.sizes(c)) for c in prepared.sets}
    weights = dict(zip(prepared.sets, map(float, text.weights(schema)), strict=True))

    def cost(factors):
        total = 0.0
        for columns in prepared.sets:
            variance = 0.0
            for own in tables.parts_of(columns):
                alone = tables.pieces[own]
                outside = math.prod(tables.sizes(columns)) // math.prod(tables.sizes(own))
                kept = math.prod((d - 1) / d for d in tables.sizes(own))
                variance += kept / outside**2 * base[own] / factors[own] / alone.scale**2
            total += weights[columns] * cells[columns] * math.sqrt(variance)
        return total

    rho = {own: 1 / base[own] for own in base}
    l2 = {each.query.columns: float(each.sensitivity.l2_squared) for each in tables.measured}
    share = {own: l2[own] * rho[own] for own in rho}
    best = cost(dict.fromkeys(base, 1.0))
    for one, other in product(base, base):
        if one != other:
            moved = 0.02 * min(share[one], share[other])
            factors = dict.fromkeys(base, 1.0)
            factors[one] = 1 + moved / share[one]
            factors[other] = 1 - moved / share[other]
            assert cost(factors) >= best * (1 - 1e-4)


def test_classes_share_the_budget_by_weight_which_makes_the_weighted_geometric_error_least():
    schema = schema_of()
    classes = ["intervals(age) * 3", "marginals(2)", "rectangles(age, pay) * 2"]
    planned = plan(schema, workload=classes, budget=Budget(epsilon=1))
    assert [each.share.epsilon for each in planned.classes] == [
        Fraction(3, 6), Fraction(1, 6), Fraction(2, 6),
    ]  # fmt: skip
    assert all(
        str(each.share) in row["share"]
        for each, row in zip(planned.classes, planned.rows(), strict=True)
    )
    # With errors inverse to the shares, sum of w log(1/s) is least at s in proportion to w.
    names = ["marginals(age)", "marginals(sex)"]

    def score(first):
        weights = [f"{names[0]} * {first}", f"{names[1]} * {100 - first}"]
        errors = [
            part.expected()
            for part in prepare(schema, budget=Budget(epsilon="1/10"), workload=weights).parts
        ]
        return 75 * math.log(errors[0]) + 25 * math.log(errors[1])

    assert min(range(5, 100, 5), key=score) == 75


def test_a_class_of_more_weight_has_the_smaller_error():
    errors = {}
    for weight in (1, 6):
        planned = plan(
            schema_of(),
            workload=[f"marginals(2) * {weight}", "intervals(age)", "means(pay)"],
            budget=Budget(epsilon=1, delta="1e-9"),
        )
        errors[weight] = [each.error.expected for each in planned.classes]
    assert errors[6][0] < errors[1][0]
    assert errors[6][1] > errors[1][1] and errors[6][2] > errors[1][2]
