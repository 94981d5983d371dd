"""One self-contained page of sections: attacks before and after, or what epsilon means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup

from discreet.attacks.outcome import Line, Outcome, Series
from discreet.charts.figure import Figure, Table
from discreet.charts.scale import shown
from discreet.charts.shapes import Bar, Curve, curves, rows
from discreet.report.templates import rendered

STYLES = ("c1", "c2", "c3")
SLOPE = 80
"""Steps between two points."""


def outcome_figure(name: str, outcome: Outcome) -> Figure:
    """The before/after bars, with the numbers as a table."""
    finite = [each for each in outcome.lines if math.isfinite(each.value)]
    return Figure(
        title=outcome.title,
        caption=_caption(outcome),
        picture=rows(name, outcome.title, [_bar(each) for each in finite]),
        legend=[("bar", "unprotected"), ("special", "published by discreet")]
        if any(each.ours for each in finite)
        else [],
        table=Table(
            ("published", outcome.measure, "95% interval", "note"),
            [
                (each.publication, shown(each.value), interval(each), each.note)
                for each in outcome.lines
            ],
            right=(1,),
        ),
    )


def series_figure(name: str, outcome: Outcome) -> Figure | None:
    """The curve of an attack, or None where it has none."""
    if not outcome.series:
        return None
    return Figure(
        title=f"{outcome.measure}, by {outcome.across}",
        caption="",
        picture=curve_picture(name, outcome.measure, outcome.series, outcome.across),
        legend=[(style, each.label) for style, each in zip(STYLES, outcome.series, strict=False)],
    )


def curve_picture(name: str, up: str, series: Sequence[Series], across: str) -> Markup:
    """Lines over a shared pair of axes; where the points span decades, by their logarithm to base 10."""
    places = [x for each in series for x, _ in each.points]
    by_logarithm = bool(places) and min(places) > 0 and max(places) / min(places) >= 100
    lines = [
        Curve(
            each.label,
            style,
            _sloped([(math.log10(x) if by_logarithm else x, y) for x, y in each.points]),
        )
        for style, each in zip(STYLES, series, strict=False)
    ]
    label = f"{across} (powers of ten)" if by_logarithm else across
    return curves(name, up, f"{up} against {across}.", lines, across=label, up=up)


def _sloped(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Many small steps, so that a chart of steps shows a slope."""
    found: list[tuple[float, float]] = points[:1]
    for (x, y), (to_x, to_y) in pairwise(points):
        found += [
            (x + (to_x - x) * part / SLOPE, y + (to_y - y) * part / SLOPE)
            for part in range(1, SLOPE + 1)
        ]
    return found


def interval(line: Line) -> str:
    if line.lower is None or line.upper is None:
        return ""
    return f"[{shown(round(line.lower, 4))}, {shown(round(line.upper, 4))}]"


def _bar(line: Line) -> Bar:
    low = line.value if line.lower is None else line.lower
    high = line.value if line.upper is None else line.upper
    return Bar(line.publication, line.publication, line.value, low, high, special=line.ours)


def _caption(outcome: Outcome) -> str:
    chance = (
        ""
        if outcome.chance is None
        else f" Guessing alone achieves {shown(round(outcome.chance, 3))}."
    )
    return f"{outcome.measure[:1].upper()}{outcome.measure[1:]}.{chance}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with paragraphs, tables and figures."""

    title: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = field(default=())


def render_page(
    *, title: str, lead: str, sections: Sequence[Section], kicker: str, banner: str = ""
) -> str:
    """The page as one HTML text."""
    content = {
        "title": title,
        "lead": lead,
        "sections": sections,
        "kicker": kicker,
        "banner": banner,
    }
    return rendered("discreet.report.disclosure", "attacks.html.jinja", content)


def render_attacks(outcomes: Sequence[Outcome], *, title: str, lead: str) -> str:
    """Every outcome as a section, with the banner if one of them is not private."""
    banner = next((each.banner for each in outcomes if each.banner), "")
    sections = []
    for number, outcome in enumerate(outcomes):
        figures = [outcome_figure(f"a{number}", outcome), series_figure(f"c{number}", outcome)]
        sections.append(
            Section(
                title=outcome.title,
                paragraphs=list(outcome.findings),
                figures=[each for each in figures if each is not None],
            )
        )
    return render_page(title=title, lead=lead, sections=sections, kicker="Attacks", banner=banner)
