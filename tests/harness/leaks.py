"""The leak scan: a table full of canaries, and a search for them in everything that came out.

A canary is a text or a number that stands nowhere but in the rows. Exact counts and sums are
canaries too, which takes noise that is never small: at epsilon 1 honest noise is 0 in nearly half
of all draws, and then the exact count is published rightly. `FarNoise` keeps every published
number far from the exact one, so an exact one that turns up anywhere has leaked.
"""

from __future__ import annotations

import csv
import io
import re
import struct
import traceback
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.audits.observing import RecordingNoise, Tape, WatchedEngine
from discreet.core.noise import DrawnNoise, NoiseSource
from discreet.core.test_door import observed_vaults
from discreet.engines.protocol import Engine
from discreet.privacy.laws import DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.measurable import Counts

if TYPE_CHECKING:
    from numpy.random import Generator

MARK = "XQZCANARY"
NUMBERS = ("73519.0817", "918273645", "1951-03-07", "08:17:35.918273")
"""Canaries that are no texts: a pay, an age, a birthday, a clock."""
RARE = (1093, 1877, 2459)
"""Rows in three cells: primes, so that they are no round number of anything else."""
FAR = 10_000_000
"""How far noise is moved away from 0; more than any exact count here, and its intervals, reach."""
SMALLEST_SECRET = 1000
"""Smaller exact numbers turn up by chance."""

HEADER = ("person", "name", "city", "age", "pay", "born", "seen", "ok")
SCHEMA = """
dataset = "canaries"
people = 6000
adjacency = "{adjacency}"
{unit}
[columns.city]
kind = "category"
values = ["Aa", "Bb", "Cc"]
other = true
[columns.age]
kind = "integer"
range = [0, 119]
width = 10
[columns.pay]
kind = "number"
bounds = [0.0, 100000.0]
bits = 4
[columns.born]
kind = "date"
range = ["1900-01-01", "2029-12-31"]
granularity = "year"
[columns.seen]
kind = "datetime"
range = ["2020-01-01", "2020-12-31"]
granularity = "month"
[columns.ok]
kind = "boolean"
"""
UNIT = '[unit]\nidentifier = "person"\nmax_rows = 2\n'


def canary_rows() -> list[tuple[str, ...]]:
    """Three rare cells of known size, and one row for each way in which a value can be strange."""
    rows: list[tuple[str, ...]] = []
    for place, (city, age, count) in enumerate(
        zip(("Aa", "Bb", "Cc"), (5, 45, 95), RARE, strict=True)
    ):
        for number in range(count):
            rows.append(
                (
                    f"{MARK}id{place}{number}",
                    f"{MARK}name{number}",
                    city,
                    str(age),
                    NUMBERS[0],
                    NUMBERS[2],
                    f"2020-03-07 {NUMBERS[3]}",
                    "true",
                )
            )
    strange = ("", "NaN", "inf", f"{MARK}1/0", NUMBERS[1], "-" + NUMBERS[1], "1e999", '"', "'; --")
    for number, text in enumerate(strange):
        rows.append((f"{MARK}odd{number}", MARK, f"{MARK}city", *([text] * 5)))
    return rows


def write_csv(rows: Sequence[Sequence[str]], path: Path, *, header: bool = True) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if header:
            writer.writerow(HEADER)
        writer.writerows(rows)
    return path


class FarNoise(DrawnNoise):
    """Noise that is never small: drawn in earnest, then moved away from 0 by `FAR`."""

    def draw(self, law: NoiseLaw, count: int) -> Counts:
        return super().draw(law, count) + FAR

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts:
        return super().chain(exact, laws, step=step) + FAR


@contextmanager
def far_noise() -> Iterator[Tape]:
    """Vaults opened inside publish far from the truth; the tape keeps what the truth was."""
    tape = Tape()

    def observer(engine: Engine) -> tuple[Engine, NoiseSource]:
        watched: Engine = WatchedEngine(engine, tape.questions)
        return watched, RecordingNoise(tape.steps, FarNoise())

    with observed_vaults(observer):
        yield tape


_TOKEN = re.compile(r"(?<![0-9A-Za-z_.,+-])[+-]?[0-9][0-9,]*(?:\.[0-9]+)?(?![0-9A-Za-z_])")


@dataclass(frozen=True, slots=True)
class Search:
    """What must not be found: texts, numbers as canaries, and exact answers as whole numbers."""

    secrets: frozenset[Decimal]

    @classmethod
    def of(cls, tape: Tape, *more: int) -> Search:
        """All exact numbers that went into noise, if they are large enough to tell, and `more`."""
        exact = {int(number) for step in tape.steps for number in step.exact.reshape(-1)}
        return cls(
            frozenset(
                Decimal(number) for number in (*exact, *more) if abs(number) >= SMALLEST_SECRET
            )
        )

    def in_text(self, text: str) -> list[str]:
        """Canaries, and exact numbers that stand alone as a number."""
        found = [needle for needle in (MARK, *NUMBERS) if needle in text]
        for token in _TOKEN.findall(text):
            try:
                number = Decimal(token.replace(",", ""))
            except InvalidOperation:
                continue
            if abs(number) in self.secrets or number in self.secrets:
                found.append(token)
        return found

    def in_bytes(self, data: bytes) -> list[str]:
        """In any encoding that text takes here, in binary numbers, and in the arrays of a release."""
        found = [repr(needle) for needle in _packed() if needle in data]
        found += self.in_text(data.decode("utf-8", "replace"))
        if data[:2] == b"PK":
            found += self._in_zip(data)
        return found

    def _in_zip(self, data: bytes) -> list[str]:
        found: list[str] = []
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                if name.endswith(".npy"):
                    array = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
                    values = (
                        {Decimal(str(value)) for value in array.reshape(-1).tolist()}
                        if array.dtype != bool
                        else set()
                    )
                    found += [f"{name}: {value}" for value in values & self.secrets]
        return found

    def in_folder(self, folder: Path, *, but: Iterable[Path] = ()) -> list[str]:
        """Every file below `folder`, except below the paths in `but`."""
        spared = tuple(but)
        found: list[str] = []
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not any(path.is_relative_to(one) for one in spared):
                found += [f"{path.name}: {what}" for what in self.in_bytes(path.read_bytes())]
        return found


