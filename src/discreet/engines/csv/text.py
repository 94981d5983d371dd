"""The text of CSV files: their bytes as UTF-8, in blocks, whatever they hold.

What is not valid in the file's encoding becomes U+FFFD, as Python's `replace` does it, so no byte
stops a run. That never reaches beyond a line: a line feed is no part of a longer character in any of
the encodings. UTF-16 is read in units of two bytes; a record of a UTF-16 file is a run of such units.

The encoding is a public fact of the schema. Only of `utf-16` the file itself says more: its first two
bytes, which are no record's, tell the order of bytes.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from discreet.engines.csv import limits as csv_limits
from discreet.engines.csv.lines import LineRules
from discreet.errors import BadSource
from discreet.schema.columns.values import WHITESPACE
from discreet.schema.csv_options import CsvOptions

_HEADER_STEP = 1 << 16
_MARK = "\ufeff".encode()
_END = b"\n"
UNREADABLE = (OSError, EOFError, zlib.error)
"""What a file that cannot be read, or a damaged .gz, raises."""


def utf8_blocks(file: IO[bytes], encoding: str, size: int) -> Iterator[bytes]:
    """The text as UTF-8. ASCII passes as it is."""
    codec = encoding
    if encoding == "utf-16":
        codec = "utf-16-be" if file.read(2) == codecs.BOM_UTF16_BE else "utf-16-le"
    decoder = codecs.getincrementaldecoder(codec)(errors="replace")
    ascii_is_itself = not codec.startswith("utf-16")
    while block := file.read(size):
        if ascii_is_itself and block.isascii() and not decoder.getstate()[0]:
            yield block
        else:
            yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


def plain_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text, without the return before a line feed or the end, and without a byte order mark at
    the start of a line. Its last line is ended, if it holds a byte.

    A mark is dropped from every line, so that what a line says does not depend on whether it is the first.
    """
    held, is_start = b"", True
    for block in blocks:
        text = held + block
        held = b"\r" if text.endswith(b"\r") else b""
        text = text.removesuffix(held).replace(b"\r\n", _END)
        if text:
            ends_line = text.endswith(_END)
            text = text.removeprefix(_MARK) if is_start else text
            yield text.replace(_END + _MARK, _END)
            is_start = ends_line
    yield _END if held or not is_start else b""


@contextmanager
def opened(path: str) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """A file, unpacked if its name ends in .gz, and how many bytes of it were taken so far."""
    with Path(path).open("rb") as raw:
        if path.lower().endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as packed:
                yield packed, raw.tell  # type: ignore[misc]
        else:
            yield raw, raw.tell


def refuse_unmarked(path: str, csv: CsvOptions) -> None:
    """A `utf-16` file must say its order of bytes, for else its first record could."""
    if csv.encoding == "utf-16" and _start(path) not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise BadSource(
            f"{path!r} does not begin with the mark of a UTF-16 file, so the order of its bytes is not "
            "known. No row was read. Write `encoding` under [csv] as utf-16-le or utf-16-be."
        )


def _start(path: str) -> bytes:
    try:
        with opened(path) as (file, _):
            return file.read(2)
    except UNREADABLE as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: Exception) -> BadSource:
    return BadSource(f"{path!r} cannot be read: {getattr(error, 'strerror', None) or 'damaged'}.")


def header_names(path: str, csv: CsvOptions) -> tuple[str, ...]:
    """The names in the first line of a file; no more of the file is looked at."""
    try:
        with opened(path) as (file, _):
            names = _first_fields(file, csv)
    except UNREADABLE as error:
        raise _unreadable(path, error) from None
    if names is None:
        raise BadSource(f"The first line of {path!r} cannot be read as a header.")
    if names == [""]:
        raise BadSource(
            f"The first line of {path!r} is empty, so its columns have no names. If the file has no "
            "header, list its columns under [csv] as `names`."
        )
    return tuple(name.strip(WHITESPACE) if csv.trim else name for name in names)


def _first_fields(file: IO[bytes], csv: CsvOptions) -> list[str] | None:
    rules = LineRules(csv, width=1)
    longest = csv_limits.current.longest_line
    text = b""
    for block in plain_lines(utf8_blocks(file, csv.encoding, _HEADER_STEP)):
        text += block
        # A quoted line break may make the first line longer than the first line feed says.
        if len(text) > longest or (_END in text and not csv.quoted_line_breaks):
            break
    if not text:
        return [""]
    end = rules.end_of_record(text)
    if not 0 < end <= longest + 1:
        return None
    return [field.decode() for field in rules.split(text[: end - 1])]
