"""A second CSV reader, for audits: slow, plain, and written from the rules in docs/schema.md alone.

It shares no code with the engine's. It cuts the bytes into lines first and decodes each line by itself,
so a line that reached into another would show as a difference. For `quoted_line_breaks` it reads one
character after the other.
"""

from __future__ import annotations

from discreet.schema import Schema
from discreet.schema.columns.values import WHITESPACE
from discreet.schema.csv_options import CsvOptions


def reference_rows(
    data: bytes, csv: CsvOptions, longest: int, *, most: int | None = None
) -> list[list[str]]:
    """The fields of each record of a file, its header among them if it has one.

    With `most`, at least so many fields of a line: what stands behind them is not looked at.
    """
    lines = _lines(data, csv.encoding)
    if csv.quoted_line_breaks and csv.quote:
        return _records("\n".join([*lines, ""]) if lines else "", csv, longest)
    return [_fields(line, csv, most) if _size(line) <= longest else [] for line in lines]


def reference_counts(
    data: bytes, schema: Schema, names: tuple[str, ...], longest: int
) -> tuple[int, dict[tuple[int | None, ...], int]]:
    """The number of rows, and how many fall into each joint cell of all declared columns."""
    read = reference_rows(data, schema.csv, longest, most=len(names))
    rows = read[1 if schema.csv.header else 0 :]
    places = [names.index(column.name) for column in schema.columns]
    counts: dict[tuple[int | None, ...], int] = {}
    for row in rows:
        cell = tuple(
            column.code_of(_value(row[place] if place < len(row) else "", schema.csv))
            for column, place in zip(schema.columns, places, strict=True)
        )
        counts[cell] = counts.get(cell, 0) + 1
    return len(rows), counts


def _value(field: str, csv: CsvOptions) -> str | None:
    text = field.strip(WHITESPACE) if csv.trim else field
    return None if text in csv.null_strings else text


def _size(line: str) -> int:
    return len(line.encode())


def _lines(data: bytes, encoding: str) -> list[str]:
    """The lines without their ends, each decoded by itself."""
    if encoding == "utf-16":
        encoding = "utf-16-be" if data[:2] == b"\xfe\xff" else "utf-16-le"
        data = data[2:]
    feed = "\n".encode(encoding)
    unit = len(feed)
    lines, start = [], 0
    for at in range(0, len(data), unit):
        if data[at : at + unit] == feed:
            lines.append(data[start:at])
            start = at + unit
    if start < len(data):
        lines.append(data[start:])
    texts = [line.decode(encoding, errors="replace") for line in lines]
    return [text.removesuffix("\r").removeprefix("\ufeff") for text in texts]


def _fields(line: str, csv: CsvOptions, most: int | None = None) -> list[str]:
    fields: list[str] = []
    at = 0
    while most is None or len(fields) < most:
        field, at, _ = _field(line, at, csv)
        fields.append(field)
        if at == len(line):
            break
        at += 1
    return fields


def _field(
    text: str, at: int, csv: CsvOptions, ends: str = "", stop: int | None = None
) -> tuple[str, int, bool]:
    """The field at a place, where it ends, and whether its quote was closed (or it had none). The text ends at `stop`."""
    start, taken = at, ""
    stop = len(text) if stop is None else min(stop, len(text))
    if csv.trim and " " not in (csv.delimiter, csv.quote):
        while start < stop and text[start] == " ":
            start += 1
    if csv.quote and start < stop and text[start] == csv.quote:
        pieces: list[str] = []
        at = start + 1
        while True:
            closing = text.find(csv.quote, at, stop)
            if closing < 0:
                return "".join([*pieces, text[at:stop]]), stop, False
            if text[closing + 1 : min(closing + 2, stop)] != csv.quote:
                break
            pieces.append(text[at : closing + 1])
            at = closing + 2
        taken, at = "".join([*pieces, text[at:closing]]), closing + 1
    for mark in (csv.delimiter, *ends):  # the later ones look no further than the one before found
        place = text.find(mark, at, stop)
        stop = place if place >= 0 else stop
    end = stop
    return taken + text[at:end], end, True


def _records(text: str, csv: CsvOptions, longest: int) -> list[list[str]]:
    """Records of a text whose last line is ended, with line breaks in quoted fields."""
    records, at = [], 0
    while at < len(text):
        record = _spanning_record(text, at, csv, at + longest + 2)
        line_end = text.index("\n", at)
        if record is not None and _size(text[at : record[1]]) <= longest:
            fields, at = record
        else:
            line, at = text[at:line_end], line_end
            fields = _fields(line, csv) if _size(line) <= longest else []
        records.append(fields)
        at += 1
    return records


def _spanning_record(
    text: str, at: int, csv: CsvOptions, stop: int
) -> tuple[list[str], int] | None:
    """The fields of a record and the place of the line feed that ends it; None if that is not before `stop`.

    A longer record is no record, so nobody looks further: a file of a million open quotes would take hours.
    """
    fields = []
    while True:
        field, at, closed = _field(text, at, csv, "\n", stop)
        if not closed or at >= min(stop, len(text)):
            return None
        fields.append(field)
        if text[at] == "\n":
            return fields, at
        at += 1