def _packed() -> list[bytes]:
    texts = [
        text.encode(encoding) for text in (MARK, *NUMBERS) for encoding in ("utf-8", "utf-16-le")
    ]
    return [*texts, struct.pack("<d", float(NUMBERS[0])), struct.pack("<q", int(NUMBERS[1]))]


def said_by(error: BaseException) -> str:
    """All that an error says: its text, its parts, and the traceback that Python would print."""
    return "".join([repr(error), str(error), repr(error.args), *traceback.format_exception(error)])


# --- fuzzing -------------------------------------------------------------------------------

_AGGREGATES = (
    "count(*)",
    "count(age)",
    "sum(age)",
    "avg(pay)",
    "sum(pay)",
    "avg(age)",
    "max(pay)",
    "count(nothing)",
)
_ATOMS = (
    "age > 40", "age BETWEEN 30 AND 39", "age = 95", "city = 'Aa'", "city IN ('Bb', 'Cc')", "city = 'Zz'",
    "city LIKE 'B%'", "pay >= 50000", "pay < 1e308", "pay = 0.1", "ok", "NOT ok", "ok IS NULL",
    "born < DATE '1960-01-01'", "born IS NOT NULL", "seen >= '2020-03-01'", "name = 'x'", "1 = 1",
    "age / 0 = 1", "age = (SELECT 1)", "city = NULL", "pay > 'abc'", "born = 'no date'", "person = 'p'",
)  # fmt: skip
_GROUPS = (
    "",
    "",
    "",
    "GROUP BY city",
    "GROUP BY ok",
    "GROUP BY age, city",
    "GROUP BY name",
    "GROUP BY 1",
    "ORDER BY 1",
    "LIMIT 3",
)


def random_question(generator: Generator) -> str:
    """SQL of any merit: most is understood, some is refused, some is broken."""

    def one_of(options: Sequence[str]) -> str:
        return options[int(generator.integers(len(options)))]

    where = ""
    for number in range(int(generator.integers(4))):
        where += f" {'WHERE' if number == 0 else one_of(('AND', 'OR', 'AND NOT'))} {one_of(_ATOMS)}"
    group = one_of(_GROUPS)
    keys = group.removeprefix("GROUP BY ") + ", " if group.startswith("GROUP") else ""
    text = f"SELECT {keys}{one_of(_AGGREGATES)} FROM {one_of(('canaries', 'release', 'elsewhere'))}{where} {group}"
    if generator.random() < 0.15:
        place = int(generator.integers(len(text)))
        text = (
            text[:place]
            + one_of(("'", '"', ";", "--", "(", "\x00", "é", "%s", "/*"))
            + text[place:]
        )
    return text


_SWAPS = (
    ("width = 10", "width = 7"), ("range = [0, 119]", "range = [119, 0]"), ("bits = 4", "bits = 60"),
    ("bits = 4", "cuts = [10.0, 20.0]"), ('kind = "boolean"', 'kind = "bool"'), ("other = true", "other = 3"),
    ('granularity = "year"', 'granularity = "day"'), ("[columns.ok]", "[columns.okk]"), ("people = 6000", "people = -1"),
    ("[columns.pay]", '[columns."PAY "]'), ("bounds = [0.0, 100000.0]", "bounds = [0.0, 1e308]"), ("", "\n[csv]\nheader = false\n"),
    ("width = 10", 'width = 10\noutside = "exclude"'), ('kind = "boolean"', 'kind = "boolean"\nnulls = "exclude"'),
    ("", '\n[csv]\ndelimiter = ";"\n'), ("", '\n[csv]\nencoding = "utf-16"\n'), ("", '\n[csv]\nencoding = "latin-1"\nquote = ""\n'),
    ("[columns.city]", "[columns.name]"), ("", "\n[cap]\nepsilon = 1000000\n"), ('"Aa", ', ""), ("range", "rnage"),
    ("add-remove", "add"), ('dataset = "canaries"', 'dataset = "a\\u0000b"'), ("", "\n[columns.born2]\nkind = 'date'\n"),
)  # fmt: skip


def damaged_schema(generator: Generator, text: str) -> str:
    """A schema with up to three things changed; some of the results are schemas still."""
    for _ in range(int(generator.integers(1, 4))):
        old, new = _SWAPS[int(generator.integers(len(_SWAPS)))]
        text = text.replace(old, new) if old else text + new
    return text
