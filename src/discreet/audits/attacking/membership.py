"""Membership before and after: exact means of many columns, rounded ones, and ours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arrays import Floats
from discreet.attacks.membership import Advantage, homer_scores, most_advantage, played
from discreet.attacks.outcome import Line, Outcome, Progress, Series, quiet
from discreet.core.noise import DrawnNoise
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.exact import Exactable, exact
from discreet.privacy.laws import DiscreteLaplaceLaw

SIZES = (10, 30, 100, 300, 1_000, 3_000)


def member(
    *,
    people: int = 100,
    columns: int = 2_000,
    epsilon: Exactable = 1,
    games: int = 400,
    seed: int = 0,
    progress: Progress = quiet,
) -> Outcome:
    """Was this person in the table whose column means were published?

    In every game a coin decides whether the target is one of the `people` or a stranger of the same
    population. The adversary knows the target's row, the population's means and the published means.
    """
    if people < 2 or columns < 1:
        raise BadInput("The attack needs at least 2 people and 1 column.")
    budget = exact(epsilon, name="epsilon")
    # One row of 0/1 moves every column's count by 1: the noise pays for all of them together.
    law = DiscreteLaplaceLaw(columns / budget)
    ways: dict[str, Callable[[Floats], Floats]] = {
        "exact means": lambda counts: counts,
        "means rounded to whole percents": lambda counts: (
            np.rint(counts / people * 100) * people / 100
        ),
        f"our means of all columns, epsilon {float(budget):g} in all": lambda counts: (
            DrawnNoise().add(counts.astype(np.int64), law, step="attack").astype(np.float64)
        ),
    }
    lines = []
    for number, (name, publish) in enumerate(ways.items()):
        progress(name, number / len(ways))
        found = _game(people, columns, publish, games, seed)
        ours = number == len(ways) - 1
        note = f"at most {most_advantage(float(budget)):.3f} for any adversary" if ours else ""
        lines.append(
            Line(
                publication=name,
                value=found.value,
                lower=found.lower,
                upper=found.upper,
                ours=ours,
                note=note,
            )
        )
    curve: list[tuple[float, float]] = []
    for size in SIZES:
        progress("the curve", len(curve) / len(SIZES))
        curve.append((float(size), _game(people, size, lambda counts: counts, 150, seed).value))
    return Outcome(
        attack="member",
        title=f"Membership among {people:,} people, from the means of {columns:,} columns",
        measure="advantage over a coin",
        chance=0.0,
        lines=lines,
        series=[Series(label="exact means", points=curve)],
        across="columns published",
        findings=[
            "Every exact mean depends a little on each of its people. Over many columns that adds up."
        ],
        details={"games": games, "bound": most_advantage(float(budget))},
    )


def _game(
    people: int, columns: int, publish: Callable[[Floats], Floats], games: int, seed: int
) -> Advantage:
    draws = generator(seed)
    bits = draws.integers(0, 2, games)
    scores = np.empty(games)
    for place, bit in enumerate(bits):
        population = draws.uniform(0.1, 0.9, columns)
        rows = draws.random((people, columns)) < population
        target = rows[:1] if bit else draws.random((1, columns)) < population
        means = publish(rows.sum(axis=0).astype(np.float64)) / people
        scores[place] = homer_scores(target.astype(np.float64), means, population, people)[0]
    return played(scores, bits)
