"""Parts of CSV files: their rows as small files of our own, which an engine reads without a doubt.

An engine's own CSV reader decides by what it finds where a record ends, and what an odd one is worth,
so one person's row could hide or stop those of others. It never sees the file. It reads parts, in the
private directory, in which each line is exactly one record of the right width (see `csv_lines`), a few at
a time, each removed as soon as it is read. Parts are read side by side, one thread each, for only then
does no reader begin in the middle of a file and guess.

Nothing is read before the first batch is asked for, which a verb does after its charge.
"""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from discreet.engines.csv import limits as csv_limits
from discreet.engines.csv.lines import LineRules
from discreet.engines.csv.text import UNREADABLE, opened, plain_lines, utf8_blocks
from discreet.errors import EngineFailed
from discreet.schema.csv_options import CsvOptions

_END = b"\n"
_FIRST_LINE = b"-\n"
"""Passed over by the engine, which would take a byte order mark at the start of a part for none of it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Part files, how many rows they hold, and which share of the source has been read with them."""

    files: tuple[str, ...]
    rows: int
    share: float


class CsvParts:
    """The rows of some CSV files of `width` columns, batch by batch."""

    def __init__(self, files: Sequence[str], csv: CsvOptions, width: int, folder: Path) -> None:
        self.rules = LineRules(csv, width)
        self.width = width
        self.longest_line = 4 * csv_limits.CsvLimits().longest_line + 2 * width
        """The longest line of a part: at worst each quote is doubled and quoted, and fields are added."""
        self._files = files
        self._csv = csv
        self._folder = folder

    def batches(self) -> Generator[Batch]:
        """At least one, be it without rows; the files of each are gone when the next is asked for."""
        place = Path(tempfile.mkdtemp(prefix="parts-", dir=self._folder))
        try:
            batch = _Writer(place)
            for text, rows, share in self._stretches():
                batch.add(text, rows, share)
                if batch.is_full:
                    yield batch.finished()
                    batch.empty()
            yield batch.finished()
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _stretches(self) -> Iterator[tuple[bytes, int, float]]:
        """Records in the engine's dialect, how many they are, and the share of all files so far."""
        try:
            sizes = [Path(path).stat().st_size for path in self._files]
            before, total = 0, max(sum(sizes), 1)
            for path, size in zip(self._files, sizes, strict=True):
                with opened(path) as (file, taken):
                    blocks = plain_lines(
                        utf8_blocks(file, self._csv.encoding, csv_limits.current.block)
                    )
                    for text, rows in cleaned_stretches(blocks, self.rules, self._csv.header):
                        yield text, rows, min((before + taken()) / total, 1)
                before += size
        except UNREADABLE:
            raise EngineFailed(
                "The engine could not read the source. What was charged stays charged. Check that "
                "every file is whole, unchanged and readable."
            ) from None


class _Writer:
    """The part files of one batch after the other."""

    def __init__(self, place: Path) -> None:
        self._limits = csv_limits.current
        self._place = place
        self._made = 0
        self._share: float = 0
        self._paths: list[Path] = []
        self._file: IO[bytes] | None = None
        self._room = 0
        self._rows = 0

    @property
    def is_full(self) -> bool:
        return len(self._paths) == self._limits.batch_parts and self._room <= 0

    def add(self, text: bytes, rows: int, share: float) -> None:
        try:
            if self._room <= 0:
                self._open_next()
            assert self._file is not None
            self._file.write(text)
        except OSError as error:
            raise self._no_room(error) from None
        self._room -= len(text)
        self._rows += rows
        self._share = share

    def finished(self) -> Batch:
        try:
            if not self._paths:
                self._open_next()
            self._close()
        except OSError as error:
            raise self._no_room(error) from None
        return Batch(tuple(map(str, self._paths)), self._rows, self._share)

    def empty(self) -> None:
        for path in self._paths:
            path.unlink(missing_ok=True)
        self._paths, self._rows, self._room = [], 0, 0

    def _open_next(self) -> None:
        self._close()
        path = (
            self._place / f"{self._made}.csv"
        )  # a new name each, for an engine may remember files
        self._made += 1
        self._paths.append(path)
        self._file = path.open("wb")
        self._file.write(_FIRST_LINE)
        self._room = self._limits.part

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _no_room(self, error: OSError) -> EngineFailed:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "is full" if full else f"cannot be written ({error.strerror})"
        return EngineFailed(
            f"The disk for temporary files {what}: {str(self._place.parent.parent)!r}. What was charged "
            f"stays charged. Make room for {self._limits.batch_parts * self._limits.part // 10**6 + 1} MB, or set TMPDIR "
            "to a larger disk."
        )


def cleaned_stretches(
    blocks: Iterable[bytes], rules: LineRules, has_header: bool
) -> Iterator[tuple[bytes, int]]:
    """The records of one file after its header, each in one line, and how many they are.

    `blocks` are those of `plain_lines`. A line that is too long is never held as a whole.
    """
    limits = csv_limits.current
    text, at, passes_over, is_header = b"", 0, False, has_header
    for block, is_last in _with_last(blocks):
        text, at = text[at:] + block, 0
        while at < len(text) and (is_last or passes_over or len(text) - at >= limits.enough):
            is_too_long = text.find(_END, at, at + limits.longest_line + 1) < 0
            if passes_over or is_too_long:
                if not passes_over and not is_header:
                    yield rules.rewritten(b""), 1
                line_end = text.find(_END, at) + 1
                at, passes_over, is_header = line_end or len(text), not line_end, False
            elif is_header:
                at, is_header = rules.end_of_record(text, at), False
            else:
                written, rows, at = rules.cleaned(text, at)
                yield written, rows


def _with_last(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    held: bytes | None = None
    for block in blocks:
        if held is not None:
            yield held, False
        held = block
    yield held or b"", True
