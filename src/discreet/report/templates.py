"""Pages from templates of this package, with autoescaping on and one style."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined, Template
from markupsafe import Markup

from discreet.artifacts.files import making_a_tree


def rendered(package: str, name: str, content: dict[str, Any]) -> str:
    """A page as one HTML text, from the template `name` of a package."""
    with making_a_tree:  # the first thread reads the template
        template = _template(package, name)
    return template.render(content, style=_resource("discreet.report", "page.css"))


def _resource(package: str, name: str) -> Markup:
    """A file of a package: it is our own, so it needs no escaping."""
    return Markup(files(package).joinpath(name).read_text(encoding="utf-8"))


@cache
def _template(package: str, name: str) -> Template:
    shared = str(_resource("discreet.report", "table.html.jinja"))
    environment = Environment(
        loader=DictLoader({"table.html.jinja": shared}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.get_template("table.html.jinja")  # read now, and kept
    page = str(_resource(package, name))
    return environment.from_string("{% from 'table.html.jinja' import table %}" + page)
