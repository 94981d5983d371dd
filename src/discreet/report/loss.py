"""The privacy-loss plot: how much one person's presence can show, and how likely that is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from discreet.artifacts.measurement import Measurement
from discreet.privacy.laws import NoiseLaw
from discreet.privacy.loss import PrivacyLoss
from discreet.privacy.loss_noise import charted_loss
from discreet.queries.measurable import Marginal
from discreet.report.charts import Curve, curves
from discreet.report.content import Figure, Table

if TYPE_CHECKING:
    from discreet.artifacts.release import Release
    from discreet.privacy.adjacency import Sensitivity

MOST_KINDS = 40
"""Different measurements whose losses are still added up for the plot."""
ROUNDING = 1e-9
"""More than sums of floats are off by, so that nothing seems to exceed the largest loss."""
TABLE_POINTS = (0.0, 0.25, 0.5, 0.75, 1.0)


def loss_figure(release: Release) -> Figure | None:
    """The loss of all measurements together, or `None` where there are too many kinds of them."""
    kinds: Counter[tuple[NoiseLaw, Sensitivity, bool]] = Counter()
    for part in release.parts:
        for each in part.measurements:
            if not isinstance(each, Measurement):
                return None
            kinds[each.law, each.sensitivity, _moves_two_cells(each)] += 1
    if not 0 < len(kinds) <= MOST_KINDS:
        return None
    total: PrivacyLoss | None = None
    for (law, sensitivity, two_cells), times in kinds.items():
        loss = charted_loss(law, sensitivity, two_cells=two_cells).self_compose(times)
        total = loss if total is None else total.compose(loss)
    assert total is not None
    data = total.plot_data(160)
    top = max(data.loss)
    tail = Curve("tail", "c1", [(x, 100 * y) for x, y in zip(data.loss, data.tail, strict=True)])
    limit = Curve("limit", "c2", [(top, 0.0), (top, 100.0)])
    low = min(data.loss)
    points = [low + part * (top - low) for part in TABLE_POINTS]
    return Figure(
        title="The privacy loss, whole",
        caption=(
            "How likely it is (up) that what was published speaks for one person's presence by more than "
            "a given loss (across). At a loss of x, it is e to the x times as likely with that person "
            "as without. The budget bounds the worst case; most of the time much less is lost."
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
                f"the largest loss there is, {total.largest:.4g}"
                if total.infinite == 0
                else "chance below one in a billion",
            ),
        ],
        table=Table(
            ("loss", "chance of more"),
            [(f"{x:+.2f}", f"{100 * total.tail(x + ROUNDING):.3g}%") for x in points],
            right=(0, 1),
        ),
    )


def _moves_two_cells(each: Measurement) -> bool:
    """Whether one person moves two cells of a table by the same number: under change-one."""
    moved = each.sensitivity
    return isinstance(each.query, Marginal) and moved.l1**2 == 2 * moved.l2_squared
