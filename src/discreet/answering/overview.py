"""`Overview`: what a release holds and what can be asked of it, on one screen.

The examples are tried before they are shown: a release answers each of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from discreet.artifacts.release import ErrorClaim, Release
from discreet.artifacts.statement import privacy_statement
from discreet.artifacts.text_tables import plain_number
from discreet.errors import BadQuestion, NotAnswerable
from discreet.queries.registry import merged
from discreet.questions.cells.values import LAST
from discreet.questions.spelling import quoted, readable_name
from discreet.schema import Column, OrderedColumn, Schema

MOST_VALUES = 6
"""Values of a category that are listed."""
LONGEST = 70


@dataclass(frozen=True, slots=True)
class Overview:
    """Columns, query classes with an example each, who is protected, and the cost.

    Thread safe: it never changes.
    """

    dataset: str
    columns: tuple[tuple[str, str, str], ...]
    """Name, kind, and values or bounds of each."""
    classes: tuple[tuple[str, str, str], ...]
    """Text, error and an example question of each class."""
    protection: str
    cost: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "dataset": self.dataset,
            "columns": [
                dict(zip(("name", "kind", "values"), each, strict=True)) for each in self.columns
            ],
            "classes": [
                dict(zip(("class", "error", "example"), each, strict=True)) for each in self.classes
            ],
            "protection": self.protection,
            "cost": self.cost,
        }

    def __str__(self) -> str:
        wide = max(len(name) for name, _, _ in self.columns)
        kinds = max(len(kind) for _, kind, _ in self.columns)
        lines = [
            f"A release of {self.dataset!r}, with {self.cost}.",
            self.protection,
            "",
            "Columns",
        ]
        lines += [
            f"  {name:<{wide}}  {kind:<{kinds}}  {values}" for name, kind, values in self.columns
        ]
        lines += ["", "What it was made for, and an example of each"]
        for text, error, example in self.classes:
            lines.append(f"  {text}" + (f": {error}" if error else ""))
            if example:
                lines.append(f"    {example}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def rows(table: tuple[tuple[str, str, str], ...]) -> str:
            return "".join(
                "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
                for row in table
            )

        return (
            f"<p>A release of <b>{escape(self.dataset)}</b>, with {escape(self.cost)}. {escape(self.protection)}</p>"
            f"<table><tr><th>column</th><th>kind</th><th>values</th></tr>{rows(self.columns)}</table>"
            f"<table><tr><th>made for</th><th>error</th><th>example</th></tr>{rows(self.classes)}</table>"
        )


def overview(release: Release, ask: Callable[[str], object]) -> Overview:
    """What a release holds; `ask` answers a question, so that examples can be tried."""
    schema = release.schema
    classes: list[tuple[str, str, str]] = []
    for text in dict.fromkeys(release.workload):
        claims = [claim for claim in telling_claims(release) if claim.query_class == text]
        error = ""
        if claims:
            claim = min(claims, key=lambda each: each.simultaneous)
            among = f"the {claim.among}" if claim.among else "its queries"
            whose = f"any of {among}" if claim.simultaneous else "a query"
            error = (
                f"{whose} is off by at most {plain_number(claim.bound)}, at {claim.confidence:.4g}"
            )
        example = next((sql for sql in _examples(text, schema) if _is_answered(ask, sql)), "")
        classes.append((text, error, example))
    return Overview(
        dataset=schema.dataset,
        columns=tuple((column.name, column.kind, described(column)) for column in schema.columns),
        classes=tuple(classes),
        protection=privacy_statement(release).words[0],
        cost=str(release.budget),
    )


def telling_claims(release: Release) -> list[ErrorClaim]:
    """The error claims without those that say nothing: a bound of each query alone that is no smaller than one of all at once."""
    together = {
        (claim.query_class, claim.confidence): claim.bound
        for claim in release.claims
        if claim.simultaneous and not claim.among
    }
    return [
        claim
        for claim in release.claims
        if claim.simultaneous
        or claim.bound < together.get((claim.query_class, claim.confidence), math.inf)
    ]


def described(column: Column) -> str:
    """A column's values or bounds in a few words."""
    if isinstance(column, OrderedColumn):
        first, last = column.value_in(0, 0), column.value_in(column.value_cells - 1, LAST)
        text = f"{_plain(first)} to {_plain(last)}, {column.value_cells:,} cells"
    else:
        labels = [column.label(code) for code in range(min(column.value_cells, MOST_VALUES))]
        more = column.value_cells - len(labels)
        text = ", ".join(labels) + (f" and {more:,} more" if more else "") or "none declared"
    extra = [
        name
        for name, there in (("others", column.has_other), ("nulls", column.null_cell is not None))
        if there
    ]
    text = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    return text + (f"; also {' and '.join(extra)}" if extra else "")


def _plain(value: object) -> str:
    """A number without a needless fraction, and with its thousands set apart; all else as it is."""
    if isinstance(value, float):
        return f"{int(value):,}" if value.is_integer() else f"{value:,}"
    return str(value)


def _examples(text: str, schema: Schema) -> Iterator[str]:
    """Questions that a class of this text may be made for, the likeliest first."""
    table = readable_name(schema.dataset)
    places = {
        name: found.start()
        for name in schema.names
        if (found := re.search(rf"(?<!\w){re.escape(quoted(name))}(?!\w)", text))
    }
    named = sorted(places, key=places.__getitem__) or list(schema.names[:2])
    listed = ", ".join(map(readable_name, named))
    first, *others = (schema.column(name) for name in named)
    name = readable_name(first.name)
    form = merged("shown_as").get(text.partition("(")[0])
    if form in ("avg", "sum", "median"):
        keys = ", ".join(readable_name(each.name) for each in others)
        if " by " in text and keys:
            yield f"SELECT {keys}, {form}({name}) FROM {table} GROUP BY {keys}"
        yield f"SELECT {form}({name}) FROM {table}"
    if form == "condition" and "(" in text:
        yield f"SELECT count(*) FROM {table} WHERE {text.partition('(')[2].rstrip(')').partition(',')[0].strip()}"
        if len(named) > 1:
            yield f"SELECT count(*) FROM {table} WHERE {' + '.join(map(readable_name, named[:2]))} >= 0"
    if isinstance(first, OrderedColumn) and form == "range":
        ends = [first.value_in(first.value_cells * part // 4, 0) for part in (1, 3)]
        low, high = (each if isinstance(each, int | float) else f"'{each}'" for each in ends)
        yield f"SELECT count(*) FROM {table} WHERE {name} BETWEEN {low} AND {high}"
    yield f"SELECT {listed}, count(*) FROM {table} GROUP BY {listed} ORDER BY count(*) DESC LIMIT 5"
    yield f"SELECT {name}, count(*) FROM {table} GROUP BY {name}"
    yield f"SELECT count(*) FROM {table}"


def _is_answered(ask: Callable[[str], object], sql: str) -> bool:
    try:
        ask(sql)
    except (BadQuestion, NotAnswerable):
        return False
    return True
