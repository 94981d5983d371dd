"""The page: its content, gathered by `gathering`, in one template with autoescaping on."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import DictLoader, Environment, StrictUndefined, Template
from markupsafe import Markup

from discreet.report.content import Content
from discreet.report.gathering import gather

if TYPE_CHECKING:
    from discreet.answers import ReleaseReader

LARGEST = 150_000
"""Bytes that a report may have."""
_ROOM_FOR_TEXT = 45_000


def render_report(
    reader: ReleaseReader, *, confidence: float = 0.95, file_name: str = "people.release"
) -> str:
    """The report of a release as one HTML text of at most `LARGEST` bytes.

    Charts come first to last until the page is full; the page says how many were left out.
    """
    content = gather(reader, confidence=confidence, file_name=file_name)
    for kept in _counts_down(content):
        text = _rendered(content.with_figures(kept))
        if len(text.encode()) <= LARGEST:
            return text
    for lines in (300, 100, 30):
        text = _rendered(content.with_figures(0).shortened(lines))
        if len(text.encode()) <= LARGEST:
            return text
    return _rendered(content.with_figures(0).shortened(8))


def _counts_down(content: Content) -> list[int]:
    """First as many figures as should fit, then ever fewer."""
    room, kept = LARGEST - _ROOM_FOR_TEXT, 0
    for figure in content.figures:
        room -= figure.size
        if room < 0:
            break
        kept += 1
    return [*range(kept, 0, -2), 0]


def _rendered(content: Content) -> str:
    return _template().render(content.variables(), style=_resource("page.css"))


def _resource(name: str) -> Markup:
    """A file of this room: ours, so it needs no escaping."""
    return Markup(files("discreet.report").joinpath(name).read_text(encoding="utf-8"))


@cache
def _template() -> Template:
    environment = Environment(
        loader=DictLoader({name: str(_resource(name)) for name in ("table.html.jinja",)}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = "{% from 'table.html.jinja' import table %}" + str(_resource("page.html.jinja"))
    return environment.from_string(page)
