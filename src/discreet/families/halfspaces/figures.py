"""The plane of a release of halfspaces: its cells, how dense the rows lie in each, and a line through it.

`plane_of` gathers plain data from a release; `plane_picture` draws it. A block inside the halfspace is
outlined as inside, one that the line cuts as cut: what the interval of an answer is made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from discreet.artifacts.release import Release
from discreet.charts.figure import Figure, clipped
from discreet.charts.scale import brief, shown
from discreet.charts.svg import element, number, picture, rectangles
from discreet.errors import BadInput
from discreet.families.halfspaces.answer.halfspaces import HalfspaceSource
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.shared.answer.library import Library
from discreet.questions.inequality import Inequality

if TYPE_CHECKING:
    from discreet.answering import ReleaseReader

LEVELS = 8
MOST_BLOCKS, MOST_OUTLINED = 5_000, 400
STEPS = 64
SIZE, LEFT, TOP, BELOW = 420.0, 64.0, 30.0, 44.0


@dataclass(frozen=True, slots=True)
class Block:
    """One cell, in the units of the columns: half-way to the cells beside it."""

    low: tuple[float, float]
    high: tuple[float, float]
    rows: float
    """Estimated rows, never negative."""
    place: str
    """`inside`, `cut` or `outside` of the halfspace."""

    @property
    def density(self) -> float:
        """Rows by area: cells differ in size."""
        area = (self.high[0] - self.low[0]) * (self.high[1] - self.low[1])
        return self.rows / area if area > 0 else self.rows


@dataclass(frozen=True, slots=True)
class Plane:
    """What a chart of two columns and one halfspace shows."""

    columns: tuple[str, str]
    low: tuple[float, float]
    high: tuple[float, float]
    blocks: tuple[Block, ...]
    line: tuple[tuple[float, float], ...]
    """Where the halfspace's edge enters and leaves the plane; empty if it misses it."""
    question: str
    estimate: float
    lower: float
    upper: float
    prior: float


def plane_of(release: Release, asked: Inequality, *, confidence: float = 0.95) -> Plane:
    """The blocks of the release over the two columns of `asked`, and the halfspace among them."""
    if len(asked.columns) != 2:
        raise BadInput("A plane has two columns.")
    reader = HalfspaceSource(Library(release))
    found, chosen, cells = reader.one(asked, confidence=confidence)
    coefficients, bound, _ = asked.as_at_least()
    normal = np.array([float(each) for each in coefficients])
    lows, highs, rows_of = cells.pictured()
    low, high = lows.min(axis=0), highs.max(axis=0)
    blocks = [
        Block(
            (float(first[0]), float(first[1])),
            (float(last[0]), float(last[1])),
            float(rows),
            "inside" if inner else "cut" if outer else "outside",
        )
        for first, last, rows, inner, outer in zip(
            lows, highs, rows_of, chosen.inner, chosen.outer, strict=True
        )
    ]
    prior = float(cells.prior(normal[None, :], np.array([float(bound)]))[0])
    return Plane(
        columns=(asked.columns[0], asked.columns[1]),
        low=(float(low[0]), float(low[1])),
        high=(float(high[0]), float(high[1])),
        blocks=tuple(blocks),
        line=_crossings(normal, float(bound), low, high),
        question=asked.text,
        estimate=float(found.estimate[0]),
        lower=float(found.lower[0]),
        upper=float(found.upper[0]),
        prior=prior,
    )


def plane_figures(reader: ReleaseReader, confidence: float) -> Iterator[Figure]:
    """Pictures of halfspaces over two columns."""
    schema = reader.release.schema
    planes = {
        part.query_class.named(schema)
        for part in reader.release.parts
        if isinstance(part.query_class, Halfspaces) and part.kind != "halfspace-net"
    }
    for place, names in enumerate(sorted(planes)):
        if len(names) == 2:
            figure = plane_figure(f"plane{place}", reader, (names[0], names[1]))
            if figure is not None:
                yield figure


