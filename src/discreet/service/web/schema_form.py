"""A schema as a form: each column's kind and bounds in boxes, for those who would rather not write TOML.

The form holds what most tables need. A schema with more in it (a view, cuts, CSV options, rules about
impossible cells) is edited as text.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.schema.columns.column import PLACEHOLDER
from discreet.schema.writing import key

KINDS = ("category", "boolean", "integer", "number", "date", "datetime")
GRANULARITIES = ("day", "week", "month", "quarter", "year", "hour", "minute", "second")
TOP = {"dataset", "people", "adjacency", "unit", "cap", "columns"}
OF_A_COLUMN = {"kind", "values", "range", "bounds", "width", "bits", "granularity"}
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class ColumnFields:
    """One column, as it stands in the boxes."""

    name: str
    kind: str = ""
    values: str = ""
    low: str = ""
    high: str = ""
    width: str = ""
    bits: str = ""
    granularity: str = "year"


@dataclass(frozen=True, slots=True)
class SchemaFields:
    """The whole form."""

    dataset: str
    people: str
    adjacency: str
    identifier: str
    max_rows: str
    cap: str
    columns: tuple[ColumnFields, ...]


def fields_of(text: str) -> SchemaFields | None:
    """The boxes' contents for a schema; None where the form would lose something of it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    columns = data.get("columns", {})
    unit, cap = data.get("unit", {}), data.get("cap", {})
    fits = (
        set(data) <= TOP
        and all(isinstance(each, dict) for each in (columns, unit, cap))
        and set(unit) <= {"identifier", "max_rows"}
        and set(cap) <= {"epsilon"}
        and all(isinstance(each, dict) and set(each) <= OF_A_COLUMN for each in columns.values())
    )
    if not fits:
        return None
    return SchemaFields(
        dataset=_text(data.get("dataset")),
        people=_text(data.get("people")),
        adjacency=_text(data.get("adjacency")) or "add-remove",
        identifier=_text(unit.get("identifier")),
        max_rows=_text(unit.get("max_rows")) or "1",
        cap=_text(cap.get("epsilon")),
        columns=tuple(_column(name, each) for name, each in columns.items()),
    )


def _column(name: str, data: Mapping[str, Any]) -> ColumnFields:
    ends = data.get("range", data.get("bounds", ()))
    low, high = ends if isinstance(ends, list) and len(ends) == 2 else ("", "")
    values = data.get("values", ())
    return ColumnFields(
        name=name,
        kind=_text(data.get("kind")),
        values="\n".join(filter(None, map(_text, values if isinstance(values, list) else ()))),
        low=_text(low),
        high=_text(high),
        width=_text(data.get("width")),
        bits=_text(data.get("bits")),
        granularity=_text(data.get("granularity")) or "year",
    )


def _text(value: Any) -> str:
    return "" if value is None or value == PLACEHOLDER else str(value)


def toml_of(fields: Mapping[str, str]) -> str:
    """The schema that a form says, as TOML. What is left empty stays a blank, which the check names."""
    lines = [f"dataset = {_quoted(fields.get('dataset', ''))}"]
    if fields.get("people"):
        lines.append(f"people = {_bare(fields['people'])}")
    lines.append(f"adjacency = {_quoted(fields.get('adjacency') or 'add-remove')}")
    if fields.get("identifier"):
        lines += ["", "[unit]", f"identifier = {_quoted(fields['identifier'])}"]
        lines.append(f"max_rows = {_bare(fields.get('max_rows') or '1')}")
    if fields.get("cap"):
        lines += ["", "[cap]", f"epsilon = {_quoted(fields['cap'])}"]
    for at in range(_many(fields)):
        if fields.get(f"use {at}") == "yes":
            own = {name: fields.get(f"{name} {at}", "") for name in ("name", "kind", *_BOXES)}
            lines += ["", *_column_lines(own)]
    return "\n".join(lines) + "\n"


_BOXES = ("values", "low", "high", "width", "bits", "granularity")


def _many(fields: Mapping[str, str]) -> int:
    text = fields.get("columns", "0")
    return min(int(text), 2000) if text.isdigit() and len(text) < 5 else 0


def _column_lines(own: Mapping[str, str]) -> list[str]:
    kind = own["kind"]
    lines = [f"[columns.{key(own['name'])}]", f"kind = {_quoted(kind)}"]
    match kind:
        case "category":
            values = [each.strip() for each in own["values"].replace("\r", "").split("\n")]
            listed = ", ".join(json.dumps(each, ensure_ascii=False) for each in values if each)
            lines.append(f"values = [{listed or json.dumps(PLACEHOLDER)}]")
        case "integer":
            lines.append(f"range = [{_bare(own['low'])}, {_bare(own['high'])}]")
            if own["width"]:
                lines.append(f"width = {_bare(own['width'])}")
        case "number":
            lines.append(f"bounds = [{_bare(own['low'])}, {_bare(own['high'])}]")
            lines.append(f"bits = {_bare(own['bits'] or '5')}")
        case "date" | "datetime":
            lines.append(f"range = [{_quoted(own['low'])}, {_quoted(own['high'])}]")
            lines.append(f"granularity = {_quoted(own['granularity'])}")
    return lines


def _quoted(text: str) -> str:
    return json.dumps(text.strip() or PLACEHOLDER, ensure_ascii=False)


def _bare(text: str) -> str:
    """A number as it is; anything else as a text, which the check refuses in its own words."""
    return text.strip() if _NUMBER.fullmatch(text.strip()) else _quoted(text)
