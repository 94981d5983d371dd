"""Differencing before and after: two means that differ in one person."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.attacks.differencing import Aggregate, aggregates_from
from discreet.attacks.differencing import difference as found_by
from discreet.attacks.outcome import Line, Outcome, Progress, quiet
from discreet.audits.attacking.own_tables import mean_line, own_table
from discreet.families.shared.estimate.public_random import generator
from discreet.plain_tables import read_columns
from discreet.privacy.budget import Budget
from discreet.privacy.exact import Exactable, exact

BEFORE, AFTER, NEW = 25, 26, "26"
MEAN_BEFORE, MEAN_AFTER = 500_000, 505_000
MOST = 1_000_000
SCHEMA = f"""dataset = "salaries"
people = {AFTER}
[columns.salary]
kind = "number"
bounds = [0, {MOST}]
bits = 12
nulls = "exclude"
"""


def example() -> list[Aggregate]:
    """A company of 25 publishes its mean salary, hires one person, and publishes the mean of 26."""
    people = [str(number) for number in range(1, AFTER + 1)]
    return [
        Aggregate("the mean of 25", "mean", frozenset(people[:BEFORE]), MEAN_BEFORE),
        Aggregate("the mean of 26", "mean", frozenset(people), MEAN_AFTER),
    ]


def difference(
    published: Sequence[Aggregate] | Path | str | None = None,
    *,
    epsilon: Exactable = 1,
    draws: int = 5,
    seed: int = 0,
    progress: Progress = quiet,
) -> Outcome:
    """Every person whose value follows from published aggregates.

    `published` are aggregates, or a table of them with the columns name, statistic, people, value. Without
    it, the example of the new employee is attacked, also where our curator publishes both means.
    """
    if published is not None:
        known = (
            aggregates_from(read_columns(published))
            if isinstance(published, (str, Path))
            else list(published)
        )
        return _outcome(known, [])
    progress("our curator", 0.0)
    return _outcome(example(), _ours(exact(epsilon, name="epsilon"), draws, seed))


def _outcome(aggregates: Sequence[Aggregate], ours: list[Line]) -> Outcome:
    found = found_by(aggregates)
    told = [f"{each.person}: {each.value:,.6g} ({each.how})" for each in found]
    everyone = set().union(*(each.people for each in aggregates))
    lines = [
        Line(
            f"{len(aggregates)} exact statistics about {len(everyone):,} people",
            0.0 if found else float("nan"),
            note=f"{len(found):,} people's values follow exactly"
            if found
            else "nobody's value follows",
        ),
        *ours,
    ]
    return Outcome(
        attack="difference",
        title="Values that follow from published aggregates",
        measure="error of the inferred value" if found else "no value follows",
        lines=lines,
        findings=told or ["Nobody's value follows from these publications by linear algebra."],
        details={"disclosed": [each.to_dict() for each in found]},
    )


def _ours(epsilon: Exactable, draws: int, seed: int) -> list[Line]:
    """Both means by our curator, half of the budget each: how far off is the new salary then?"""
    salary = MEAN_AFTER * AFTER - MEAN_BEFORE * BEFORE
    spread = generator(seed).normal(0, 60_000, BEFORE)
    old = np.rint(MEAN_BEFORE + spread - spread.mean()).astype(np.int64).tolist()
    half = Budget(epsilon=exact(epsilon, name="epsilon") / 2)
    errors = []
    with (
        own_table({"salary": old}, SCHEMA) as before,
        own_table({"salary": [*old, salary]}, SCHEMA) as after,
    ):
        for _ in range(draws):
            means = []
            for table in (before, after):
                with table.curator(half) as curator:
                    told = curator.ask("SELECT avg(salary) FROM salaries", budget=half)
                    means.append(float(told.columns[0].estimate[0]))
            inferred = AFTER * means[1] - BEFORE * means[0]
            errors.append(abs(inferred - salary))
    budget = float(2 * half.epsilon)
    return [mean_line(f"both means by our curator, epsilon {budget:g} in all", errors, ours=True)]
