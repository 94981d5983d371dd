"""One self-contained page of sections: attacks before and after, or what epsilon means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from jinja2 import DictLoader, Environment, StrictUndefined, Template
from markupsafe import Markup

from discreet.artifacts.files import making_a_tree
from discreet.attacks.outcome import Outcome
from discreet.charts.figure import Figure, Table
from discreet.report.disclosure.figures import outcome_figure, series_figure


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
    with making_a_tree:  # the first thread reads the template
        template = _template()
    return template.render(
        title=title,
        lead=lead,
        sections=sections,
        kicker=kicker,
        banner=banner,
        style=_resource("discreet.report", "page.css"),
    )


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


def _resource(package: str, name: str) -> Markup:
    """A file of this package: it is our own, so it needs no escaping."""
    return Markup(files(package).joinpath(name).read_text(encoding="utf-8"))


@cache
def _template() -> Template:
    shared = str(_resource("discreet.report", "table.html.jinja"))
    environment = Environment(
        loader=DictLoader({"table.html.jinja": shared}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.get_template("table.html.jinja")  # read now, and kept
    page = str(_resource("discreet.report.disclosure", "attacks.html.jinja"))
    return environment.from_string("{% from 'table.html.jinja' import table %}" + page)
