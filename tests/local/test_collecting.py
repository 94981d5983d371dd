"""Estimates of the local model: unbiased, of the promised variance, inside their intervals as often as they say."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet import local
from discreet.errors import BadInput
from discreet.local.clients.drawing import randomised
from discreet.local.clients.perturbing import _points
from discreet.local.collector.frequencies import score_interval
from discreet.local.collector.heavy_hitters import PrefixSearch
from discreet.local.planning import central_and_local, plan
from discreet.local.protocols.protocol import variance_of_share
from discreet.local.question import PROTOCOLS, Question


def population(values: int, people: int) -> np.ndarray:
    weights = 1 / np.arange(1, values + 1)
    counts = np.floor(weights / weights.sum() * people).astype(int)
    counts[0] += people - counts.sum()
    return np.repeat(np.arange(values), counts)


@pytest.mark.parametrize(
    ("protocol", "values", "rounds"),
    [("randomised-response", 40, 600), ("unary-encoding", 60, 150), ("local-hashing", 400, 60)],
)
def test_shares_have_the_variance_of_the_theory_and_intervals_hold_as_often_as_they_say(
    protocol, values, rounds
):
    """At least 9,000 squared errors: a relative deviation of 9% is 6 standard errors, a variance 15% off is caught.

    Coverage: at least 9,000 intervals, .95 +- 6 standard errors lies inside [.935, .97]; the Hoeffding
    interval, which covers .997, is caught.
    """
    question = Question.category("x", [str(n) for n in range(values)], epsilon=1, protocol=protocol)
    people = 3_000
    true = population(values, people)
    shares = np.bincount(true, minlength=values) / people
    errors, held = [], []
    for _ in range(rounds):
        found = local.estimate(question, randomised(question.value_protocol, true))
        errors.append(found.shares - shares)
        held.append((found.lower <= shares) & (shares <= found.upper))
    expected = np.array(
        [variance_of_share(question.value_protocol, people, share) for share in shares]
    )
    assert np.mean(np.square(errors) / expected) == pytest.approx(1, abs=0.09)
    assert abs(np.mean(errors, axis=0) / np.sqrt(expected / rounds)).max() < 6.5
    assert 0.935 <= np.mean(held) <= 0.97


def test_a_mean_is_unbiased_and_its_interval_holds():
    """1,500 intervals: .95 +- 6 standard errors is [.916, .984]."""
    question = Question.number("hours", 0, 80, epsilon=2)
    hours = np.random.default_rng(1).uniform(10, 50, 400)
    held, errors = [], []
    for _ in range(1_500):
        found = local.estimate(question, local.perturb(question, hours))
        errors.append((found.estimate - hours.mean()) / found.std)
        held.append(found.lower <= hours.mean() <= found.upper)
    assert abs(np.mean(errors)) < 6 / np.sqrt(1_500)
    assert 0.916 <= np.mean(held) <= 0.984


def test_the_score_interval_holds_what_the_count_allows():
    """By hand: at p 3/4, q 1/4, n 100 and 50 spoken, the ends solve (f/2 + 1/4 - .5 -+ .005)^2 = z^2 3/16/100."""
    low, high = score_interval(np.array([0.5]), 0.75, 0.25, 100, 0.95)
    half = (1.959964 * np.sqrt(3 / 16 / 100) + 0.005) * 2
    assert low[0] == pytest.approx(0.5 - half, abs=1e-6)
    assert high[0] == pytest.approx(0.5 + half, abs=1e-6)


def test_batches_add_up_to_the_same_estimate():
    question = Question.category("x", ["a", "b", "c"], epsilon=1)
    reports = local.perturb(question, ["a", "b", "c", "a"] * 50)
    collector = local.Collector(question)
    for part in np.array_split(reports, 3):
        collector.add(part)
    whole = local.estimate(question, reports)
    assert collector.estimate().to_dict() == whole.to_dict()
    assert whole.plausible().sum() == pytest.approx(1) and whole.plausible().min() >= 0


def test_reports_that_cannot_be_reports_are_refused():
    question = Question.category("x", ["a", "b"], epsilon=1)
    with pytest.raises(BadInput, match="outside the 2 answers"):
        local.estimate(question, np.array([0, 5]))
    with pytest.raises(BadInput, match="no report yet"):
        local.estimate(question, np.array([], dtype=np.int64))
    number = Question.number("n", 0, 1, epsilon=1)
    with pytest.raises(BadInput, match="possible ones"):
        local.estimate(number, np.array([10**7, 1]))


def test_heavy_hitters_are_those_that_are_surely_heavy():
    """The heavy share of .5 is 14 standard errors above .3; nobody else has more than .06."""
    question = Question.category("x", [str(n) for n in range(100)], epsilon=2)
    true = ["7"] * 5_000 + [str(n % 20) for n in range(5_000)]
    found = local.estimate(question, local.perturb(question, true), confidence=1 - 1e-8)
    assert [value for value, *_ in local.heavy_hitters(found, least=0.3)] == ["7"]


def test_a_search_by_beginnings_finds_a_heavy_value_of_a_huge_domain():
    """Each group has 20,000 people: a share of .5 is more than 15 standard errors at every length."""
    search = PrefixSearch(bits=40, epsilon=Fraction(2), first=8, step=8)
    groups = len(search.lengths)
    draws = np.random.default_rng(3)
    secret = 0xABCDEF0123 & ((1 << 40) - 1)
    reports = []
    for group in range(groups):
        values = np.where(draws.random(20_000) < 0.5, secret, draws.integers(0, 1 << 40, 20_000))
        reports.append(randomised(search.protocol, search.codes(values, group)))
    found = search.found(reports, least=0.25, confidence=1 - 1e-9)
    assert [value for value, _ in found] == [secret]
    assert [search.group_of(person) for person in range(3)] == [0, 1, 2]


def test_a_client_repeats_its_report_and_counts_what_it_spent():
    """Fresh answers at epsilon 1/10 would all be equal in 40 repetitions with probability below 1e-11."""
    question = Question.category("x", ["a", "b"], epsilon="1/10")
    client = local.Client()
    assert len({client.answer(question, "a") for _ in range(40)}) == 1
    assert client.spent() == Fraction(1, 10)
    again = local.Client.restored(client.remembered())
    assert again.answer(question, "a") == client.answer(question, "a")
    client.answer(Question.category("x 2027", ["a", "b"], epsilon="1/10"), "a")
    assert client.spent() == Fraction(1, 5)


def test_no_report_tells_that_an_answer_has_changed():
    """Drawn anew, the report of the changed answer would differ in half of 60 questions: never in none (2^-60)."""
    for number in range(60):
        question = Question.category(f"x {number}", ["a", "b"], epsilon="1/10")
        client = local.Client()
        assert len({client.answer(question, true) for true in "abba"}) == 1
        assert client.spent() == Fraction(1, 10)


def test_an_undeclared_answer_stops_no_client_and_counts_as_any_value():
    """At epsilon 20 reports are nearly the truth: 200 undeclared answers are all of one value with 2^-199."""
    question = Question.category("x", ["a", "b"], epsilon=20)
    assert set(local.perturb(question, ["secret word"] * 200).tolist()) == {0, 1}
    assert len(local.perturb(question, ["a", None, ""])) == 3


def test_odd_numbers_stop_no_client():
    question = Question.number("n", 0, 10, epsilon=1)
    reports = local.perturb(question, ["nan", "", None, float("inf"), -(10.0**300), "7.5"])
    assert len(reports) == 6


class Unspeakable:
    """Neither a text nor a number."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __float__(self) -> float:
        raise RuntimeError("no number")


