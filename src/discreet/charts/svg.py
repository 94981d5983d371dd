"""The few SVG elements that the charts need. Every text and attribute is escaped here, in one place."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape


def number(value: float) -> str:
    """A coordinate: a tenth of a pixel is enough, and short."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def element(tag: str, *children: str | Markup, **attributes: str | float) -> Markup:
    """`<tag ...>children</tag>`; `class_` is class, `text_anchor` is text-anchor."""
    written = Markup("").join(
        Markup(' {}="{}"').format(
            Markup(name.rstrip("_").replace("_", "-")),
            value if isinstance(value, str) else number(value),
        )
        for name, value in attributes.items()
    )
    if not children:
        return Markup("<{0}{1}/>").format(Markup(tag), written)
    inside = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), written, inside)


def rectangles(boxes: Iterable[tuple[float, float, float, float]]) -> str:
    """A path of boxes (x, y, width, height): many bars in one element keep the page small."""
    return "".join(
        f"M{number(x)} {number(y)}h{number(width)}v{number(height)}h{number(-width)}z"
        for x, y, width, height in boxes
    )


def picture(
    name: str, title: str, description: str, width: float, height: float, *children: Markup
) -> Markup:
    """An `<svg>` that a screen reader can announce: a title, a description, both linked."""
    return element(
        "svg",
        element("title", title, id=f"{name}-t"),
        element("desc", description, id=f"{name}-d"),
        *children,
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="img",
        aria_labelledby=f"{name}-t {name}-d",
    )
