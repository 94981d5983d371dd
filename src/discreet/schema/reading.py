"""A schema from TOML text: every mistake is gathered, none stops the reading."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from typing import Any

from discreet.errors import BadBudget, BadSchema
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.schema.columns.column import Column
from discreet.schema.columns.named import BooleanColumn, CategoryColumn
from discreet.schema.columns.numeric import UNCUT, IntegerColumn, NumberColumn
from discreet.schema.columns.temporal import (
    DATE_GRANULARITIES,
    DATETIME_GRANULARITIES,
    DateColumn,
    DatetimeColumn,
)
from discreet.schema.columns.values import Instant, microseconds_of, plain
from discreet.schema.csv_options import CsvOptions
from discreet.schema.impossible import Impossible, read_impossible
from discreet.schema.table import Table, named, suggestion
from discreet.schema.views import View

_PLACE = re.compile(r"\(at line (\d+), column \d+\)$")
_HEADER = re.compile(r"\s*(\[{1,2})(.*?)\]{0,2}\s*(?:#.*)?")
_PAIR = re.compile(r"\s*([^=\"']+?)\s*=\s*(.*)")
_PART = re.compile(r"\"[^\"]*\"|'[^']*'|[^.]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
LONGEST = 400


def toml_hint(text: str, error: ValueError) -> str:
    """A sentence about the line that an error names, or nothing."""
    found = _PLACE.search(str(error))
    lines = text.splitlines()
    if found is None or int(found[1]) > len(lines):
        return ""
    line = lines[int(found[1]) - 1][:LONGEST]
    header = _HEADER.fullmatch(line)
    if header is not None:
        quoted, end = _quoted(header[2]), "]" * len(header[1])
        return _quote(f"{header[1]}{quoted}{end}") if quoted != header[2].strip() else ""
    pair = _PAIR.fullmatch(line)
    if pair is None:
        return ""
    if (quoted := _quoted(pair[1])) != pair[1]:
        return _quote(f"{quoted} = {pair[2][:60]}")
    if pair[2][:1] in "“”„«‘’" or pair[2][:1].isalpha():
        return f' Put a text in straight quotes, as in {pair[1]} = "...".'
    return ""


def _quote(better: str) -> str:
    return f" A name that is more than ASCII letters, digits, _ and - is quoted, as in {better}."


def _quoted(key: str) -> str:
    """A dotted key with quotes around the parts that need them."""
    parts = [part.strip() for part in _PART.findall(key)]
    return ".".join(
        part if part[:1] in ("'", '"') or _BARE.fullmatch(part) else f'"{part.strip("«»“”„")}"'
        for part in parts
    )


MOST_BYTES = 64 * 2**20
"""A schema longer than this is a mistake, or an attack on the parser."""
MOST_COLUMNS = 10_000
_FACTS = ("dataset", "people", "adjacency", "unit", "cap", "csv", "view")
_DECLARED = ("columns", "impossible", "derived")


@dataclass(slots=True, kw_only=True)
class Parts:
    """What has been read so far, mistakes included."""

    dataset: str = ""
    people: int | None = None
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    identifier: str | None = None
    max_rows: int = 1
    max_groups: int | None = None
    cap: Budget | None = None
    names: list[str] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    csv: CsvOptions = field(default_factory=CsvOptions)
    impossible: list[Impossible] = field(default_factory=list)
    derived: list[tuple[str, str]] = field(default_factory=list)
    view: View | None = None
    mistakes: list[str] = field(default_factory=list)


def read(text: str) -> Parts:
    """The parts of a schema, and all that is wrong with them one by one."""
    parts = Parts(dataset="?", names=["?"])  # stand-ins, until the text is known to be TOML
    if len(text) > MOST_BYTES:
        parts.mistakes.append(f"it is longer than {MOST_BYTES} characters; no schema needs that.")
        return parts
    try:
        data = tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        parts.mistakes.append("it is nested too deeply; a schema has tables of plain values.")
        return parts
    except ValueError as error:  # also a number of too many digits
        parts.mistakes.append(f"it is not TOML: {error}.{toml_hint(text, error)}")
        return parts
    top = Table(data, "At the top", parts.mistakes)
    top.only(*_FACTS, *_DECLARED)
    # a name of the wrong type has its mistake already; the stand-in avoids a second one
    parts.dataset = top.text("dataset", "?" if "dataset" in data else "", hint="the dataset's name")
    parts.people = top.whole("people", None, hint="roughly how many people the table is about")
    parts.adjacency = Adjacency(top.choice("adjacency", tuple(Adjacency), Adjacency.ADD_REMOVE))
    _unit(top.table("unit"), parts)
    _cap(top.table("cap"), parts)
    _csv(top.table("csv"), parts)
    _view(top.table("view"), parts)
    columns = top.table("columns")
    parts.names = [] if columns is not None or "columns" not in data else ["?"]
    if columns is not None:
        _columns(columns.data, parts)
    if "impossible" in data:
        parts.impossible = read_impossible(data["impossible"], parts.mistakes)
    if (derived := top.table("derived")) is not None:
        hint = "an expression of another column"
        parts.derived = [(name, derived.text(name, "", hint=hint)) for name in derived.data]
    return parts


def _unit(table: Table | None, parts: Parts) -> None:
    if table is None:
        return
    table.only("identifier", "max_rows", "max_groups")
    parts.identifier = table.text("identifier", None, hint="the column that identifies a person")
    counted = {
        "max_rows": (1, "how many rows of a person are kept at most"),
        "max_groups": (None, "in how many groups a person counts at most"),
    }
    for name, (usual, hint) in counted.items():
        most = table.whole(name, usual, hint=hint)
        if most is not None and most < 1:
            table.wrong(f"`{name}` is {most}; it must be at least 1.")
        elif most != usual and "identifier" not in table.data:
            table.wrong(f"`{name}` needs an `identifier`: without one, the unit is a single row.")
        else:
            setattr(parts, name, most)


CAP_NUMBERS = ("epsilon", "delta", "rho", "mu")


def _cap(table: Table | None, parts: Parts) -> None:
    if table is None:
        return
    table.only(*CAP_NUMBERS)
    amounts: dict[str, Any] = {}
    for name in CAP_NUMBERS:
        value = table.data.get(name)
        if value is not None and not table.unfilled(name, value, 'a number, as in "1/2"'):
            amounts[name] = value
    if len(amounts) < len(table.data.keys() & set(CAP_NUMBERS)):
        return
    try:
        parts.cap = Budget(**amounts)
    except BadBudget as error:
        table.wrong(str(error))


def _csv(table: Table | None, parts: Parts) -> None:
    if table is None:
        return
    usual = {option.name: option.default for option in fields(CsvOptions)}
    table.only(*usual)
    read: dict[type, Any] = {bool: table.flag, str: table.text, tuple: table.texts}
    names = table.texts("names", None, hint="the file's columns in order")
    del usual["names"]
    usual["header"] = names is None
    found = {name: read[type(default)](name, default) for name, default in usual.items()}
    try:
        parts.csv = CsvOptions(names=names, **found)
    except BadSchema as error:
        parts.mistakes += error.mistakes


def _view(table: Table | None, parts: Parts) -> None:
    if table is None:
        return
    table.only("sql", "tables", "public")
    sql = table.text("sql", "", hint="the SELECT that joins the tables")
    files = table.table("tables")
    listed = {} if files is None else files.data
    if not all(isinstance(file, str) for file in listed.values()):
        table.wrong('`tables` names a file for each table, as in { visits = "visits.parquet" }.')
        return
    public = table.texts("public", (), hint="the tables that hold nothing about anyone")
    try:
        parts.view = View(sql, tuple(listed.items()), public, parts.identifier or "")
    except BadSchema as error:
        parts.mistakes += error.mistakes


def _columns(tables: dict[str, Any], parts: Parts) -> None:
    parts.names = list(tables)
    if len(tables) > MOST_COLUMNS:
        parts.mistakes.append(f"There are {len(tables)} columns; at most {MOST_COLUMNS} are read.")
        return
    for name, data in tables.items():
        where = f"Column {name!r}"
        if not isinstance(data, dict):
            parts.mistakes.append(f"{where} is {named(data)}; declare it as a table with a `kind`.")
            continue
        table = Table(data, where, parts.mistakes)
        kind = data.get("kind")
        if kind is None:
            table.wrong(f"`kind` is missing; write one of {', '.join(KINDS)}.")
        elif table.unfilled("kind", kind, f"one of {', '.join(KINDS)}"):
            pass
        elif not isinstance(kind, str) or kind not in KINDS:
            hint = suggestion(kind, KINDS) or f"; write one of {', '.join(KINDS)}."
            table.wrong(f"`kind` is {kind!r}{hint}")
        else:
            try:
                column = KINDS[kind](name, table)
            except BadSchema as error:
                parts.mistakes += error.mistakes
            else:
                parts.columns += [] if column is None else [column]


def _category(name: str, table: Table) -> Column | None:
    table.only("kind", "values", "other", "nulls", "undeclared")
    undeclared = table.flag("undeclared", False)
    values = () if undeclared and "values" not in table.data else table.category_values()
    other, nulls = table.flag("other", True), table.nulls()
    return None if values is None else CategoryColumn(name, values, other, nulls, undeclared)


def _boolean(name: str, table: Table) -> Column | None:
    table.only("kind", "nulls")
    return BooleanColumn(name, table.nulls())


def _integer(name: str, table: Table) -> Column | None:
    table.only("kind", "range", "width", "outside", "nulls")
    ends = table.pair("range", (int,), "the lowest and the highest integer, as in [0, 119]")
    width = table.whole("width", 1, hint="how many integers share a cell")
    outside, nulls = table.outside(), table.nulls()
    return None if ends is None else IntegerColumn(name, ends[0], ends[1], width, outside, nulls)


def _number(name: str, table: Table) -> Column | None:
    table.only("kind", "bounds", "bits", "cuts", "closed", "outside", "nulls")
    ends = table.pair(
        "bounds", (int, float), "the lowest and the highest number, as in [0.0, 100.0]"
    )
    before = len(table.mistakes)
    bits = table.whole("bits", None, hint="as in 10, for 2^10 equal cells")
    cuts = table.numbers("cuts")
    closed = table.choice("closed", ("left", "right"), "left")
    outside, nulls = table.outside(), table.nulls()
    if ends is None:
        if "bits" not in table.data and "cuts" not in table.data:
            table.wrong(UNCUT)
        return None
    if len(table.mistakes) > before and bits is None and cuts is None:
        bits = 1 if "bits" in table.data or "cuts" in table.data else None
    return NumberColumn(name, ends[0], ends[1], bits, cuts, closed, outside, nulls)  # type: ignore[arg-type]


def _date(name: str, table: Table) -> Column | None:
    table.only("kind", "range", "granularity", "outside", "nulls")
    ends = _moments(table, "the first and the last date, as in [2000-01-01, 2029-12-31]", _as_date)
    granularity = table.choice("granularity", DATE_GRANULARITIES, "day")
    outside, nulls = table.outside(), table.nulls()
    return None if ends is None else DateColumn(name, *ends, granularity, outside, nulls)


def _datetime(name: str, table: Table) -> Column | None:
    table.only("kind", "range", "granularity", "outside", "nulls")
    hint = "the first and the last moment, as in [2000-01-01T00:00:00, 2029-12-31T23:59:59]"
    ends = _moments(table, hint, _as_datetime)
    granularity = table.choice("granularity", DATETIME_GRANULARITIES, "second")
    outside, nulls = table.outside(), table.nulls()
    return None if ends is None else DatetimeColumn(name, *ends, granularity, outside, nulls)


def _moments(table: Table, hint: str, convert: Callable[[Any], Any]) -> tuple[Any, Any] | None:
    ends = table.pair("range", (date, str), hint)
    if ends is None:
        return None
    low, high = convert(ends[0]), convert(ends[1])
    if low is None or high is None:
        table.wrong(f"`range` is {[str(end) for end in ends]}; give {hint}.")
        return None
    return low, high


def _as_date(end: date | str) -> date | None:
    if isinstance(end, date):
        return None if isinstance(end, datetime) else end
    try:
        return date.fromisoformat(end)
    except ValueError:
        return None


def _as_datetime(end: date | str) -> datetime | None:
    moment = plain(end)
    if not isinstance(moment, Instant):
        instant = microseconds_of(end)
        if instant is None:
            return None
        moment = Instant(instant)
    return moment.as_datetime()


KINDS: dict[str, Callable[[str, Table], Column | None]] = {
    "category": _category,
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "date": _date,
    "datetime": _datetime,
}
"""Each kind's name in TOML, and what reads it."""