def plane_figure(name: str, reader: ReleaseReader, columns: tuple[str, str]) -> Figure | None:
    """The plane of two columns, and the diagonal that has about half of the rows on either side.

    `None` where there are too many cells to draw.
    """
    own = HalfspaceSource(Library(reader.release))
    low, high = own.cells(columns).edges
    if len(own.cells(columns).pictured()[2]) > MOST_BLOCKS:
        return None
    width = [
        Fraction(float(b)) - Fraction(float(a)) or Fraction(1)
        for a, b in zip(low, high, strict=True)
    ]
    slopes = (width[1] / max(width), width[0] / max(width))
    span = [
        sum(s * Fraction(float(e)) for s, e in zip(slopes, ends, strict=True))
        for ends in (low, high)
    ]
    bounds = [span[0] + (span[1] - span[0]) * step / STEPS for step in range(1, STEPS)]
    normals = np.tile([float(slope) for slope in slopes], (len(bounds), 1))
    found = own.many(columns, normals, [float(each) for each in bounds], confidence=0.95)
    half = float(found.estimate[0] + found.estimate[-1]) / 2
    bound = bounds[int(np.argmin(np.abs(found.estimate - half)))]
    rounded = tuple(Fraction(f"{float(each):.4g}") for each in (*slopes, bound))
    plane = plane_of(reader.release, Inequality(columns, rounded[:2], ">=", rounded[2]))
    shades = [(f"h{level}", "") for level in range(LEVELS + 1)]
    shades[0], shades[-1] = ("h0", "no rows"), (f"h{LEVELS}", "most rows by area")
    return Figure(
        title=clipped(f"{columns[0]} and {columns[1]}"),
        caption=clipped(
            f"{len(plane.blocks):,} cells. {plane.question}: {shown(plane.estimate)} rows, between "
            f"{shown(plane.lower)} and {shown(plane.upper)}; cells that the line cuts widen the interval."
        ),
        picture=plane_picture(name, plane),
        legend=[shades[0], shades[-1], ("c2", "the line")],
    )


def _crossings(
    normal: np.ndarray, bound: float, low: np.ndarray, high: np.ndarray
) -> tuple[tuple[float, float], ...]:
    """The two points where normal . x = bound meets the edges of the box."""
    found: list[tuple[float, float]] = []
    for fixed, free in ((0, 1), (1, 0)):
        if normal[free] == 0:
            continue
        for value in (low[fixed], high[fixed]):
            other = (bound - normal[fixed] * value) / normal[free]
            if low[free] <= other <= high[free]:
                point = (float(value), float(other)) if fixed == 0 else (float(other), float(value))
                if point not in found:
                    found.append(point)
    return tuple(found[:2]) if len(found) >= 2 else ()


def _snapped(value: float, low: float, high: float) -> float:
    """0 where only the rounding of floats is left of it."""
    return 0.0 if abs(value) < 1e-9 * (high - low) else value


def plane_picture(name: str, plane: Plane) -> Markup:
    """The blocks shaded by their rows, those inside outlined, and the line."""

    def across(value: float) -> float:
        width = plane.high[0] - plane.low[0] or 1.0
        return LEFT + (value - plane.low[0]) / width * SIZE

    def up(value: float) -> float:
        height = plane.high[1] - plane.low[1] or 1.0
        return TOP + SIZE - (value - plane.low[1]) / height * SIZE

    def box(block: Block) -> tuple[float, float, float, float]:
        x, y = across(block.low[0]), up(block.high[1])
        return x, y, max(0.0, across(block.high[0]) - x), max(0.0, up(block.low[1]) - y)

    most = max((block.density for block in plane.blocks), default=0.0) or 1.0
    shades: dict[int, list[tuple[float, float, float, float]]] = {}
    marks: dict[str, list[tuple[float, float, float, float]]] = {"inside": [], "cut": []}
    for block in plane.blocks:
        level = min(LEVELS, int((LEVELS + 1) * (block.density / most) ** 0.5))
        if level:
            shades.setdefault(level, []).append(box(block))
        if block.place == "cut" or (block.place == "inside" and len(plane.blocks) <= MOST_OUTLINED):
            marks[block.place].append(box(block))
    children = [element("path", d=rectangles([(LEFT, TOP, SIZE, SIZE)]), class_="h0")]
    children += [
        element("path", d=rectangles(boxes), class_=f"h{level}")
        for level, boxes in sorted(shades.items())
    ]
    children += [
        element("path", d=rectangles(boxes), class_=f"block {place}")
        for place, boxes in marks.items()
        if boxes
    ]
    if plane.line:
        (x1, y1), (x2, y2) = plane.line
        path = f"M{number(across(x1))} {number(up(y1))}L{number(across(x2))} {number(up(y2))}"
        children.append(element("path", d=path, class_="curve c2"))
    bottom = TOP + SIZE
    for end in (plane.low, plane.high):
        wide, tall = (_snapped(end[axis], plane.low[axis], plane.high[axis]) for axis in (0, 1))
        children += [
            element("text", brief(wide), x=across(end[0]), y=bottom + 16, text_anchor="middle"),
            element("text", brief(tall), x=LEFT - 8, y=up(end[1]) + 4, text_anchor="end"),
        ]
    middle = LEFT + SIZE / 2
    children += [
        element("text", plane.columns[0], x=middle, y=bottom + 34, text_anchor="middle"),
        element("text", plane.columns[1], x=LEFT, y=TOP - 10),
    ]
    described = (
        f"{len(plane.blocks):,} blocks of {plane.columns[0]} and {plane.columns[1]}; {plane.question} holds "
        f"for {shown(plane.estimate)} rows, between {shown(plane.lower)} and {shown(plane.upper)}; without "
        f"data the answer would be {shown(plane.prior)}."
    )
    return picture(name, plane.question, described, LEFT + SIZE + 12, TOP + SIZE + BELOW, *children)
