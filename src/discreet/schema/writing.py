"""A schema as TOML text: canonical, so that equal schemas give equal texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from datetime import date, datetime
from typing import TYPE_CHECKING

from discreet.schema.columns.column import Column
from discreet.schema.columns.named import BooleanColumn, CategoryColumn
from discreet.schema.columns.numeric import IntegerColumn, NumberColumn
from discreet.schema.columns.temporal import DateColumn, DatetimeColumn
from discreet.schema.csv_options import CsvOptions
from discreet.schema.impossible import Impossible

if TYPE_CHECKING:
    from discreet.schema.schema import Schema

Scalar = str | bool | int | float | date | datetime
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHORT_LINE = 96
_ALWAYS_WRITTEN = ("header", "delimiter", "quote", "trim", "null_strings", "encoding")


def write(schema: Schema) -> str:
    """The schema as TOML."""
    unit, cap, csv, view = schema.unit, schema.cap, schema.csv, schema.view
    lines = [line("dataset", schema.dataset)]
    if schema.people is not None:
        lines.append(line("people", schema.people))
    lines.append(line("adjacency", schema.adjacency.value))
    if unit.identifier is not None:
        lines += ["", "[unit]", line("identifier", unit.identifier)]
        lines += [line("max_rows", unit.max_rows)]
        lines += [] if unit.max_groups is None else [line("max_groups", unit.max_groups)]
    if cap is not None:
        # exact, as text: a TOML float would round a rational such as 1/3
        amount = line(cap.notion.words, str(cap.number))
        lines += ["", "[cap]", amount, line("delta", str(cap.delta))]
    if csv != CsvOptions():
        lines += ["", "[csv]"]
        for option in fields(csv):
            value = getattr(csv, option.name)
            if option.name in _ALWAYS_WRITTEN or value != option.default:
                lines.append(line(option.name, list(value) if isinstance(value, tuple) else value))
    if view is not None:
        tables = ", ".join(f"{key(name)} = {quoted(file)}" for name, file in view.tables)
        lines += ["", "[view]", line("sql", view.sql), f"tables = {{ {tables} }}"]
        lines += [line("public", list(view.public))] if view.public else []
    for column in schema.columns:
        lines += ["", f"[columns.{key(column.name)}]", line("kind", column.kind), *_fields(column)]
        lines.append(line("nulls", column.nulls))
    for rule in schema.impossible:
        lines += ["", "[[impossible]]", *_tests(rule)]
    if schema.derived:
        lines += ["", "[derived]", *(line(key(name), text) for name, text in schema.derived)]
    return "\n".join(lines) + "\n"


def _fields(column: Column) -> list[str]:
    match column:
        case CategoryColumn(undeclared=True):
            return [line("undeclared", True)]
        case CategoryColumn():
            return [line("values", list(column.values)), line("other", column.other)]
        case BooleanColumn():
            return []
        case IntegerColumn():
            fields = [line("range", [column.low, column.high]), line("width", column.width)]
        case NumberColumn():
            fields = [line("bounds", [column.low, column.high])]
            if column.bits is not None:
                fields.append(line("bits", column.bits))
            if column.cuts is not None:
                fields.append(line("cuts", list(column.cuts)))
            fields.append(line("closed", column.closed))
        case DateColumn() | DatetimeColumn():
            fields = [line("range", [column.low, column.high])]
            fields.append(line("granularity", column.granularity))
        case _:
            raise TypeError(f"The kind {column.kind!r} has no TOML form.")
    return [*fields, line("outside", column.outside)]


def _tests(rule: Impossible) -> list[str]:
    """One line a column: `age = { "<" = 15 }`."""
    lines = []
    for name in rule.columns:
        tests = []
        for test in rule.tests:
            if test.column == name:
                held = True if test.literal is None else test.literal
                tests.append(f"{key(test.operator)} = {scalar(held)}")
        lines.append(f"{key(name)} = {{ {', '.join(tests)} }}")
    return lines


def line(name: str, value: Scalar | Sequence[Scalar]) -> str:
    """`name = value`."""
    if not isinstance(value, list):
        return f"{name} = {scalar(value)}"
    parts = [scalar(part) for part in value]
    short = f"{name} = [{', '.join(parts)}]"
    if len(short) <= _SHORT_LINE:
        return short
    return "\n".join([f"{name} = [", *(f"    {part}," for part in parts), "]"])


def key(name: str) -> str:
    """A TOML key: bare where it can be, else quoted."""
    return name if _BARE.fullmatch(name) else quoted(name)


def scalar(value: Scalar | Sequence[Scalar]) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case int() | float():
            return repr(value)
        case date():  # datetime as well
            return value.isoformat()
        case tuple():
            return f"[{', '.join(map(scalar, value))}]"
    raise TypeError(f"A {type(value).__name__} has no TOML form here.")


def quoted(text: str) -> str:
    """A basic string, with every control character escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda one: f"\\u{ord(one[0]):04x}", escaped) + '"'
