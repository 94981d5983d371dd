"""De-anonymising sparse rows before and after: generated ratings with days, and a few that someone remembers."""

from __future__ import annotations

from discreet.attacks.outcome import Line, Outcome, Progress, Series, quiet
from discreet.attacks.sparse_rows import ECCENTRICITY, Entry, Scoreboard
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator

KNOWN = (1, 2, 3, 4, 6, 8)
DAYS = 730
RATING_OFF, DAYS_OFF = 1, 14
"""How well the adversary remembers: a rating off by up to one star, a day by up to two weeks."""


def generated_ratings(people: int, items: int, *, seed: int = 0) -> list[dict[int, Entry]]:
    """Everyone rated some dozen of the items, a few of them popular and most of them rare."""
    draws = generator(seed)
    weights = 1 / (draws.permutation(items) + 10.0)
    weights /= weights.sum()
    rows = []
    for many in draws.integers(10, 60, people):
        chosen = draws.choice(items, min(int(many), items), replace=False, p=weights)
        ratings, days = draws.integers(1, 6, len(chosen)), draws.integers(0, DAYS, len(chosen))
        rows.append(
            {
                int(item): (float(rating), float(day))
                for item, rating, day in zip(chosen, ratings, days, strict=True)
            }
        )
    return rows


def deanonymise(
    *,
    people: int = 2_000,
    items: int = 2_000,
    eccentricity: float = ECCENTRICITY,
    tries: int = 150,
    seed: int = 0,
    progress: Progress = quiet,
) -> Outcome:
    """Name rows of ratings from a few entries that the adversary remembers roughly.

    A row is named only if it stands out by `eccentricity` standard deviations; otherwise nothing is claimed.
    """
    if people < 10 or items < 100:
        raise BadInput("The attack needs at least 10 people and 100 items.")
    rows = generated_ratings(people, items, seed=seed)
    board, draws = Scoreboard(rows), generator(seed + 1)
    right: list[tuple[float, float]] = []
    wrong: list[tuple[float, float]] = []
    for many in KNOWN:
        progress("targets", len(right) / len(KNOWN))
        hits = misses = 0
        for _ in range(tries):
            target = int(draws.integers(0, people))
            held = list(rows[target])
            chosen = draws.choice(held, min(many, len(held)), replace=False)
            known = {
                int(item): (
                    rows[target][int(item)][0] + int(draws.integers(-RATING_OFF, RATING_OFF + 1)),
                    rows[target][int(item)][1] + int(draws.integers(-DAYS_OFF, DAYS_OFF + 1)),
                )
                for item in chosen
            }
            named = board.named(known, eccentricity=eccentricity)
            hits += named == target
            misses += named is not None and named != target
        right.append((float(many), hits / tries))
        wrong.append((float(many), misses / tries))
    return Outcome(
        attack="deanonymise",
        title=f"{people:,} rows of ratings without names, and a few entries that someone remembers",
        measure="share of targets identified correctly",
        chance=1 / people,
        lines=[
            *(
                Line(
                    publication=f"rows without names, {int(x)} entries remembered",
                    value=y,
                    note=f"{bad:.1%} named wrongly",
                )
                for (x, y), (_, bad) in zip(right, wrong, strict=True)
            ),
            Line(
                publication="our release of counts by item",
                value=0.0,
                ours=True,
                note="it has no rows: there is nobody to identify",
            ),
        ],
        series=[Series(label="rightly", points=right), Series(label="wrongly", points=wrong)],
        across="entries remembered",
        findings=[
            f"Ratings off by up to {RATING_OFF} and days off by up to {DAYS_OFF} still identify a row."
        ],
        details={"eccentricity": eccentricity, "tries": tries},
    )
