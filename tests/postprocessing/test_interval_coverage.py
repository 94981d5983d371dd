"""Intervals of expressions hold as often as they say: measured over many draws of a curator's noise.

The questions are measured once, without noise; then noise is drawn again and again by the recorded laws. The
true answer is what the same work gives without noise, which `test_corpus` compares with DuckDB.

One row of the result is looked at in each draw, so draws are independent. Misses beyond the threshold have
a chance of at most 1e-6 if every interval holds with 95%. With 300 draws a coverage of 0.83 is caught
almost surely; `make trust` draws 20,000 for each construct, which catches 0.943.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet import samplers
from discreet.curator import Curator
from discreet.curator.statements import measure
from discreet.privacy.budget import Budget
from discreet.schema import Schema
from tests.no_noise import without_noise

CONFIDENCE = 0.95
FALSE_POSITIVES = 1e-6
QUESTIONS = {
    "a difference": "SELECT count(*) FILTER (WHERE sex = 'f') - count(*) FILTER (WHERE sex = 'm') AS x FROM people",
    "a weighted sum": "SELECT 2 * count(*) + 3 * count(town) - sum(score) AS x FROM people",
    "a ratio": "SELECT sum(age) / count(age) AS x FROM people",
    "a share": "SELECT 100.0 * count(*) FILTER (WHERE sex = 'f') / count(*) AS x FROM people",
    "a share of the total": "SELECT town, count(*) * 1.0 / sum(count(*)) OVER () AS x FROM people GROUP BY town",
    "a share of few": "SELECT 1.0 * count(*) FILTER (WHERE age = 8) / count(*) FILTER (WHERE age >= 7) AS x FROM people",
    "a ratio near zero": "SELECT (count(*) FILTER (WHERE sex = 'f') - 1280) / count(*) AS x FROM people",
    "a large ratio": "SELECT count(*) * 1.0 / count(*) FILTER (WHERE town = 'oak' AND sex = 'm') AS x FROM people",
    "a negative ratio": "SELECT (count(*) - 5000) / (2000.0 - count(*)) AS x FROM people",
    "a ratio of ratios": "SELECT (count(*) FILTER (WHERE sex = 'f' AND age > 4) * 1.0 / count(*) FILTER (WHERE sex = 'f')) "
    "/ (count(*) FILTER (WHERE sex = 'm' AND age > 4) * 1.0 / count(*) FILTER (WHERE sex = 'm')) AS x FROM people",
    "a product": "SELECT count(*) * avg(age) AS x FROM people",
    "a root": "SELECT sqrt(count(*)) AS x FROM people",
    "a square": "SELECT power(count(*) - 2990, 2) AS x FROM people",
    "the greatest": "SELECT greatest(count(*) FILTER (WHERE sex = 'f'), count(*) FILTER (WHERE sex = 'm')) AS x FROM people",
    "a case": "SELECT CASE WHEN count(*) > 3000 THEN count(town) ELSE count(age) END AS x FROM people",
    "an average of groups": "SELECT avg(n) AS x FROM (SELECT town, count(*) AS n FROM people GROUP BY town) t",
    "sums of groups": "SELECT month(d) AS m, sum(n) AS x FROM (SELECT day AS d, count(*) AS n FROM people GROUP BY day) t GROUP BY 1",
    "the largest group": "SELECT max(n) AS x FROM (SELECT town, count(*) AS n FROM people GROUP BY town) t",
    "a spread of groups": "SELECT stddev(n) AS x FROM (SELECT age, count(*) AS n FROM people GROUP BY age) t",
    "a rank": "SELECT age, rank() OVER (ORDER BY count(*)) AS x FROM people GROUP BY age",
    "a rank by a second key": "SELECT age, rank() OVER (ORDER BY age % 2, count(*)) AS x FROM people GROUP BY age",
    "a part by rank": "SELECT age, ntile(4) OVER (ORDER BY count(*)) AS x FROM people GROUP BY age",
    "the first by noise": "SELECT first_value(n) OVER (ORDER BY n DESC) AS x FROM (SELECT age, count(*) AS n FROM people WHERE age > 0 AND "
    "age < 8 GROUP BY age) t LIMIT 1",
    "how many are large": "SELECT count(*) FILTER (WHERE n > 340) AS x FROM (SELECT age, count(*) AS n FROM people GROUP BY age) t",
    "how many are left": "SELECT count(*) AS x FROM (SELECT age FROM people GROUP BY age HAVING count(*) > 340) t",
    "how many of those left": "SELECT count(*) FILTER (WHERE m < 2) AS x FROM (SELECT age, avg(score) AS m FROM people GROUP BY age HAVING "
    "count(*) > 340) t",
    "nothing by a case": "SELECT age, CASE WHEN (CASE WHEN count(*) > 340 THEN 'x' END) IS NULL THEN 0 ELSE 1 END AS x FROM people GROUP BY age",
    "a change": "SELECT age, count(*) - lag(count(*), 1, 0) OVER (ORDER BY age) AS x FROM people GROUP BY age",
    "a running sum": "SELECT age, sum(count(*)) OVER (ORDER BY age) AS x FROM people GROUP BY age ORDER BY age LIMIT 3",
    "a scalar subquery": "SELECT town, count(*) * 1.0 / (SELECT count(*) FROM people) AS x FROM people GROUP BY town",
    "a ratio of joined results": "WITH a AS (SELECT town, count(*) AS n FROM people GROUP BY town), b AS (SELECT town, "
    "count(*) AS d FROM people WHERE sex = 'f' GROUP BY town) SELECT town, d * 1.0 / n AS x FROM a JOIN b USING (town)",
    "a difference of joined rows": "WITH a AS (SELECT age, count(*) AS n FROM people GROUP BY age) SELECT x.age, x.n - y.n AS x "
    "FROM a x JOIN a y ON x.age = y.age + 1",
    "a sum over repeated rows": "WITH a AS (SELECT sex, count(*) AS n FROM people GROUP BY sex), b AS (SELECT sex, town, count(*) "
    "AS k FROM people GROUP BY sex, town) SELECT sum(n) AS x FROM a JOIN b USING (sex)",
    "a moving average": "SELECT age, avg(count(*)) OVER (ORDER BY age ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS x FROM people "
    "GROUP BY age",
    "a rounded number": "SELECT round(avg(score), 1) AS x FROM people",
}


@pytest.fixture(scope="module")
def curator(
    path: Path, schema: Schema, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Curator]:
    ledger = tmp_path_factory.mktemp("coverage") / "ledger.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cap is large, and nobody is in the table
        with without_noise():
            made = Curator(path, schema, ledger=ledger, cap=Budget(epsilon=1000))
        with made:
            yield made


def misses(curator: Curator, sql: str, draws: int, confidence: float = CONFIDENCE) -> int:
    """How often the interval of the first row does not hold the true answer."""
    statement = curator._statements.planned(sql, Budget(epsilon=1), None, confidence)
    parts = statement.parts
    exact = curator._record.once(
        parts[0].charge,
        purpose=sql,
        asked={"question": sql},
        accounting=parts[0].accounting,
        measure=lambda grant: measure(parts, grant),
    )
    truth = statement.answered(exact)
    wanted = {tuple(row.group.items()): row["x"].estimate for row in truth}
    key = tuple(truth[0].group.items())
    missed = 0
    for _ in range(draws):
        noisy = tuple(
            values + samplers.draw(law, values.size).reshape(values.shape)
            for values, law in zip(exact.values, exact.laws, strict=True)
        )
        found = statement.answered(replace(exact, values=noisy))
        (row,) = [each for each in found if tuple(each.group.items()) == key]
        missed += not row["x"].lower - 1e-9 <= wanted[key] <= row["x"].upper + 1e-9
    return missed


def most(draws: int) -> int:
    """Misses that are exceeded with a chance of at most 1e-6 if the interval holds with 95%."""
    return int(stats.binom.isf(FALSE_POSITIVES, draws, 1 - CONFIDENCE))


@pytest.mark.parametrize("case", QUESTIONS)
def test_intervals_of_expressions_hold(case: str, curator: Curator) -> None:
    assert misses(curator, QUESTIONS[case], 300) <= most(300)


@pytest.mark.trust
@pytest.mark.parametrize("case", QUESTIONS)
def test_intervals_of_expressions_hold_over_many_draws(case: str, curator: Curator) -> None:
    draws = 20_000
    missed = misses(curator, QUESTIONS[case], draws)
    sys.stderr.write(f"{case}: coverage {1 - missed / draws:.4f}\n")
    assert missed <= most(draws)


def test_the_count_of_misses_sees_an_interval_that_is_too_narrow(curator: Curator) -> None:
    """Checked against itself: intervals of 50% would fail the same test, 12 standard deviations away."""
    assert misses(curator, QUESTIONS["a difference"], 300, confidence=0.5) > most(300)


def test_levels_share_the_risk() -> None:
    from discreet.postprocessing.values import Levels

    levels = Levels(Fraction(95, 100), (1, 2, 5))
    assert [1 - levels.at(place) for place in range(3)] == [
        Fraction(5, 100),
        Fraction(5, 200),
        Fraction(5, 500),
    ]
    assert np.isclose(float(levels.at(2)), 0.99)
