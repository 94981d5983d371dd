"""Contract of every algorithm in the table: sensitivity, cost, error, under each adjacency, unit and budget."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.artifacts.measurement import Measurement
from discreet.core.mechanisms import DiscreteGaussian, RoundedGaussian
from discreet.core.noise import DrawnNoise
from discreet.core.vault import Grant
from discreet.errors import BadInput
from discreet.families.numbers.queries.one_number import Means
from discreet.families.shared.release.noise_choice import mean_absolute_of_two, simultaneous_bound
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.release.direct import DirectMarginals
from discreet.privacy.budget import Budget
from discreet.privacy.conversion import gaussian_delta
from discreet.privacy.cost import Accounting, allowance
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, RoundedGaussianLaw
from discreet.privacy.shares import accountings
from discreet.queries.classes import QueryClass, parse_class
from discreet.releases.algorithms import algorithm_for
from discreet.releases.preparing import prepare
from discreet.schema import Schema
from tests.harness.material.tables import all_algorithms, example_texts
from tests.harness.suite import OPEN_SCHEMAS
from tests.releases.conftest import people_schema
from tests.releasing import release

MOST_EXAMPLES = 5
"""Texts of a class: hypothesis tries each with each of its algorithms, in every situation."""


def examples_by_class(schema: Schema) -> dict[str, list[QueryClass]]:
    """Some of the examples that the families give of each class, the first and the last among them."""
    found: dict[str, dict[str, QueryClass]] = {}
    for text in example_texts(schema):
        try:
            query_class = parse_class(text)
            query_class.check(schema)
        except BadInput:
            continue
        found.setdefault(query_class.name, {})[query_class.text] = query_class
    return {
        name: [
            list(each.values())[place]
            for place in sorted({int(i) for i in np.linspace(0, len(each) - 1, MOST_EXAMPLES)})
        ]
        for name, each in found.items()
    }


EXAMPLES = examples_by_class(people_schema())
CASES = [
    (name, algorithm, example)
    for name, algorithms in all_algorithms().items()
    for algorithm in algorithms
    for example in EXAMPLES.get(name, [])
]
OPEN = examples_by_class(OPEN_SCHEMAS[0])
"""Classes about values that nobody declares: tests/keys holds the same contract of them."""
SITUATIONS = [
    ("add-remove", False),
    ("change-one", False),
    ("add-remove", True),
    ("change-one", True),
]
BUDGETS = [
    Budget(epsilon="1/3"),
    Budget(epsilon=1, delta=1e-6),
    Budget(rho="1/50"),
    Budget(mu="1/5"),
]
VALUES = st.one_of(
    st.none(), st.integers(-(2**65), 2**65), st.floats(), st.sampled_from(["f", "m", "", "7", "x"])
)
ROWS = st.fixed_dictionaries(
    {"age": VALUES, "sex": VALUES, "income": VALUES, "person": st.integers(0, 3)}
)


def shares_of(budget: Budget) -> list[tuple[Budget, Accounting]]:
    return [
        (allowance(budget, accounting), accounting)
        for accounting in accountings(budget, notion=None)
    ]


def test_every_class_that_can_be_asked_for_has_an_algorithm_and_examples():
    assert set(all_algorithms()) == set(EXAMPLES) | set(OPEN)
    assert set(OPEN) - set(EXAMPLES) == {"keys"}
    for algorithms in all_algorithms().values():
        names = [algorithm.name for algorithm in algorithms]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("situation", SITUATIONS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[1].name} {case[2].text}")
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(ROWS, max_size=5), one=st.lists(ROWS, min_size=1, max_size=5), data=st.data())
def test_one_unit_moves_what_is_measured_by_at_most_the_recorded_sensitivity(
    case, situation, make_schema, make_engine, rows, one, data
):
    """What is compared are the exact numbers that reach the noise, on neighbouring tables."""
    _, algorithm, example = case
    adjacency, identifier = situation
    schema = make_schema(adjacency, identifier=identifier, age='nulls = "exclude"')
    if algorithm.refusal(example, schema) is not None:
        return
    prepared = algorithm.prepare(
        example, schema, share=Budget(epsilon=1), accounting=Accounting.BASIC
    )
    most = 5 if identifier else 1
    mine = [row | {"person": 99} for row in one[:most]]
    before, after = rows, rows + mine
    if adjacency == "change-one":
        other = data.draw(st.lists(ROWS, min_size=1, max_size=most))
        before = rows + [
            row | {"person": 99} for row in other[: len(mine) if not identifier else most]
        ]
    exact = []
    for table in (before, after):
        grant = object.__new__(Grant)  # by hand, to see exact numbers without noise or charge
        grant._engine, grant._schema, grant._reading = make_engine(table, schema), schema, True
        grant._lock = threading.Lock()
        exact.append(grant._read([request.query for request in prepared.requests]))
    for request, left, right in zip(prepared.requests, *exact, strict=True):
        moved = request.query.sensitivity(schema)
        difference = [abs(int(a) - int(b)) for a, b in zip(left, right, strict=True)]
        assert len(difference) == request.query.size(schema)
        assert sum(difference) <= moved.l1
        assert sum(each * each for each in difference) <= moved.l2_squared


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[1].name} {case[2].text}")
def test_the_recorded_laws_cost_exactly_the_share(case, budget, make_schema):
    """Recomputed from law and sensitivity alone; nothing of the share is lost, and none overspent."""
    _, algorithm, example = case
    schema = make_schema("change-one", age='nulls = "exclude"')
    if algorithm.refusal(example, schema) is not None:
        schema = make_schema("change-one")
        if algorithm.refusal(example, schema) is not None:
            return
    for share, accounting in shares_of(budget):
        prepared = algorithm.prepare(example, schema, share=share, accounting=accounting)
        epsilon = delta = rho = mu_squared = Fraction(0)
        if not prepared.requests:  # adaptive: what it costs is recomputed from what it publishes
            spent = [cost.under(accounting) for cost in prepared.costs()]
            assert share.covers(sum(spent, Budget.nothing(share.notion)))
            assert sum(each.amount for each in spent) >= share.amount * Fraction(4, 5)
            continue
        for request in prepared.requests:
            moved = request.query.sensitivity(schema)
            law = request.mechanism.law(moved, size=request.query.size(schema))
            cost = request.mechanism.cost()
            match law:
                case DiscreteLaplaceLaw(scale=scale):
                    epsilon += moved.l1 / scale
                case DiscreteGaussianLaw(sigma_squared=square) if isinstance(
                    request.mechanism, DiscreteGaussian
                ):
                    rho += moved.l2_squared / (2 * square)
                case RoundedGaussianLaw(sigma_squared=square) if isinstance(
                    request.mechanism, RoundedGaussian
                ):
                    mu_squared += moved.l2_squared / square
                case RoundedGaussianLaw(sigma_squared=square):
                    epsilon, delta = epsilon + cost.epsilon, delta + cost.delta
                    assert cost.delta >= gaussian_delta(
                        sigma_squared=square, l2_squared=moved.l2_squared, epsilon=cost.epsilon
                    )
                case DiscreteGaussianLaw():  # one count, calibrated to its own probabilities
                    epsilon, delta = epsilon + cost.epsilon, delta + cost.delta
        if accounting is Accounting.CONCENTRATED:
            assert rho == share.rho
        elif accounting is Accounting.GAUSSIAN:
            assert mu_squared == share.mu_squared
        else:
            assert (epsilon, delta <= share.delta) == (share.epsilon, True)


def test_change_one_doubles_the_noise_of_a_histogram_and_of_a_centred_sum(make_schema):
    scales = {}
    for adjacency in ("add-remove", "change-one"):
        prospect = prepare(
            make_schema(adjacency),
            budget=Budget(epsilon=1),
            workload=["marginals(sex)", "means(age)"],
        )
        scales[adjacency] = [
            float(entry["l1_sensitivity"]) for part in prospect.parts for entry in part.noise()
        ]
    assert scales["add-remove"] == [1, 99, 1]  # 99 half-years from the middle of 0..99
    assert scales["change-one"] == [2, 198, 1]


def test_a_unit_of_three_rows_triples_the_noise(make_schema):
    for workload in ("marginals(sex)", "means(age)", "sums(income)"):
        alone, three = (
            prepare(make_schema(identifier=many), budget=Budget(epsilon=1), workload=workload)
            .parts[0]
            .noise()
            for many in (False, True)
        )
        assert [entry["l1_sensitivity"] for entry in three] == [
            3 * entry["l1_sensitivity"] for entry in alone
        ]


def test_a_mean_never_divides_by_a_secret_number_of_rows(make_schema):
    exclude = 'nulls = "exclude"'
    named = "mean-of-all-rows"
    public = make_schema("change-one", age=exclude)
    assert algorithm_for(Means("age"), public).name == named
    for schema in (
        make_schema(age=exclude),
        make_schema("change-one", identifier=True, age=exclude),
        make_schema("change-one"),
    ):
        assert algorithm_for(Means("age"), schema).name == "mean-of-values"
        with pytest.raises(BadInput, match="over all rows"):
            algorithm_for(Means("age"), schema, named=named)


def test_a_mean_leaves_out_nulls_and_what_the_schema_leaves_out(
    engines, ledger, make_schema, make_person, watch
):
    noise = watch()
    rows = [make_person(age=each) for each in (10, 20, None, float("nan"), 500, "text")]
    release(rows, make_schema(), budget=Budget(epsilon=1), workload="means(age)", ledger=ledger)
    total, count = (int(each[0]) for each in noise.exact)
    assert count == 3  # 10, 20 and 500, which is clamped to 99
    assert Fraction(total, 2) == (10 + 20 + 99) - 3 * Fraction(99, 2)


def test_a_delta_that_buys_nothing_is_not_charged(make_schema):
    """For one table Laplace noise is smaller than Gaussian noise at a small delta."""
    prospect = prepare(
        make_schema(), budget=Budget(epsilon="1/10", delta=1e-6), workload="marginals(sex)"
    )
    assert prospect.accounting is Accounting.BASIC
    assert prospect.charge == Budget(epsilon="1/10")
    assert prospect.parts[0].share == Budget(epsilon="1/10")


def test_a_delta_beside_a_rho_is_not_charged(make_schema):
    prospect = prepare(
        make_schema(), budget=Budget(rho="1/10", delta=1e-6), workload="marginals(sex)"
    )
    assert prospect.charge == Budget(rho="1/10")


def test_columns_are_found_as_a_sql_engine_folds_their_names(make_schema):
    (part,) = prepare(make_schema(), budget=Budget(epsilon=1), workload="marginals(SEX, Age)").parts
    assert part.requests[0].query.columns == ("age", "sex")
    with pytest.raises(BadInput, match="twice"):
        prepare(make_schema(), budget=Budget(epsilon=1), workload="marginals(sex, SEX)")


@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1/100"])
def test_a_delta_never_makes_a_release_worse(make_schema, delta):
    workload = ["marginals(1)", "marginals(2)", "marginals(3)", "means(age)", "sums(income)"]
    errors = []
    for budget in (Budget(epsilon=1), Budget(epsilon=1, delta=delta)):
        prospect = prepare(make_schema(), budget=budget, workload=workload)
        assert budget.covers(prospect.charge)
        errors.append(
            sum(
                math.log(part.error(rows=10**6, confidence=0.95).expected)
                for part in prospect.parts
            )
        )
    assert errors[1] <= errors[0]


def test_many_tables_at_a_large_delta_get_gaussian_noise_whose_squares_of_mu_add():
    columns = "\n".join(f'[columns.c{k}]\nkind = "boolean"' for k in range(12))
    schema = Schema.loads(f'dataset = "wide"\n{columns}')
    prospect = prepare(schema, budget=Budget(epsilon=1, delta=1e-6), workload="marginals(2)")
    assert prospect.accounting is Accounting.GAUSSIAN
    assert prospect.charge == Budget(epsilon=1, delta=1e-6)
    assert {entry["law"]["kind"] for entry in prospect.parts[0].noise()} == {"rounded-gaussian"}


def test_one_gaussian_table_uses_the_analytic_calibration(make_schema):
    """A histogram under change-one moves by 2 in L1 and sqrt(2) in L2, which favours Gaussian noise."""
    budget = Budget(epsilon="1/10", delta="1/10")
    prospect = prepare(make_schema("change-one"), budget=budget, workload="marginals(sex)")
    (entry,) = prospect.parts[0].noise()
    assert prospect.accounting is Accounting.BASIC
    assert entry["law"]["kind"] == "rounded-gaussian"
    assert prospect.charge == budget


def test_larger_tables_get_more_of_the_budget_and_the_total_squared_error_falls(make_schema):
    schema = make_schema()
    for accounting, share in [
        (Accounting.BASIC, Budget(epsilon=1)),
        (Accounting.CONCENTRATED, Budget(rho="1/10")),
    ]:
        algorithm = DirectMarginals()
        split = algorithm.prepare(Marginals(1), schema, share=share, accounting=accounting)
        total = sum(law.variance * size for law, size in zip(split.laws, split.sizes, strict=True))
        even = 0.0
        for request, size in zip(split.requests, split.sizes, strict=True):
            one = algorithm.prepare(
                Marginals(*request.query.columns),
                schema,
                share=share.times(Fraction(1, len(split.sizes))),
                accounting=accounting,
            )
            even += one.laws[0].variance * size
        assert total < even


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplaceLaw(Fraction(1, 3)),
        DiscreteLaplaceLaw(Fraction(50)),
        DiscreteGaussianLaw(Fraction(1, 2)),
        DiscreteGaussianLaw(Fraction(10**9)),
        RoundedGaussianLaw(Fraction(7)),
    ],
    ids=str,
)
def test_the_mean_absolute_noise_agrees_with_a_plain_sum_over_the_law(law):
    reach = math.ceil(30 * law.std) + 40
    step = max(1, reach // 2_000_000)
    places = np.arange(-reach, reach + 1, step)
    plain = float(np.abs(places) @ np.asarray(law.pmf(places))) * step
    assert law.mean_absolute() == pytest.approx(plain, rel=3e-4)
    assert mean_absolute_of_two(1.0, law, 0.0, law) == pytest.approx(plain, rel=3e-4)


def test_the_mean_absolute_value_of_two_laplace_draws_agrees_with_the_closed_form():
    """Continuous Laplace scales u, v: (u^2 + uv + v^2) / (u + v)."""
    u, v = 3000.0, 500.0
    found = mean_absolute_of_two(
        1.0, DiscreteLaplaceLaw(Fraction(3000)), 2.0, DiscreteLaplaceLaw(Fraction(250))
    )
    assert found == pytest.approx((u * u + u * v + v * v) / (u + v), rel=1e-3)


def test_the_simultaneous_bound_is_the_smallest_that_all_draws_keep():
    laws = [(DiscreteLaplaceLaw(Fraction(2)), 30), (DiscreteGaussianLaw(Fraction(40)), 70)]
    bound = simultaneous_bound(laws, 0.95)

    def kept(h):
        return math.prod((law.cdf(h) - law.cdf(-h - 1)) ** size for law, size in laws)

    assert kept(bound) >= 0.95 > kept(bound - 1)


CLAIMED = ["marginals(2)", "means(age)", "means(income)", "sums(income)"]


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_error_claims_hold_as_often_as_they_say(make_schema, adjacency, budget):
    """3,000 draws of all noise. A true 95% claim falls below 92.5% with probability under 1e-8 (binomial);
    caught almost surely: a claim that holds in 90% or fewer of the runs."""
    schema = make_schema(adjacency, age='nulls = "exclude"')
    draws = 3_000
    rows, ages, incomes = 400, 31 * 400, 400 * 5
    noise = DrawnNoise()
    named = {"marginals(2)": "direct"}
    for part in prepare(schema, budget=budget, workload=CLAIMED, algorithms=named).parts:
        truths = {
            "age": (Fraction(ages), rows),
            "income": (Fraction(incomes), rows),
        }
        exact, drawn = [], []
        sizes = [each.query.size(schema) for each in part.requests if each.query.kind == "marginal"]
        in_tables = 1000 * math.lcm(*sizes)  # all tables are of the same rows, evenly spread
        for request in part.requests:
            query = request.query
            law = request.mechanism.law(query.sensitivity(schema), size=query.size(schema))
            size = query.size(schema)
            if query.kind == "marginal":
                exact.append(np.full(size, in_tables // size))
            elif query.kind == "present-count":
                exact.append(np.array([rows]))
            else:
                total, count = truths[query.column]
                exact.append(np.array([int((total - count * query.center) * query.grid)]))
            drawn.append(noise.draw(law, draws * size).reshape(draws, size))
        held: dict[bool, int] = {}
        for place in range(draws):
            measured = [
                Measurement(
                    query=request.query,
                    law=part.laws[index] if hasattr(part, "laws") else part.law,
                    sensitivity=request.query.sensitivity(schema),
                    cost=request.mechanism.cost(),
                    values=exact[index] + drawn[index][place],
                )
                for index, request in enumerate(part.requests)
            ]
            if part.query_class.name == "marginals":
                worst = max(int(np.abs(drawn[index][place]).max()) for index in range(len(exact)))
                if place == 0:
                    _, claims = part.finish(None, measured, public_rows=in_tables, confidence=0.95)
                for claim in claims:
                    error = worst if claim.simultaneous else abs(int(drawn[-1][place][0]))
                    held[claim.simultaneous] = held.get(claim.simultaneous, 0) + (
                        error <= claim.bound
                    )
            else:
                made, (claim,) = part.finish(None, measured, public_rows=rows, confidence=0.95)
                (estimate,) = made.estimates.values()
                column = part.query_class.column
                total, count = truths[column]
                truth = float(total) if part.query_class.name == "sums" else float(total / count)
                held[True] = held.get(True, 0) + (
                    abs(float(estimate[0]) - truth) <= claim.bound + 1e-9
                )
        assert min(held.values()) >= 0.925 * draws
