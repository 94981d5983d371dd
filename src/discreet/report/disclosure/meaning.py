"""What epsilon means, as tables and a figure: for the report, for `discreet explain`, and for other pages."""

from __future__ import annotations

import math
from collections.abc import Sequence

from discreet.attacks.outcome import Series
from discreet.charts.figure import Figure, Table
from discreet.charts.shapes import Curve, curves
from discreet.privacy.explanation import Explanation

LEAD = (
    "Whatever is published is at most {times} times as likely with your data as without it, and so is whatever "
    "follows from it. The closer to 1, the less your taking part can cost you."
)


def lead_of(found: Explanation) -> str:
    """The promise in one sentence."""
    return LEAD.format(times=times(found))


def parts_of(found: Explanation) -> list[tuple[str, Table, str]]:
    """Every part of an explanation: its title, its table, and a sentence about it."""
    return [
        ("What someone may believe of you", belief_table(found), "A fact about you, before and after everything was read."),
        ("Families and groups", group_table(found), "The promise weakens with the number of people, by a known amount."),
        ("Who is protected", unit_table(found), "A promise to a row is a weaker one to a person with several rows, and to a household."),
        ("Small groups", error_table(found), "Noise that protects few people also makes their counts inaccurate."),
    ]  # fmt: skip


def belief_table(found: Explanation) -> Table:
    """What someone may believe afterwards, for several beliefs before, at epsilon and at twice epsilon."""
    return Table(
        (
            "belief before",
            f"after, at epsilon {found.epsilon:.4g}",
            f"at twice that, {2 * found.epsilon:.4g}",
        ),
        [
            (
                percent(one.before),
                f"{percent(one.least)} to {percent(one.most)}",
                f"{percent(two.least)} to {percent(two.most)}",
            )
            for one, two in zip(found.beliefs, found.doubled, strict=True)
        ],
        right=(0,),
        note="" if not found.delta else f"Except with a probability of {found.delta:.3g}.",
    )


def group_table(found: Explanation) -> Table:
    """Families and other groups: their epsilon, their delta, and how sure one can become."""
    return Table(
        ("people together", "epsilon", "delta", "a fact as likely true as false becomes at most"),
        [
            (
                f"{each.people:,}",
                f"{each.epsilon:.4g}",
                f"{each.delta:.3g}" if each.delta else "",
                percent(each.most),
            )
            for each in found.groups
        ],
        right=(0, 1, 2, 3),
    )


def unit_table(found: Explanation) -> Table:
    """Which unit is protected at which epsilon."""
    return Table(
        ("unit", "epsilon", "why"),
        [(each.name, f"{each.epsilon:.4g}", each.note) for each in found.units],
        right=(1,),
    )


def error_table(found: Explanation) -> Table:
    """Small groups of people have large relative errors: that is what protects them."""
    return Table(
        ("people counted", "largest error of a single count at this epsilon"),
        [(f"{size:,}", f"{100 * error:.3g}%") for size, error in found.relative_errors],
        right=(0, 1),
    )


def density_series(found: Explanation) -> tuple[list[Series], Series]:
    """The chances of a noisy count on two neighbouring tables, and the log of their ratio."""
    return (
        [
            Series("without the person", [(d.count, d.here) for d in found.densities]),
            Series("with the person", [(d.count, d.there) for d in found.densities]),
        ],
        Series("log-ratio", [(d.count, d.log_ratio) for d in found.densities]),
    )


def density_figure(found: Explanation) -> Figure:
    """A noisy count with and without one person."""
    pair, _ = density_series(found)
    return Figure(
        title="A noisy count with and without one person",
        caption=f"The probability of each noisy count if the true count is 0 and if it is 1. One person moves the curve by 1. At no point is one probability more than e^{found.epsilon:.4g} = {times(found)} times the other.",
        picture=curves(
            "densities",
            "Two densities",
            "Two peaks one apart, with the same tails.",
            [
                Curve(each.label, style, _centred(each.points))
                for style, each in zip(("c1", "c2"), pair, strict=True)
            ],
            across="noisy count",
            up="chance",
        ),
        legend=[("c1", pair[0].label), ("c2", pair[1].label)],
    )


def ratio_figure(found: Explanation) -> Figure:
    """The logarithm of the ratio of both chances: never beyond epsilon."""
    _, ratio = density_series(found)
    edge = [d.count for d in found.densities]
    limits = [
        Curve("limit", "c3", [(edge[0], y), (edge[-1], y)]) for y in (found.epsilon, -found.epsilon)
    ]
    return Figure(
        title="The logarithm of their ratio",
        caption="How much one noisy count reveals about a person's presence: it lies between minus epsilon and epsilon.",
        picture=curves(
            "ratio",
            "Log-ratio",
            "A step from minus epsilon to epsilon.",
            [Curve("ratio", "c1", _centred(ratio.points)), *limits],
            across="noisy count",
            up="log-ratio",
        ),
        legend=[("c1", "log of the probability ratio"), ("c3", "epsilon and minus epsilon")],
    )


def _centred(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Steps that lie around their counts, not to the right of them."""
    (last, height), before = points[-1], points[-2][0] if len(points) > 1 else points[-1][0] - 1
    half = (last - before) / 2
    return [*((x - half, y) for x, y in points), (last + half, height)]


def times(found: Explanation) -> str:
    """e^epsilon in plain digits."""
    if found.epsilon > 20:
        return f"10^{found.epsilon / math.log(10):.0f}"
    return f"{found.factor:,.2f}" if found.factor < 100 else f"{found.factor:,.0f}"


def percent(share: float) -> str:
    """A belief in percent, never rounded to certainty."""
    if share > 0.9999:
        return "above 99.99%"
    return f"{100 * share:.3g}%" if share >= 0.0001 else "below 0.01%"