def test_no_answer_stops_a_client_whatever_it_is():
    odd = [
        10**400,
        -(10**400),
        Fraction(10**400),
        Decimal("sNaN"),
        "9" * 5_000,
        10**5_000,
        Unspeakable(),
        b"x",
        1j,
    ]
    assert len(local.perturb(Question.category("x", ["a", "b"], epsilon=1), odd)) == len(odd)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for low, high in (
            (0, 10),
            ("-1.7e308", "1.7e308"),
            ("1e-320", "2e-320"),
            (1, "1.00000000000000000001"),
        ):
            question = Question.number("n", low, high, epsilon=1)
            assert (
                len(local.perturb(question, [*odd, 1.7e308, -1.7e308, 0.0, 5e-324, 1]))
                == len(odd) + 5
            )
    points = _points(
        Question.number("n", 0, 10, epsilon=1), [10**400, Fraction(10**400), -(10**400)], None
    )
    assert points.tolist() == [1024, 1024, 0]


def test_a_question_survives_its_file_and_refuses_what_is_none(tmp_path):
    for question in (
        Question.category("x", ["a", "b", "c"], epsilon="1/3"),
        Question.number("y", "-1", "2.5", epsilon=2),
    ):
        question.save(tmp_path / "q.json")
        assert Question.load(tmp_path / "q.json") == question
    (tmp_path / "q.json").write_text("[]")
    with pytest.raises(BadInput, match="no question"):
        Question.load(tmp_path / "q.json")
    with pytest.raises(BadInput, match="twice"):
        Question.category("x", ["a", "a"], epsilon=1)
    with pytest.raises(BadInput, match="no protocol"):
        Question.category("x", ["a", "b"], epsilon=1, protocol="rappor")


@pytest.mark.parametrize("missing", ["people", "epsilon", "error", "risk"])
def test_any_of_the_four_numbers_of_a_plan_follows_from_the_others(missing):
    whole = plan(people=40_000, epsilon=1.0, risk=0.05).to_dict()
    given = {
        name: whole[name] for name in ("people", "epsilon", "error", "risk") if name != missing
    }
    assert getattr(plan(**given), missing) == pytest.approx(whole[missing], rel=1e-4)


def test_the_lemma_is_kept_by_the_mechanism():
    """Chebyshev is generous: 2,000 runs miss at most a share beta = .2 but for probability below 1e-9."""
    promised = plan(people=500, epsilon=1.0, risk=0.2)
    question = Question.category("x", ["no", "yes"], epsilon=1)
    true = np.array([0] * 300 + [1] * 200)
    off = []
    for _ in range(2_000):
        found = local.estimate(question, randomised(question.value_protocol, true))
        off.append(abs(found.shares[1] - 0.4) > promised.error)
    assert np.mean(off) <= 0.2


def test_impossible_plans_are_refused_with_the_reason():
    with pytest.raises(BadInput, match="exactly three"):
        plan(people=10, epsilon=1)
    with pytest.raises(BadInput, match="No epsilon is large enough"):
        plan(people=10, error=0.01, risk=0.05)
    with pytest.raises(BadInput, match="promises nothing"):
        plan(people=10, epsilon=0.1, error=0.01)


def test_a_trusted_curator_needs_far_fewer_people():
    for people, central, own in central_and_local(1.0, [100, 10_000, 1_000_000]):
        assert central < own
        assert own / central == pytest.approx(own * people / np.log(20))


@pytest.mark.parametrize(
    ("epsilon", "values", "expected"),
    [(1, 2, "randomised-response"), (1, 1000, "local-hashing"), (4, 20, "randomised-response")],
)
def test_the_protocol_of_least_variance_is_chosen(epsilon, values, expected):
    assert expected in PROTOCOLS
    assert (
        Question.category("x", [str(n) for n in range(values)], epsilon=epsilon).protocol
        == expected
    )
