"""The textbook's two worked examples come out as printed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.answering import ReleaseReader
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.releases.planning import plan
from discreet.schema import Schema
from tests.releasing import release

AVERAGE_AGE = Schema.loads("""
dataset = "town"
adjacency = "change-one"
people = 10000
[columns.age]
kind = "integer"
range = [0, 100]
nulls = "exclude"
""")

HISTOGRAM = Schema.loads("""
dataset = "village"
[columns.age]
kind = "integer"
range = [0, 99]
width = 10
""")


def test_the_average_age_of_ten_thousand_people_is_planned_with_noise_scale_0_02_and_bound_0_06():
    planned = plan(AVERAGE_AGE, budget=Budget(epsilon="1/2"), workload="means(age)", rows=10_000)
    (age,) = planned.classes
    (noise,) = age.noise
    assert noise["l1_sensitivity"] == 100  # (100 - 0), and over 10,000 people (100 - 0)/n = 0.01
    assert noise["law"] == {"kind": "discrete-laplace", "scale": "200/1"}
    assert Fraction(200, 10_000) == Fraction("0.02")
    assert age.error.expected == pytest.approx(0.02, rel=1e-4)
    assert age.error.half_width == pytest.approx(0.02 * math.log(1 / 0.05), abs=1e-4)
    assert round(age.error.half_width, 2) == 0.06


def test_the_average_age_is_released_with_that_law_and_bound(engines, ledger):
    rows = [{"age": 20 + place % 60} for place in range(10_000)]
    made = release(
        rows, AVERAGE_AGE, budget=Budget(epsilon="1/2"), workload="means(age)", ledger=ledger
    )
    (part,) = made.parts
    (measured,) = part.measurements
    assert measured.law == DiscreteLaplaceLaw(scale=Fraction(200))
    assert made.public_rows == 10_000
    (claim,) = made.claims
    assert round(claim.bound, 2) == 0.06
    truth = sum(row["age"] for row in rows) / 10_000
    # 1e-6: the noise exceeds 14 scales with probability e^-14 < 1e-6.
    assert abs(float(part.estimates["mean"][0]) - truth) < 14 * 0.02
    assert part.facts["nulls"] == "counted as 50"


def test_the_histogram_has_laplace_2_noise_and_whole_counts_that_are_not_negative(
    engines, ledger, watch
):
    watch(lambda size: np.arange(size) - 3)
    made = release(
        [], HISTOGRAM, budget=Budget(epsilon="1/2"), workload="histogram(age)", ledger=ledger
    )
    (part,) = made.parts
    (measured,) = part.measurements
    assert measured.law == DiscreteLaplaceLaw(scale=Fraction(2))
    assert measured.sensitivity.l1 == 1
    assert measured.values.tolist() == [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7]
    asked = ReleaseReader(made).ask(f"SELECT age, count(*) FROM {HISTOGRAM.dataset} GROUP BY age")
    counts = asked.columns[0].estimate
    assert (counts >= 0).all() and (counts == np.rint(counts)).all()
    assert counts.sum() == sum(measured.values) == 22, "they add up to what was measured in all"
    assert (np.diff(counts) >= 0).all() and counts[:4].tolist() == [0, 0, 0, 0]
    assert not part.estimates, "negative counts are set to 0 when they are asked for, not stored"
    assert made.public_rows is None
