"""The text of CSV files: their bytes as UTF-8, in blocks, whatever they hold.

What is not valid in the file's encoding becomes U+FFFD, as Python's `replace` does it, so no byte
stops a run. That never reaches beyond a line: a line feed is no part of a longer character in any of
the encodings. UTF-16 is read in units of two bytes, in the order that its first two say (little-endian
if they are no byte order mark); a record of a UTF-16 file is a run of such units.

The encoding is a public fact of the schema; nothing is guessed.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from discreet.errors import BadSource
from discreet.kernel.engines import csv_limits
from discreet.kernel.engines.csv_lines import LineRules
from discreet.schema.csv_options import CsvOptions
from discreet.schema.values import WHITESPACE

_HEADER_STEP = 1 << 16
_MARK = "\ufeff"
_END = b"\n"
UNREADABLE = (OSError, EOFError, zlib.error)
"""What a file that cannot be read, or a damaged .gz, raises."""


def utf8_blocks(file: IO[bytes], encoding: str, size: int) -> Iterator[bytes]:
    """The text after a byte order mark, as UTF-8. ASCII passes as it is."""
    start = b""
    if encoding == "utf-16":
        start = file.read(2)
        encoding = "utf-16-be" if start == codecs.BOM_UTF16_BE else "utf-16-le"
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    ascii_is_itself = not encoding.startswith("utf-16")
    has_mark = encoding.startswith("utf")
    while block := start + file.read(size - len(start)):
        start = b""
        if ascii_is_itself and block.isascii() and not decoder.getstate()[0]:
            has_mark = False
            yield block
            continue
        text = decoder.decode(block)
        if has_mark and text:
            has_mark = False
            text = text.removeprefix(_MARK)
        yield text.encode()
    yield decoder.decode(b"", final=True).encode()


def without_returns(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text, in which no return stands before a line feed or at the very end."""
    held = b""
    for block in blocks:
        text = held + block
        held = b"\r" if text.endswith(b"\r") else b""
        yield text.removesuffix(held).replace(b"\r\n", _END)
    yield held and _END


@contextmanager
def opened(path: str) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """A file, unpacked if its name ends in .gz, and how many bytes of it were taken so far."""
    with Path(path).open("rb") as raw:
        if path.lower().endswith(".gz"):
            with gzip.GzipFile(fileobj=raw) as packed:
                yield packed, raw.tell  # type: ignore[misc]
        else:
            yield raw, raw.tell


def header_names(path: str, csv: CsvOptions) -> tuple[str, ...]:
    """The names in the first line of a file; no more of the file is looked at."""
    try:
        with opened(path) as (file, _):
            names = _first_fields(file, csv)
    except UNREADABLE as error:
        why = getattr(error, "strerror", None) or "damaged"
        raise BadSource(f"{path!r} cannot be read: {why}.") from None
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
    for block in without_returns(utf8_blocks(file, csv.encoding, _HEADER_STEP)):
        text += block
        # A quoted line break may make the first line longer than the first line feed says.
        if len(text) > longest or (_END in text and not csv.quoted_line_breaks):
            break
    else:
        text += b"" if text.endswith(_END) else _END
    end = rules.end_of_record(text)
    if not 0 < end <= longest + 1:
        return None
    return [field.decode() for field in rules.split(text[: end - 1])]
