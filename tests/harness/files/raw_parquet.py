"""Parquet files that a writer would not make: any physical type under any annotation, and any bytes in it.

A type of Parquet is two: what is stored, and an annotation that says how to read it. Nothing keeps a value within
the annotation, and readers differ in what they then do: they drop its upper bits, or stop.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TRUE, BYTE, INT32, INT64, BINARY, LIST, STRUCT = 1, 3, 5, 6, 8, 9, 12
"""Types of Thrift's compact protocol, which the end of a file is written in."""
Field = tuple[int, int, Any]
PHYSICAL = {
    name: number
    for number, name in enumerate(
        ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
    )
}  # fmt: skip
CONVERTED = {
    "UTF8": 0, "ENUM": 4, "DATE": 6, "TIME_MILLIS": 7, "TIME_MICROS": 8, "TIMESTAMP_MILLIS": 9,
    "TIMESTAMP_MICROS": 10, "UINT_8": 11, "UINT_16": 12, "UINT_32": 13, "UINT_64": 14, "INT_8": 15, "INT_16": 16,
    "INT_32": 17, "INT_64": 18, "JSON": 19, "BSON": 20, "INTERVAL": 21,
}  # fmt: skip
"""Annotations of the older kind; a decimal's has two numbers more."""
LOGICAL: dict[str, list[Field]] = {
    "string": [(1, STRUCT, [])],
    "enum": [(4, STRUCT, [])],
    "decimal": [(5, STRUCT, [(1, INT32, 0), (2, INT32, 4)])],
    "date": [(6, STRUCT, [])],
    "timestamp in ms": [(8, STRUCT, [(1, TRUE, None), (2, STRUCT, [(1, STRUCT, [])])])],
    "timestamp in us": [(8, STRUCT, [(1, TRUE, None), (2, STRUCT, [(2, STRUCT, [])])])],
    "timestamp in ns": [(8, STRUCT, [(1, TRUE, None), (2, STRUCT, [(3, STRUCT, [])])])],
    "integer of 8 bits": [(10, STRUCT, [(1, BYTE, 8), (2, TRUE, None)])],
    "json": [(12, STRUCT, [])],
    "uuid": [(14, STRUCT, [])],
    "half": [(15, STRUCT, [])],
    "variant": [(16, STRUCT, [])],
    "geometry": [(17, STRUCT, [])],
}
"""Annotations of the newer kind."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A column's type: what is stored, of how many bytes if they are fixed, and the annotation."""

    name: str
    physical: str
    annotation: tuple[Field, ...] = ()
    length: int | None = None

    def schema(self, name: str) -> list[Field]:
        fields: list[Field] = [(1, INT32, PHYSICAL[self.physical]), (3, INT32, 0)]
        fields += [(4, BINARY, name.encode()), *self.annotation]
        if self.length is not None:
            fields.append((2, INT32, self.length))
        return sorted(fields, key=lambda field: field[0])


def converted(name: str, physical: str, length: int | None = None) -> Stored:
    return Stored(name, physical, ((6, INT32, CONVERTED[name]),), length)


def logical(name: str, physical: str, length: int | None = None) -> Stored:
    return Stored(name, physical, ((10, STRUCT, LOGICAL[name]),), length)


def decimal(digits: int, scale: int, physical: str, length: int | None = None) -> Stored:
    annotation = ((6, INT32, 5), (7, INT32, scale), (8, INT32, digits))
    return Stored(f"decimal({digits},{scale})", physical, annotation, length)


def write_raw(path: Path, columns: Sequence[tuple[str, Stored, Sequence[bytes]]]) -> Path:
    """A file of one row group. Values are the bytes that are stored, without the length of those that have one."""
    rows = len(columns[0][2])
    text, chunks = b"PAR1", []
    schema: list[list[Field]] = [[(4, BINARY, b"root"), (5, INT32, len(columns))]]
    for name, stored, values in columns:
        schema.append(stored.schema(name))
        has_lengths = stored.physical == "BYTE_ARRAY"
        data = b"".join(struct.pack("<i", len(one)) * has_lengths + one for one in values)
        page = [(1, INT32, rows), (2, INT32, 0), (3, INT32, 3), (4, INT32, 3)]
        sizes = [(1, INT32, 0), (2, INT32, len(data)), (3, INT32, len(data))]
        head = _written(STRUCT, [*sizes, (5, STRUCT, page)])
        place, size = len(text), len(head) + len(data)
        text += head + data
        meta = [(1, INT32, PHYSICAL[stored.physical]), (2, LIST, (INT32, [0, 3]))]
        meta += [(3, LIST, (BINARY, [name.encode()])), (4, INT32, 0), (5, INT64, rows)]
        meta += [(6, INT64, size), (7, INT64, size), (9, INT64, place)]
        chunks.append([(2, INT64, place), (3, STRUCT, meta)])
    group = [(1, LIST, (STRUCT, chunks)), (2, INT64, len(text)), (3, INT64, rows)]
    groups = (4, LIST, (STRUCT, [group]))
    end = _written(STRUCT, [(1, INT32, 1), (2, LIST, (STRUCT, schema)), (3, INT64, rows), groups])
    path.write_bytes(text + end + struct.pack("<i", len(end)) + b"PAR1")
    return path


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def _written(type_: int, value: Any) -> bytes:
    """A value in the compact protocol; no number in the end of a file is negative."""
    match type_:
        case 3:
            return bytes([value])
        case 5 | 6:
            return _varint(2 * value)
        case 8:
            return _varint(len(value)) + bytes(value)
        case 9:
            of, items = value
            size = (
                bytes([len(items) << 4 | of])
                if len(items) < 15
                else bytes([0xF0 | of]) + _varint(len(items))
            )
            return size + b"".join(_written(of, item) for item in items)
        case 12:
            found, last = b"", 0
            for number, of, each in value:
                step = number - last
                found += bytes([step << 4 | of]) if step < 16 else bytes([of]) + _varint(2 * number)
                found += b"" if of == TRUE else _written(of, each)
                last = number
            return found + b"\0"
    raise ValueError(f"no type {type_}")
