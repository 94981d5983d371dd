"""The privacy-loss plot: how much one person's presence can show, and how likely that is."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.artifacts.measurement import Measurement
from discreet.charts.figure import Figure, Table
from discreet.charts.shapes import Curve, curves
from discreet.privacy.budget import Notion
from discreet.privacy.laws import NoiseLaw
from discreet.privacy.loss import PrivacyLoss, compose_all
from discreet.privacy.loss_mechanisms import charted_loss, gaussian_loss, pure_loss

if TYPE_CHECKING:
    from discreet.artifacts.release import Release

MOST_KINDS = 400
"""Different measurements whose losses are still added up for the plot."""
POINTS = 160
LIKELY_LOSS, RARE = 1e-4, 1e-9
"""The curve begins where it has fallen by so much, and ends where it is below so much."""
TABLE_POINTS = (0.0, 0.25, 0.5, 0.75, 1.0)
WORST_CASES = (
    " Selections and adaptive trees are drawn at the worst that their part of the budget allows."
)


def loss_figure(release: Release) -> Figure | None:
    """The loss of all measurements together, or `None` where there are too many kinds of them."""
    found = _losses(release)
    if found is None:
        return None
    parts, has_worst_cases = found
    total = compose_all(parts)
    is_pure = total.infinite == 0 and release.budget.notion is Notion.EPSILON
    largest = total.largest
    if is_pure and not release.budget.delta:
        largest = min(largest, float(release.budget.epsilon))
    low, top = _extent(total, largest)
    grid = np.linspace(low, top, POINTS)
    tails = np.where(grid >= largest, 0.0, total.tail(grid))
    tail = Curve(
        "tail", "c1", [(float(x), 100 * float(y)) for x, y in zip(grid, tails, strict=True)]
    )
    limit = Curve("limit", "c2", [(top, 0.0), (top, 100.0)])
    points = [low + part * (top - low) for part in TABLE_POINTS]
    return Figure(
        title="The distribution of the privacy loss",
        caption=(
            "The curve shows how likely the privacy loss is above a value. At a loss of x, what "
            "was published is e to the x times as likely with one person's data as without it. "
            "The budget bounds the worst case. The loss is mostly much smaller."
            + (WORST_CASES if has_worst_cases else "")
        ),
        picture=curves(
            "loss",
            "Privacy loss",
            f"The chance that the loss exceeds a value falls from 100% to 0% between {low:.2f} and {top:.2f}.",
            [tail, limit],
            across="privacy loss",
            up="chance of more, %",
        ),
        legend=[
            ("c1", "chance that the loss exceeds x"),
            (
                "c2",
                f"the largest loss there is, {largest:.4g}"
                if top == largest
                else "chance below one in a billion",
            ),
        ],
        table=Table(
            ("loss", "chance of more"),
            [(f"{x:+.2f}", _chance(0.0 if x >= largest else total.tail(x))) for x in points],
            right=(0, 1),
        ),
    )


def _chance(share: float) -> str:
    """A chance in words that need no exponent."""
    if share == 0:
        return "0%"
    if share < RARE:
        return "below 0.0000001%"
    return f"{100 * share:.3g}%" if share >= 1e-6 else f"{100 * share:.7f}%".rstrip("0")


def _extent(total: PrivacyLoss, largest: float) -> tuple[float, float]:
    """The range of a chart: from where the curve begins to fall to the largest loss, or to where it is next to nothing."""
    begun = np.searchsorted(np.cumsum(total.probabilities), LIKELY_LOSS)
    low = min(float(total.points[min(int(begun), len(total.points) - 1)]), 0.0)
    if np.isfinite(largest):
        return low, max(largest, low + 1e-9)
    rare = np.flatnonzero(np.asarray(total.tail(total.points)) < RARE)
    top = float(total.points[rare[0]] if len(rare) else total.points[-1])
    return low, max(top, low + 1e-9, 0.0)


def _losses(release: Release) -> tuple[list[tuple[PrivacyLoss, int]], bool] | None:
    """The losses of all measurements, equal ones together, and whether some are worst cases.

    Gaussian ones add up to a single one. What is no table of noisy numbers counts as the worst that
    its epsilon allows.
    """
    gaussian = Fraction(0)
    kinds: Counter[tuple[NoiseLaw, int]] = Counter()
    worst: Counter[Fraction] = Counter()
    for part in release.parts:
        for each in part.measurements:
            if isinstance(each, Measurement):
                moved = each.sensitivity
                if (joint := each.law.joint_loss_shape(moved)) is not None:
                    gaussian += Fraction(joint.l2_squared) / Fraction(joint.sigma_squared)
                    continue
                # In a table under change-one two cells move by half the L1 sensitivity each;
                # otherwise one number moves by all of it.
                is_table = getattr(each.query, "is_table", False)
                two = is_table and moved.l1**2 == 2 * moved.l2_squared
                kinds[each.law, moved.l1 // 2 if two else moved.l1] += 2 if two else 1
            elif each.cost.epsilon is not None and not each.cost.delta:
                worst[each.cost.epsilon] += 1
            else:
                return None
    if not 0 < len(kinds) + len(worst) + bool(gaussian) <= MOST_KINDS:
        return None
    found = [(charted_loss(law, shift), times) for (law, shift), times in kinds.items()]
    found += [(pure_loss(epsilon=epsilon), times) for epsilon, times in worst.items() if epsilon]
    if gaussian:
        found.append((gaussian_loss(sigma_squared=1, l2_squared=gaussian), 1))
    return (found, bool(worst)) if found else None
