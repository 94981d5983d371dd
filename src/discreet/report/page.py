"""The page: its content, gathered by `gathering`, in one template."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from discreet.report.content import Content
from discreet.report.gathering import gather
from discreet.report.templates import rendered

if TYPE_CHECKING:
    from discreet.answering import ReleaseReader

LARGEST = 150_000
"""Bytes that a report may have."""
_ROOM_FOR_TEXT = 45_000


def render_report(
    reader: ReleaseReader,
    *,
    confidence: float = 0.95,
    file_name: str = "people.release",
    progress: Callable[[str, float], None] | None = None,
) -> str:
    """The report of a release as one HTML text of at most `LARGEST` bytes.

    Charts are added in order until the page is full. The page says how many were left out. `progress` is called with each step and the fraction done, from 0 to 1.
    """
    content = gather(reader, confidence=confidence, file_name=file_name, progress=progress)
    for kept in _ever_fewer(content):
        text = _rendered(content.with_figures(kept))
        if len(text.encode()) <= LARGEST:
            return text
    for lines in (300, 100, 30):
        text = _rendered(content.with_figures(()).shortened(lines))
        if len(text.encode()) <= LARGEST:
            return text
    return _rendered(content.with_figures(()).shortened(8))


def _ever_fewer(content: Content) -> Iterator[list[int]]:
    """First the figures that should fit, by their places, then ever fewer.

    One that is too large for what is left of the page does not keep smaller ones off it.
    """
    room, kept = LARGEST - _ROOM_FOR_TEXT, []
    for place, figure in enumerate(content.figures):
        if figure.size <= room:
            room -= figure.size
            kept.append(place)
    while kept:
        yield kept
        kept = kept[:-2]
    yield []


def _rendered(content: Content) -> str:
    return rendered("discreet.report", "page.html.jinja", content.variables())
