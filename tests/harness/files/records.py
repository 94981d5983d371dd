"""Files for audits, and records of arbitrary bytes to put into them.

A CSV record is any bytes without a line feed; of UTF-16, any units of two bytes without one. Half of the
records are as a program would write them, the others are made of tokens that readers stumble over, of
random bytes, of pieces of other records, or are as long as a line may be, give or take a few bytes.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.schema import Schema
from discreet.schema.csv_options import CsvOptions

if TYPE_CHECKING:
    from numpy.random import Generator

NAMES = ("note", "age", "city", "pay", "ok")
"""The columns of every file, in order; the first one is not declared."""
COLUMNS = """
[columns.age]
kind = "integer"
range = [0, 99]
width = 25
[columns.city]
kind = "category"
values = ["Ulm", "Köln", "a,b", "it's"]
nulls = "exclude"
[columns.pay]
kind = "number"
bounds = [0.0, 100.0]
bits = 2
[columns.ok]
kind = "boolean"
"""
LIKELY = (
    ("", "n", "x y"),
    ("7", "42", "99", "-1", "", "x", " 12 ", "1e1"),
    ("Ulm", "Köln", "a,b", "it's", "Bonn", ""),
    ("0", "50.5", "1e9", "", "nan"),
    ("true", "no", "", "?"),
)
TEXTS = (
    '"', '""', '"""', "'", "''", "\r", "\r\r", "\0", "\ufeff", ",", ";", "\t", "|", ":", "§", ",,,,,,",
    "\x02", "\x03", "\x1a", "\x1f", "\x85", "\u2028", "\\", '\\"', "#", " ", '","', '",', ',"', "7", "Ulm", "Köln",
    "NA", "true", "\U0001f600", "-", "^",
)  # fmt: skip
BYTES = (
    b"\xff", b"\xfe", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xef\xbb", b"\xc3", b"\xe2\x80", b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80", b"\xc0\x80", b"\x80", b"\x81", b"\x92", b"\x9d", b"\x00", b"\x00\x00", b"\x00\xd8", b"\xd8\x00",
    b"\x00\xdc", b"\xdc\x00", b"\r", b"\x1f\x8b",
)  # fmt: skip
DIALECTS: tuple[dict[str, object], ...] = (
    {}, {}, {}, {"quote": ""}, {"quote": "'"}, {"delimiter": ";"}, {"delimiter": "\t", "quote": ""}, {"delimiter": "|"},
    {"delimiter": "§"}, {"delimiter": " "}, {"quote": "^"}, {"trim": True}, {"null_strings": ()},
    {"null_strings": ("NA", "?"), "trim": True}, {"header": False, "names": NAMES}, {"names": NAMES},
)  # fmt: skip
ENCODINGS = ("utf-8", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252")


@dataclass(frozen=True, slots=True)
class CsvFile:
    """The records of a CSV file, and what stands around them."""

    schema: Schema
    records: tuple[bytes, ...]
    """Without the header and without line ends."""
    mark: str = ""
    """Before everything, where the encoding allows it."""
    line_end: str = "\n"
    ends_last_line: bool = True
    packed: bool = False

    def content(self) -> bytes:
        csv = self.schema.csv
        encoding = csv.encoding
        start = b"" if encoding in ("latin-1", "cp1252") else self.mark.encode(_codec(csv))
        end = self.line_end.encode(_codec(csv))
        header = [csv.delimiter.join(NAMES).encode(_codec(csv))] if csv.header else []
        lines = [*header, *self.records]
        if not lines and csv.encoding != "utf-16":
            start = b""  # a mark alone would be a line
        last = end if self.ends_last_line or (lines and not lines[-1]) else b""
        return start + end.join(lines) + (last if lines else b"")

    def write(self, folder: Path) -> str:
        path = folder / ("file.csv.gz" if self.packed else "file.csv")
        data = self.content()
        path.write_bytes(gzip.compress(data, 1) if self.packed else data)
        return str(path)


def _codec(csv: CsvOptions) -> str:
    """`utf-16` files are written in the order that their mark says: here, little-endian."""
    return "utf-16-le" if csv.encoding == "utf-16" else csv.encoding


def random_schema(generator: Generator, *, spans: bool = False) -> Schema:
    options: dict[str, object] = dict(DIALECTS[generator.integers(len(DIALECTS))])
    options["encoding"] = ENCODINGS[generator.integers(len(ENCODINGS))]
    options["quoted_line_breaks"] = spans
    declared = Schema.loads('dataset = "fuzz"\n' + COLUMNS)
    csv = CsvOptions(**options)  # type: ignore[arg-type]
    return Schema(dataset="fuzz", columns=declared.columns, csv=csv)


PLAINEST = Schema.loads('dataset = "fuzz"\n' + COLUMNS)
"""As most files are: UTF-8, commas, double quotes, a header."""


def random_file(
    generator: Generator, *, longest: int, spans: bool = False, schema: Schema | None = None
) -> CsvFile:
    schema = schema or random_schema(generator, spans=spans)
    count = int(generator.integers(0, 12))
    records: list[bytes] = []
    for _ in range(count):
        records.append(random_record(generator, schema.csv, records, longest=longest))
    marked = schema.csv.encoding == "utf-16" or generator.integers(4) == 0
    return CsvFile(
        schema,
        tuple(records),
        mark="\ufeff" if marked else "",
        line_end="\r\n" if generator.integers(4) == 0 else "\n",
        ends_last_line=bool(generator.integers(4)),
        packed=generator.integers(6) == 0,
    )


def random_record(
    generator: Generator, csv: CsvOptions, others: Sequence[bytes], *, longest: int
) -> bytes:
    kind = generator.integers(10)
    codec = _codec(csv)
    if kind < 4:
        record = _written(generator, csv).encode(codec, errors="replace")
    elif kind < 6:
        record = _tokens(generator, csv, int(generator.integers(0, 9)))
    elif kind < 7:
        record = generator.bytes(int(generator.integers(0, 40)))
    elif kind < 9:
        record = _altered(generator, _written(generator, csv).encode(codec, "replace"), others, csv)
    else:
        record = _long(generator, csv, codec, longest)
    return without_feeds(record, codec)


def without_feeds(record: bytes, codec: str) -> bytes:
    """Bytes that are one record: no line feed, and whole units."""
    if not codec.startswith("utf-16"):
        return record.replace(b"\n", b"\x0b")
    record = record[: len(record) // 2 * 2]
    feed = "\n".encode(codec)
    if feed not in record:
        return record
    units = [record[at : at + 2] for at in range(0, len(record), 2)]
    return b"".join(b"\x0b\x0b" if unit == feed else unit for unit in units)


def _written(generator: Generator, csv: CsvOptions) -> str:
    """A record as a program would write it."""
    fields = []
    for likely in LIKELY:
        field = likely[generator.integers(len(likely))]
        if csv.quote and (csv.delimiter in field or generator.integers(3) == 0):
            field = csv.quote + field.replace(csv.quote, csv.quote * 2) + csv.quote
        fields.append(field)
    return csv.delimiter.join(fields)


def _tokens(generator: Generator, csv: CsvOptions, count: int) -> bytes:
    """Half of them are those of the file's own dialect."""
    sharp = (csv.quote, csv.delimiter + csv.quote, csv.quote * 2, csv.delimiter, "\r")
    found, codec = b"", _codec(csv)
    for _ in range(count):
        kind = generator.integers(6)
        if kind < 3:
            found += sharp[generator.integers(len(sharp))].encode(codec, errors="replace")
        elif kind < 5:
            found += TEXTS[generator.integers(len(TEXTS))].encode(codec, errors="replace")
        else:
            found += BYTES[generator.integers(len(BYTES))]
    return found


def _altered(
    generator: Generator, record: bytes, others: Sequence[bytes], csv: CsvOptions
) -> bytes:
    """A few bytes of a record replaced by tokens, by a piece of another record, or by nothing."""
    for _ in range(generator.integers(1, 4)):
        start, end = sorted(generator.integers(0, len(record) + 1, size=2).tolist())
        if generator.integers(2):
            end = start
        other = others[int(generator.integers(len(others)))] if others else b""
        cut = int(generator.integers(0, len(other) + 1))
        piece = (_tokens(generator, csv, 1), other[cut : cut + 20], b"")[generator.integers(3)]
        record = record[:start] + piece + record[end:]
    return record


def _long(generator: Generator, csv: CsvOptions, codec: str, longest: int) -> bytes:
    start = _written(generator, csv) + (csv.delimiter, csv.quote, "")[generator.integers(3)]
    wanted = longest + int(generator.integers(-3, 4)) - len(start.encode())
    if generator.integers(4) == 0:
        wanted *= 3
    text = ("x", "é", csv.delimiter, csv.quote or "x")[generator.integers(4)]
    return (start + text * max(wanted // len(text.encode()), 0)).encode(codec, errors="replace")


def changed(file: CsvFile, generator: Generator, *, longest: int) -> tuple[str, tuple[bytes, ...]]:
    """One record inserted, deleted or changed: how, and the records."""
    records = list(file.records)
    fresh = random_record(generator, file.schema.csv, records, longest=longest)
    how = ("insert", "delete", "change")[generator.integers(3)]
    place = int(generator.integers(0, len(records) + 1))
    if how == "insert" or not records:
        records.insert(place, fresh)
        return "insert", tuple(records)
    place %= len(records)
    records[place : place + 1] = [fresh] if how == "change" else []
    return how, tuple(records)
