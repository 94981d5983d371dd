"""Odd values: what a table for the value fuzz is made of.

A `Case` is a type of a package: a plain value of it, and odd ones, mostly made from raw bytes. The types are
asked of the packages themselves (`odd_arrow`, `odd_frames`, `odd_duckdb`), so that one which is added there
is tried here.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

CANARY = "CANARY-4821"
"""Stands in every odd text, and may stand in no message."""
ROWS = 40
TEXTS = (
    b"",
    b"\x00" + CANARY.encode(),
    b"\xff\xfe" + CANARY.encode(),
    b"\xed\xa0\x80" + CANARY.encode(),  # half a surrogate pair
    b"\xc3" + CANARY.encode(),
    b"X",
    b"x ",
    "\u00e9".encode(),
    "e\u0301".encode(),
    b"99999999999999999999999999999999999999999",
    b"1e999",
    b"-0.0",
    b"nan",
    b"infinity",
    b"2016-12-31T23:59:60Z",
    b"9999-12-31",
    b"-290308-12-21 (BC)",
    b"9" * 100_000,
)
NAMES = ("category", "integer", "number", "boolean", "date", "datetime", "person")
"""The columns of every table here, all with the same values; named by the kinds they are declared as."""
LONGEST = b"y" * 10_000_000
PLAIN_TEXT = b"x"
_PIECES = (
    *("1", "9", "0", "-", "+", ".", "e", "E", " ", "\t", "19", "70", "-01", "-31", "T", ":", "Z", "+05:30"),
    *("x", "\u00e9", "\u00df", "e5", "nan", "inf", "BC", "'", "\\", CANARY, "_", "0x"),
)  # fmt: skip
"""What made-up texts are put together from: parts of numbers, of moments and of SQL."""
TOGETHER = 500
"""Made-up values in one table."""


@dataclass(frozen=True, slots=True)
class Case:
    """A type of a package: `made(values)` is a source whose columns hold `values`, which `odd` lists."""

    name: str
    plain: Any
    odd: tuple[Any, ...]
    made: Callable[[Sequence[Any]], Any]
    alone: bool = True
    """Whether the long run tries each odd value by itself too."""


def invented(number: int, seed: int) -> list[str]:
    """Made-up texts, many of which are nearly a number or a moment."""
    generator = random.Random(seed)
    return [
        "".join(generator.choice(_PIECES) for _ in range(generator.randrange(1, 10)))
        for _ in range(number)
    ]


def patterns(width: int) -> list[bytes]:
    """Extreme values of any type of so many bytes, in little-endian: also infinities, NaN, subnormals, -0.0."""
    zeros, ones = b"\x00" * width, b"\xff" * width
    found = [zeros, ones, b"\xff" * (width - 1) + b"\x7f", b"\x00" * (width - 1) + b"\x80"]
    found += [b"\x00" * (width - 1) + b"\x40", b"\x00" * (width - 1) + b"\xc0"]
    for spelled in ("007c", "0000807f", "000000000000f07f", "00fc", "000080ff", "000000000000f0ff"):
        number = bytes.fromhex(spelled)
        if len(number) == width:
            found.append(number)
    return found


def one_of_width(width: int) -> bytes:
    """The integer 1."""
    return b"\x01" + b"\x00" * (width - 1)


def can(job: Callable[..., object], *arguments: object) -> bool:
    """Whether a package does what it is asked."""
    try:
        job(*arguments)
    except Exception:  # the package cannot make such a value, so no table holds it
        return False
    return True
