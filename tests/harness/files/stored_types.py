"""Parquet files whose values do not fit their types: no value stops a run, and no two people become one.

Every physical type is tried under every annotation, also where no writer would set it. Each such file is refused
before a row is read, or else read whatever it holds.

    python -m tests.harness.files.stored_types --seed 1
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.dataset as dataset

from discreet.engines import open_engine
from discreet.errors import BadSource, DiscreetError
from discreet.schema import Schema
from tests.harness.files.raw_parquet import (
    CONVERTED,
    LOGICAL,
    PHYSICAL,
    Stored,
    converted,
    decimal,
    logical,
    write_raw,
)

KINDS = """
[columns.category]
kind = "category"
values = ["1", "x"]
[columns.integer]
kind = "integer"
range = [0, 300]
[columns.number]
kind = "number"
bounds = [0, 300]
bits = 4
[columns.boolean]
kind = "boolean"
[columns.date]
kind = "date"
range = ["2020-01-01", "2020-12-31"]
[columns.datetime]
kind = "datetime"
range = ["2020-01-01", "2020-01-02"]
granularity = "hour"
"""
NAMES = ("category", "integer", "number", "boolean", "date", "datetime")
COLUMNS = Schema.loads(f'dataset = "t"\n{KINDS}')
PEOPLE = Schema.loads("""
dataset = "t"
[unit]
identifier = "who"
max_rows = 1
[columns.cell]
kind = "integer"
range = [0, 63]
""")
CELL = Stored("cell", "INT32")
LENGTHS = (1, 2, 3, 4, 5, 8, 9, 12, 16, 17, 20)
DIGITS = (1, 4, 5, 9, 10, 18, 19, 38, 39, 50)
TEXTS = (
    b"",
    b"a",
    b"1",
    b"{",
    b"\x00",
    b"\x00\x01",
    b"\x01" + b"\x00" * 16,
    b"\x01" + b"\x00" * 20,
)
SOURCES: dict[str, Callable[[Path], object]] = {
    "a file": lambda path: path,
    "an Arrow dataset": dataset.dataset,
}
"""Ways to hand a file over."""


def types() -> Iterator[Stored]:
    """Every physical type under every annotation; of fixed bytes in several lengths, of decimals in several digits."""
    sizes = [(name, None) for name in PHYSICAL if not name.startswith("FIXED") and name != "BOOLEAN"]  # fmt: skip
    sizes += [("FIXED_LEN_BYTE_ARRAY", length) for length in LENGTHS]  # type: ignore[misc]
    for physical, length in sizes:
        yield Stored("plain", physical, (), length)
        yield from (converted(name, physical, length) for name in CONVERTED)
        yield from (logical(name, physical, length) for name in LOGICAL)
        if physical not in ("INT96", "FLOAT", "DOUBLE"):
            yield from (decimal(digits, 0, physical, length) for digits in DIGITS)


def values(stored: Stored, generator: Random) -> list[bytes]:
    """Bytes of a type, of which no two are equal as numbers: ends, what shares lower bits with 1, and some at random."""
    if stored.physical == "BYTE_ARRAY":
        return [*TEXTS, b"\x00" * 3 + generator.randbytes(5)]
    if stored.physical in ("FLOAT", "DOUBLE"):
        reals = (0.0, 1.0, float("inf"), 3e38, 1e-40, generator.random())
        return [struct.pack("<f" if stored.physical == "FLOAT" else "<d", one) for one in reals]
    if stored.name in (
        "UTF8",
        "ENUM",
        "string",
        "enum",
    ):  # of bytes that are no text, see docs/trust.md
        letters = generator.sample("abcdefghijklmnopqrstuvwxyz", 8)
        return [
            one.encode() * (stored.length or {"INT32": 4, "INT64": 8}.get(stored.physical, 12))
            for one in letters
        ]
    width = {"INT32": 4, "INT64": 8, "INT96": 12}.get(stored.physical, stored.length or 0)
    order = "big" if stored.length else "little"
    most = 1 << (8 * width - 1)
    numbers = {0, 1, -1, 2, most - 1, -most, 1 - most, most - 2, generator.randrange(-most, most)}
    numbers |= {1 + (1 << bit) for bit in (8, 16, 32, 64) if bit < 8 * width - 1}
    return [one.to_bytes(width, order, signed=True) for one in sorted(numbers)]  # type: ignore[arg-type]


def people(path: Path, stored: Stored, whos: Sequence[tuple[int, bytes]]) -> Path:
    """One row a person, each in a cell of its own."""
    cells = [struct.pack("<i", cell) for cell, _ in whos]
    return write_raw(path, [("who", stored, [who for _, who in whos]), ("cell", CELL, cells)])


def found_wrong(
    stored: Stored, generator: Random, folder: Path, way: Callable[[Path], object]
) -> list[str]:
    """What is wrong with how a type is read; nothing where it is refused before a row is read."""
    odd, wrong = values(stored, generator), []
    path = write_raw(folder / "t.parquet", [(name, stored, odd) for name in NAMES])
    for column in COLUMNS.columns:
        one = Schema(dataset="t", columns=(column,))
        try:
            with open_engine(way(path), one) as engine:
                engine.marginals([(column.name,)])
        except (BadSource, OSError):
            continue
        except DiscreetError:
            wrong.append(f"a value stops a run, read as {column.name}")
    whole = people(folder / "p.parquet", stored, list(enumerate(odd)))
    try:
        with open_engine(way(whole), PEOPLE) as engine:
            (counted,) = engine.marginals([("cell",)])
    except (BadSource, OSError):
        return wrong
    except DiscreetError:
        return [*wrong, "an identifier stops a run"]
    if counted.sum() == len(odd):
        return wrong
    for gone in range(len(odd)):
        rest = [pair for pair in enumerate(odd) if pair[0] != gone]
        with open_engine(way(people(folder / "p.parquet", stored, rest)), PEOPLE) as engine:
            (fewer,) = engine.marginals([("cell",)])
        if np.abs(counted - fewer).sum() > 1:
            return [*wrong, "two people are one"]
    return wrong


def search(
    tried: Sequence[Stored], generator: Random, way: Callable[[Path], object]
) -> Iterator[str]:
    with TemporaryDirectory() as folder:
        for stored in tried:
            for wrong in found_wrong(stored, generator, Path(folder), way):
                yield f"{stored.name} as {stored.physical} {stored.length or ''}: {wrong}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args(arguments).seed
    found = [
        f"{name}: {wrong}"
        for name, way in SOURCES.items()
        for wrong in search(list(types()), Random(seed), way)
    ]
    for line in found:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"{len(SOURCES) * len(list(types())):,} files: {len(found)} findings\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
