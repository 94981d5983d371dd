"""A noise law from outside `src`: registered by three lines, it does all that the built-in ones do."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audits.guessing.laws import checked_law
from discreet.audits.guessing.releases import audit_release
from discreet.audits.guessing.tables import GeneratedTable
from discreet.core.noise import DrawnNoise
from discreet.errors import BadInput, BadRelease
from discreet.families.shared.estimate.combination import half_width
from discreet.families.shared.release import noise_choice
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.laws import DiscreteLaplaceLaw, law_from_dict
from discreet.privacy.laws import law as law_table
from discreet.privacy.laws.law import characteristic_by_enumeration
from discreet.privacy.laws.sums import sum_half_width
from discreet.releases.verifying import verify
from discreet.samplers import laws as sampler_table
from tests.extending.staircase import StaircaseLaw, draw_staircase, offer_staircase
from tests.harness.replay import check_neighbours
from tests.harness.suite import ShrunkNoise
from tests.releasing import release

SCHEMA = dc.Schema.loads(
    """
dataset = "people"
adjacency = "add-remove"
[columns.pay]
kind = "integer"
range = [0, 120]
"""
)
BUDGET = dc.Budget(epsilon=4)
PAY = np.arange(121).repeat(20)
FRAME = pd.DataFrame({"pay": PAY})
LAW = StaircaseLaw(Fraction(4), Fraction(120), Fraction(14))
SUM = "SELECT sum(pay) FROM people"


@pytest.fixture
def registered(monkeypatch):
    """What a plug-in does, undone after the test."""
    monkeypatch.setattr(law_table, "LAWS", dict(law_table.LAWS))
    monkeypatch.setattr(sampler_table, "SAMPLERS", dict(sampler_table.SAMPLERS))
    monkeypatch.setattr(noise_choice, "OFFERS", list(noise_choice.OFFERS))
    law_table.register(StaircaseLaw)
    sampler_table.register(StaircaseLaw, draw_staircase)
    noise_choice.OFFERS.append(offer_staircase)


@pytest.fixture
def file(registered, tmp_path):
    path = tmp_path / "people.release"
    dc.release_to_file(
        FRAME, SCHEMA, path, budget=BUDGET, workload=[dc.Sums("pay")], ledger=tmp_path / "ledger.db"
    )
    return path


def test_the_law_is_what_its_probabilities_say():
    k = np.arange(-6000, 6001)
    mass = LAW.pmf(k)
    assert mass.sum() == pytest.approx(1, rel=1e-12)
    assert LAW.variance == pytest.approx(float(mass @ k.astype(float) ** 2), rel=1e-9)
    assert LAW.cdf(k)[6000:6400] == pytest.approx(np.cumsum(mass)[6000:6400], rel=1e-12)
    t = np.linspace(-3, 3, 41)
    listed = characteristic_by_enumeration(LAW, t, most=6000)
    assert LAW.characteristic(t) == pytest.approx(listed, abs=1e-12)
    small = np.linspace(0, LAW.mgf_limit / 2, 9)
    grown = np.log(np.exp(np.multiply.outer(small, k)) @ mass)
    assert LAW.log_mgf(small) == pytest.approx(grown, abs=1e-9)


def test_its_cost_is_the_largest_ratio_of_its_probabilities():
    k = np.arange(-3000, 3001)
    for moved in (1, 14, 120, 121, 240, 241):
        ratio = np.abs(np.log(LAW.pmf(k)) - np.log(LAW.pmf(k - moved))).max()
        cost = LAW.cost(Sensitivity(moved, moved**2), size=1)
        assert ratio == pytest.approx(float(cost.epsilon), rel=1e-9)


def test_sums_of_it_get_the_half_widths_of_any_law():
    """Against its masses, convolved."""
    narrow = StaircaseLaw(Fraction(1), Fraction(5), Fraction(2))
    k = np.arange(-400, 401)
    two = np.convolve(narrow.pmf(k), narrow.pmf(k))
    inside = two[800] + 2 * np.concatenate([[0.0], np.cumsum(two[801:])])
    for miss in ("0.2", "0.05", "0.001"):
        exact = int(np.searchsorted(inside, 1 - float(miss)))
        assert sum_half_width(narrow, 2, 1 - Fraction(miss)) == exact
        mixed = half_width([(1.0, narrow, 2), (0.5, LAW, 1)], 1 - Fraction(miss))
        assert mixed >= max(exact, 0.5 * LAW.half_width(1 - Fraction(miss)))


def test_its_envelope_bounds_its_exponential_moments():
    around = LAW.envelope()
    t = np.linspace(0, 1 / (2 * around.scale), 50)
    assert (LAW.log_mgf(t) <= around.variance * t**2 / 2 + 1e-12).all()


@pytest.mark.usefixtures("registered")
def test_its_sampler_draws_it():
    """Exact binomial tests of 200,000 draws: false alarm 1e-6; noise a sixth too narrow is refuted."""
    nothing = np.zeros(200_000, dtype=np.int64)
    assert not checked_law(LAW, DrawnNoise().add(nothing, LAW, step="1")).refuted(1e-6)
    shrunk = ShrunkNoise(Fraction(6, 5)).add(nothing, LAW, step="1")
    assert checked_law(LAW, shrunk).refuted(1e-6)


@pytest.mark.usefixtures("registered")
def test_a_plan_chooses_it_where_it_is_the_better_one():
    planned = dc.plan(SCHEMA, budget=BUDGET, workload=[dc.Sums("pay")], rows=len(PAY))
    (row,) = planned.to_dict()["classes"]
    assert row["expected_error"] < 0.7 * DiscreteLaplaceLaw(Fraction(30)).mean_absolute()
    assert "staircase" in json.dumps(planned.to_dict())


def test_a_release_with_it_is_asked_verified_and_reported(file):
    """False alarm of the distance: 1e-9."""
    opened = dc.open_release(file)
    (measured,) = opened.release.parts[0].measurements
    assert measured.law == LAW == law_from_dict(LAW.to_dict())
    answer = opened.ask(SUM).only
    assert abs(answer.estimate - PAY.sum()) <= LAW.half_width(1 - Fraction(1, 10**9))
    half = LAW.half_width(0.95)
    assert answer.upper - answer.estimate == answer.estimate - answer.lower == half
    checked = verify(file)
    assert checked.ok and checked.total == BUDGET
    page = dc.render_report(opened)
    assert (
        "staircase, standard deviation" in page and "The distribution of the privacy loss" in page
    )


@pytest.mark.usefixtures("registered")
def test_verify_recomputes_its_cost_from_its_law(file):
    made = dc.open_release(file).release
    (part,) = made.parts
    (measured,) = part.measurements
    louder = replace(measured, law=StaircaseLaw(Fraction(5), Fraction(120), Fraction(14)))
    lie = replace(made, parts=(replace(part, measurements=(louder,)),))
    assert "epsilon 5" in " ".join(verify(lie).problems)


@pytest.mark.usefixtures("registered")
def test_a_release_with_it_is_replayed_on_neighbours():
    rows = tuple((str(pay),) for pay in (3, 60, 120))
    table = GeneratedTable(schema=SCHEMA, header=("pay",), rows=rows)
    others = [replace(table, rows=rows[:-1]), replace(table, rows=(*rows, ("7",)))]

    def run(path, ledger, progress):
        return release(
            path, SCHEMA, budget=BUDGET, workload=[dc.Sums("pay")], ledger=ledger, progress=progress
        )

    for losses in check_neighbours(table, others, run):
        assert [loss.epsilon for loss in losses] == [4]


@pytest.mark.usefixtures("registered")
def test_a_release_with_it_is_audited():
    """Refuted with a probability of at most 1e-6; half the noise is seen in 800 runs."""
    asked = {"budget": BUDGET, "workload": [dc.Sums("pay")], "false_positive_rate": 1e-6}
    honest = audit_release(SCHEMA, runs=300, **asked)
    assert not honest.refuted and [check.law for check in honest.laws] == [LAW]
    louder = audit_release(SCHEMA, runs=800, drawn=ShrunkNoise(Fraction(2)), **asked)
    assert louder.refuted


@pytest.mark.usefixtures("registered")
def test_a_curator_answers_with_it(tmp_path):
    """False alarm 1e-9: the interval of a mean holds at every confidence."""
    with dc.Curator(FRAME, SCHEMA, ledger=tmp_path / "l.db", cap=dc.Budget(epsilon=20)) as curator:
        total = curator.ask(SUM, budget=BUDGET, confidence=1 - 1e-9).only
        assert total.lower <= PAY.sum() <= total.upper
        mean = curator.ask(
            "SELECT avg(pay) FROM people", budget=dc.Budget(epsilon=8), confidence=1 - 1e-9
        ).only
        assert mean.lower <= 60 <= mean.upper


def test_a_law_that_is_not_registered_is_neither_drawn_nor_read(file, monkeypatch):
    with pytest.raises(BadInput, match="another sampler"):
        sampler_table.register(StaircaseLaw, lambda law, count, entropy: np.zeros(count))
    monkeypatch.delitem(law_table.LAWS, "staircase")
    monkeypatch.delitem(sampler_table.SAMPLERS, StaircaseLaw)
    with pytest.raises(BadInput, match="No sampler is known"):
        DrawnNoise().draw(LAW, 1)
    with pytest.raises(BadRelease):
        dc.open_release(file)


def test_a_kind_of_law_belongs_to_one_class(registered):
    class Impostor(StaircaseLaw):
        pass

    with pytest.raises(BadInput, match="another noise law of the kind staircase"):
        law_table.register(Impostor)
