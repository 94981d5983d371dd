"""Averaging before and after: one question asked again and again."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from discreet.attacks.differencing import averaged
from discreet.attacks.outcome import Line, Outcome, Progress, Series, quiet
from discreet.audits.attacking.own_tables import OwnTable, own_table
from discreet.core.noise import DrawnNoise
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.privacy.exact import Exactable, exact
from discreet.privacy.laws import DiscreteLaplaceLaw

SCHEMA = """dataset = "people"
people = {people}
[columns.secret]
kind = "integer"
range = [0, 1]
nulls = "exclude"
"""
QUESTION = "SELECT count(*) FROM people WHERE secret = 1"


def average(
    *,
    people: int = 1_000,
    epsilon: Exactable = Fraction(1, 10),
    times: int = 2_000,
    draws: int = 20,
    progress: Progress = quiet,
) -> Outcome:
    """Ask one count `times` times at `epsilon` each, and take the mean.

    A service that draws fresh noise and charges nothing for a repetition gives the count away. Our curator gives the
    first answer again; a fresh one has to be paid for.
    """
    each = exact(epsilon, name="epsilon")
    bits = generator(0).integers(0, 2, people)
    truth = int(bits.sum())
    fresh = _fresh(truth, each)
    points: list[tuple[float, float]] = []
    for count in (1, 10, 100, times):
        progress("fresh noise", len(points) / 4)
        errors = [abs(averaged(fresh, count) - truth) for _ in range(draws)]
        points.append((float(count), float(np.mean(errors))))
    with own_table({"secret": bits.tolist()}, SCHEMA.format(people=people)) as table:
        repeated = [_repeated(table, each, truth, progress) for _ in range(min(draws, 5))]
    ours = float(np.mean([error for error, _ in repeated]))
    same = all(same for _, same in repeated)
    return Outcome(
        attack="average",
        title=f"One count of {people:,} people, asked again and again at epsilon {float(each):g}",
        measure="mean error of the count",
        lines=[
            *(Line(f"fresh noise for every repetition, {int(x):,} asked", y) for x, y in points),
            Line(
                "our curator, asked 20 times",
                ours,
                ours=True,
                note="every repetition got the same answer" if same else "repetitions differed",
            ),
        ],
        series=[Series("fresh noise", points)],
        across="repetitions",
        findings=[
            f"After {times:,} repetitions the adversary has spent epsilon {float(each * times):g}, although each "
            f"answer seemed to cost {float(each):g}. Our ledger counts every fresh answer."
        ],
        details={"same_answer": same},
    )


def _fresh(truth: int, epsilon: Fraction) -> Callable[[], float]:
    law = DiscreteLaplaceLaw(1 / epsilon)
    noise = DrawnNoise()
    left: list[int] = []

    def answer() -> float:
        if not left:
            left.extend(noise.add(np.full(4_096, truth), law, step="attack").tolist())
        return float(left.pop())

    return answer


def _repeated(
    table: OwnTable, epsilon: Fraction, truth: int, progress: Progress
) -> tuple[float, bool]:
    progress("our curator", 0.5)
    budget = Budget(epsilon=epsilon)
    with table.curator(budget) as curator:
        told = [
            float(curator.ask(QUESTION, budget=budget).columns[0].estimate[0]) for _ in range(20)
        ]
    return abs(float(np.mean(told)) - truth), len(set(told)) == 1
