"""What the clients' own code says, with which exact probability: no ratio exceeds e^epsilon."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from discreet.errors import BadBudget, BadInput
from discreet.local.clients.drawing import randomised
from discreet.local.protocols import LocalHashing, Piecewise, RandomisedResponse, UnaryEncoding
from discreet.local.protocols.protocol import lower_exp, upper_log
from tests.local.enumerating import exact_law

SMALL = {
    "two coins": RandomisedResponse.two_coins(),
    "three answers": RandomisedResponse(truth=Fraction(3, 5), answers=3),
    "unary": UnaryEncoding(values=3, stray=Fraction(1, 4)),
    "hashing": LocalHashing(values=4, response=RandomisedResponse(truth=Fraction(3, 5), answers=2)),
    "hashing, base 3": LocalHashing(
        values=5, response=RandomisedResponse(truth=Fraction(1, 2), answers=3)
    ),
    "piecewise": Piecewise(cells=3, width=2, likely=3, unlikely=1),
    "piecewise, wide": Piecewise(cells=2, width=4, likely=5, unlikely=2),
}


def points(protocol) -> int:
    return protocol.cells + 1 if isinstance(protocol, Piecewise) else protocol.values


def laws(protocol, monkeypatch):
    def told(value):
        report = randomised(protocol, [value])[0]
        return tuple(int(bit) for bit in report) if np.ndim(report) else int(report)

    return [
        exact_law(lambda value=value: told(value), monkeypatch) for value in range(points(protocol))
    ]


@pytest.mark.parametrize("name", SMALL)
def test_the_largest_likelihood_ratio_is_exactly_what_the_protocol_costs(name, monkeypatch):
    protocol = SMALL[name]
    found = laws(protocol, monkeypatch)
    assert all(sum(law.values()) == 1 for law in found)
    assert all(set(law) == set(found[0]) for law in found)
    largest = max(
        one[report] / other[report] for one, other in permutations(found, 2) for report in one
    )
    assert upper_log(largest) == protocol.epsilon


@pytest.mark.parametrize("name", [name for name in SMALL if "piecewise" not in name])
def test_a_report_speaks_for_values_as_often_as_the_collector_believes(name, monkeypatch):
    protocol = SMALL[name]
    for value, law in enumerate(laws(protocol, monkeypatch)):
        for asked in range(protocol.values):
            spoken = sum(
                weight
                for report, weight in law.items()
                if protocol.support(np.array([report]))[asked]
            )
            assert spoken == (protocol.speaks_true if asked == value else protocol.speaks_other)


@pytest.mark.parametrize("name", [name for name in SMALL if "piecewise" in name])
def test_the_moments_of_a_number_s_report_are_those_of_its_law(name, monkeypatch):
    protocol = SMALL[name]
    c0, c1, c2 = protocol.second_moment()
    for point, law in enumerate(laws(protocol, monkeypatch)):
        first = sum(report * weight for report, weight in law.items())
        second = sum(report**2 * weight for report, weight in law.items())
        assert first == protocol.middle + protocol.slope * point
        assert second == c0 + c1 * point + c2 * point**2


@pytest.mark.parametrize("values", [2, 3, 17, 300])
@pytest.mark.parametrize(
    "epsilon", [Fraction(n, 60) for n in (3, 7, 20, 31, 60, 61, 119, 240, 480)]
)
def test_protocols_for_an_epsilon_never_cost_more_and_waste_little(epsilon, values):
    limit = lower_exp(epsilon)
    response = RandomisedResponse.for_epsilon(epsilon, answers=values)
    unary = UnaryEncoding.for_epsilon(epsilon, values=values)
    hashing = LocalHashing.for_epsilon(epsilon, values=values).response
    number = Piecewise.for_epsilon(epsilon)
    for odds in (
        response.truth * (response.answers - 1) / (1 - response.truth),
        (1 - unary.stray) / unary.stray,
        hashing.truth * (hashing.answers - 1) / (1 - hashing.truth),
        Fraction(number.likely, number.unlikely),
    ):
        assert limit * Fraction(9_999, 10_000) < odds <= limit


def test_values_that_were_not_declared_are_refused():
    with pytest.raises(BadInput, match="outside the 2 declared"):
        randomised(RandomisedResponse.two_coins(), [2])
    with pytest.raises(BadBudget, match="at most 20"):
        RandomisedResponse.for_epsilon(Fraction(30))
    with pytest.raises(BadInput, match="hash functions"):
        LocalHashing.for_epsilon(Fraction(1), values=10**9)
