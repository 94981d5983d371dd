"""Incidence inference on what was really released: heavy parts chosen on noisy answers, of a release and of a curator."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas
import pytest

import discreet as dc
from discreet.answering import ReleaseReader
from discreet.artifacts.files import write_release
from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.errors import BadInput, NotAnswerable
from discreet.families.tables.estimate.consistent import ConsistentTables, DirectTable
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.theory.incidence import infer_conditional, infer_incidence
from tests.releasing import release

PARTS = 100
SCHEMA = f"""
dataset = "people"
[cap]
epsilon = "10"
[columns.smoker]
kind = "boolean"
[columns.sick]
kind = "boolean"
[columns.old]
kind = "boolean"
[columns.lot]
kind = "integer"
range = [0, {PARTS - 1}]
[columns.town]
kind = "integer"
range = [0, 29]
"""
WORKLOAD = "marginals(smoker, lot; sick, lot)"
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def people(rows=100_000):
    """70% of the smokers are sick. The lot is drawn; the town is not, for smokers live in other towns."""
    public = np.random.default_rng(21)
    smoker = public.random(rows) < 0.4
    sick = public.random(rows) < np.where(smoker, 0.7, 0.3)
    town = np.where(smoker, public.integers(0, 20, rows), public.integers(10, 30, rows))
    old = public.random(rows) < 0.5
    lot = public.integers(0, PARTS, rows)
    return pandas.DataFrame({"smoker": smoker, "sick": sick, "old": old, "lot": lot, "town": town})


def released(folder, workload):
    return ReleaseReader(
        release(
            people(), dc.Schema.loads(SCHEMA), budget=dc.Budget(epsilon=8), workload=[workload],
            algorithms={workload: "direct"}, ledger=folder / f"{len(list(folder.iterdir()))}.db",
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """Noise far below the luck of the lots, which is fixed: the estimate is nearly the same in every run."""
    return released(tmp_path_factory.mktemp("incidence"), WORKLOAD)


def test_two_conditions_together_follow_from_a_release_of_each_alone(reader):
    """The lots of this table give .72 +- .15 without noise. The noise adds less than .01 (six deviations of it), and
    may decide about lots at the edge of the heavy ones, of which each moves the estimate by about .035."""
    found = infer_incidence(reader, "smoker", "sick", by="lot")
    table = people()
    counts = [
        table[table[name]].groupby("lot").size().to_numpy(dtype=float)
        for name in ("smoker", "sick")
    ]
    without_noise = infer_conditional(
        *counts, first_total=counts[0].sum(), second_total=counts[1].sum(), noise_variance=0,
        share=1 / PARTS,
    ).estimate  # fmt: skip
    assert abs(found.conditional.estimate - without_noise) < 0.15
    assert abs(found.conditional.estimate - 0.7) < 3 * found.std and 0.05 < found.std < 0.25
    assert found.times_worse == found.std / found.direct_std > 100
    assert found.rows_with_both == found.conditional.estimate * found.rows_with_first


def test_counts_of_two_and_of_one_attribute_give_those_of_three(tmp_path):
    reader = released(tmp_path, "marginals(smoker, old, lot; sick, lot)")
    found = infer_incidence(reader, "smoker AND old", "sick", by="lot")
    assert abs(found.conditional.estimate - 0.7) < 3 * found.std
    assert abs(reader.noise_covariance("smoker", "old", by="lot")) < 1  # of variances of 1/2


def test_a_curator_answers_two_questions_and_charges_for_them_alone(tmp_path):
    schema = dc.Schema.loads(SCHEMA)
    with dc.Curator(people(), schema, ledger=tmp_path / "ledger.db") as curator:
        found = infer_incidence(curator, "smoker", "sick", by="lot", budget=dc.Budget(epsilon=4))
    with dc.Ledger.open(tmp_path / "ledger.db") as ledger:
        charged = ledger.entries()
    assert [str(each.cost) for each in charged] == ["epsilon 4", "epsilon 4"]
    assert abs(found.conditional.estimate - 0.7) < 3 * found.std


def test_a_column_that_does_not_split_at_random_is_refused(tmp_path, capsys):
    reader = released(tmp_path, "marginals(smoker, town; sick, town)")
    with pytest.raises(NotAnswerable, match="at random"):
        infer_incidence(reader, "smoker", "sick", by="town")
    with pytest.raises(BadInput, match="at least 20 random parts"):
        infer_incidence(reader, "town >= 5", "town < 20", by="smoker")
    write_release(reader.release, tmp_path / "people.release")
    asked = ["theory", "incidence", str(tmp_path / "people.release")]
    asked += ["--first", "smoker", "--second", "sick", "--by", "town"]
    assert run(application, asked) == 2
    assert "at random" in capsys.readouterr().err


def test_the_command_says_what_the_function_says(reader, tmp_path, capsys):
    write_release(reader.release, tmp_path / "people.release")
    asked = ["theory", "incidence", str(tmp_path / "people.release"), "--first", "smoker"]
    asked += ["--second", "sick", "--by", "lot"]
    assert run(application, asked) == 0
    assert "times that of counting both together" in capsys.readouterr().out
    assert run(application, [*asked, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads(
        json.dumps(infer_incidence(reader, "smoker", "sick", by="lot").to_dict())
    )


def test_noise_that_both_counts_share_is_taken_off():
    """10^5 parts with a fixed seed: without a common cause P(b | a) is that of independence, however the noise is shared."""
    public = np.random.default_rng(22)
    parts, rows = 100_000, 400.0
    first, second = public.poisson(rows, (2, parts)).astype(float)
    shared = public.normal(0, 20, parts)
    found = infer_conditional(
        first + shared, second + shared, first_total=rows * parts, second_total=rows * parts,
        noise_variance=400.0, share=1 / parts, noise_covariance=400.0,
    )  # fmt: skip
    assert found.uncorrected > 0.45 and found.estimate < 0.05


def test_the_covariance_of_two_answers_is_that_of_the_draws_they_are_made_of():
    """Every measured number is moved by one, one after the other: what both answers move by is their coefficient. Exact."""
    schema = dc.Schema.loads(SCHEMA.replace(f"[0, {PARTS - 1}]", "[0, 4]"))
    public = np.random.default_rng(23)
    columns = [("smoker", "lot"), ("sick", "lot"), ("smoker", "sick")]
    laws = [DiscreteLaplaceLaw(scale=each) for each in (2, 3, 5)]
    counts = [public.integers(0, 9, schema.sizes(each)) for each in columns]

    def put_together(numbers):
        tables = [DirectTable(*each) for each in zip(columns, numbers, laws, strict=True)]
        return ConsistentTables(ResidualTables(schema, ()), tables)

    weights = {each: public.normal(size=schema.sizes(each)) for each in [*columns, ("lot",)]}
    whole = put_together(counts)
    for one, other in combinations(weights, 2):
        total = 0.0
        for place, law in enumerate(laws):
            for cell in np.ndindex(counts[place].shape):
                moved = [each.copy() for each in counts]
                moved[place][cell] += 1
                after = put_together(moved)
                steps = [
                    float(((after.table(own) - whole.table(own)) * weights[own]).sum())
                    for own in (one, other)
                ]
                total += law.variance * steps[0] * steps[1]
        found = whole.covariance(one, weights[one], other, weights[other])
        assert found == pytest.approx(total, rel=1e-9, abs=1e-9)
