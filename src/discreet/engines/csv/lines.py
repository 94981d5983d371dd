"""The lines of a CSV file: each is one record, and becomes one line that no reader can misread.

The rules, of which each looks at one line only (docs/schema.md tells them to the custodian):
  - a line ends at a line feed or at the end of the file; a return just before that end belongs to
    it, and a byte order mark at its start is dropped (both in `csv_text`);
  - every line is a row, also an empty one; missing fields are empty, further ones are ignored;
  - a line of more than 1,000,000 bytes (as UTF-8) is a row whose fields are all empty;
  - a field that begins with the quote ends at the next quote that is not doubled, or else with its line;
    what stands between its closing quote and the delimiter is added to it as it is; a quote anywhere
    else is a character like any other. With `trim`, spaces may stand before an opening quote.

With `quoted_line_breaks`, a quoted field may go on over line ends (read as one line feed each), and
its record with it, up to the same length; else its record ends at its first line end.

Text is checked in large windows by a few numpy operations. A window in which every line is well formed
and of the right width passes as it is; any other is halved, until few lines are left, which are taken
apart and written anew, with quotes where they are needed. So a rare odd line costs little.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from discreet.engines.csv import limits as csv_limits
from discreet.schema.csv_options import CsvOptions

_END = b"\n"
_NATIVE_DELIMITERS = ",;\t|:"
_NATIVE_QUOTES = ('"', "'", "")


class LineRules:
    """How the lines of one file are read, and the dialect in which they are handed to the engine."""

    def __init__(self, csv: CsvOptions, width: int) -> None:
        self._limits = csv_limits.current
        self._spans = csv.quoted_line_breaks and bool(csv.quote)
        self._width = width
        self._delimiter = csv.delimiter.encode()
        self._quote = csv.quote.encode()
        self._is_native = csv.delimiter in _NATIVE_DELIMITERS and csv.quote in _NATIVE_QUOTES
        self.out_delimiter = csv.delimiter if self._is_native else ","
        # Without quotes in the file, a control character quotes what needs it: hardly a line holds one.
        self.out_quote = (csv.quote or "\x02") if self._is_native else '"'
        self._delimiter_out = self.out_delimiter.encode()
        self._quote_out = self.out_quote.encode()
        needs = b"".join(re.escape(one) for one in (self._delimiter_out, self._quote_out))
        self._needs_quotes = re.compile(b"[\r\n" + needs + b"]")
        quote, delimiter = re.escape(self._quote or b"\n"), re.escape(self._delimiter)
        spaces = b" *" if csv.trim and " " not in (csv.delimiter, csv.quote) else b""
        other = b"[^" + quote + b"]*"
        self._opening = re.compile(spaces + quote)
        self._body = re.compile(other + b"(?:" + quote * 2 + other + b")*")
        self._rest = re.compile(b"(.*?)(" + delimiter + rb"|\Z)", re.DOTALL)
        self._separator = re.compile(delimiter + b"|\n")

    def split(self, line: bytes) -> list[bytes]:
        """The fields of a line (or record), without its end."""
        if not self._quote or self._quote not in line:
            return line.split(self._delimiter)
        fields: list[bytes] = []
        at = 0
        while True:
            quoted = b""
            if opened := self._opening.match(line, at):
                closed = self._end_of_body(line, opened.end(), len(line))
                quoted = line[opened.end() : closed].replace(self._quote * 2, self._quote)
                at = closed + 1
            rest = self._rest.match(line, min(at, len(line)))
            assert rest is not None
            fields.append(quoted + rest[1])
            if not rest[2]:
                return fields
            at = rest.end()

    def _end_of_body(self, text: bytes, start: int, limit: int) -> int:
        found = self._body.match(text, start, limit)
        assert found is not None
        return found.end()

    def rewritten(self, line: bytes) -> bytes:
        """The line of the engine's dialect that has the fields of a line without its end."""
        fields = self.split(line)[: self._width]
        fields += [b""] * (self._width - len(fields))
        return self._delimiter_out.join(map(self._written, fields)) + _END

    def _written(self, field: bytes) -> bytes:
        if not self._needs_quotes.search(field):
            return field
        quote = self._quote_out
        return quote + field.replace(quote, quote * 2) + quote

    def cleaned(self, text: bytes, start: int) -> tuple[bytes, int, int]:
        """Some whole records from `start` on: in the engine's dialect, how many, and where they end.

        The first line is not too long, and what is there of the text is enough to see where it ends.
        """
        end = text.rfind(_END, start, start + self._limits.longest_line + 1) + 1
        if self._spans:
            return self._first_records(text, start, end)
        lines = text[start:end]
        return self._lines(lines), lines.count(_END), end

    def _lines(self, lines: bytes) -> bytes:
        if self._plain(lines)[0]:
            return lines
        if len(lines) > self._limits.few:
            middle = lines.find(_END, len(lines) // 2) + 1
            if middle == len(lines):
                middle = lines.rfind(_END, 0, len(lines) - 1) + 1
            if middle:
                return self._lines(lines[:middle]) + self._lines(lines[middle:])
        return b"".join(map(self.rewritten, lines.split(_END)[:-1]))

    def _first_records(self, text: bytes, start: int, end: int) -> tuple[bytes, int, int]:
        while end - start > self._limits.few:
            length, rows = self._plain(text[start:end])
            if length:
                return text[start : start + length], rows, start + length
            end = text.rfind(_END, start, (start + end) // 2) + 1
        written, at = [], start
        while at < start + self._limits.few:
            record_end = self.end_of_record(text, at)
            if not at < record_end <= at + self._limits.longest_line + 1:
                break
            written.append(self.rewritten(text[at : record_end - 1]))
            at = record_end
        return b"".join(written), len(written), at

    def end_of_record(self, text: bytes, start: int = 0) -> int:
        """The place after the line feed that ends the record at `start`; 0 if the text holds none."""
        first_line = text.find(_END, start) + 1
        if not self._spans:
            return first_line
        at, limit = start, min(len(text), start + self._limits.longest_line + 1)
        while at < limit:
            if opened := self._opening.match(text, at, limit):
                at = self._end_of_body(text, opened.end(), limit) + 1
            found = self._separator.search(text, at, limit)
            if found is None:
                break
            at = found.end()
            if found[0] == _END:
                return at
        return first_line

    def _plain(self, lines: bytes) -> tuple[int, int]:
        """Up to where the records of some lines are well formed and of the right width, and how many
        they are; (0, 0) if one is not."""
        native = self._is_native and b"\r" not in lines
        if not native or (not self._quote and self._quote_out in lines):
            return 0, 0
        text = np.frombuffer(lines, dtype=np.uint8)
        ends = text == _END[0]
        separators = ends | (text == self._delimiter[0])
        length = len(lines)
        if self._quote and self._quote in lines:
            length = self._unquote(text == self._quote[0], separators, ends)
        kinds = ends[:length][np.flatnonzero(separators[:length])]
        if kinds.size % self._width:
            return 0, 0
        rows = kinds.reshape(-1, self._width)
        if not rows[:, -1].all() or rows[:, :-1].any():
            return 0, 0
        return length, len(rows)

    def _unquote(
        self, quotes: NDArray[np.bool_], separators: NDArray[np.bool_], ends: NDArray[np.bool_]
    ) -> int:
        """Drops separators and ends inside quotes, and says up to where the quotes are well formed: each
        beside a separator, or one of two that stand together."""
        inside = np.logical_xor.accumulate(quotes)
        beside = quotes | separators
        outside = ~inside
        if not self._spans and (inside & ends).any():
            return 0
        np.logical_and(separators, outside, out=separators)
        np.logical_and(ends, outside, out=ends)
        if not ends.any():
            return 0
        length = len(quotes) - int(ends[::-1].argmax())
        opening, closing = quotes & inside, quotes & outside
        if (opening[1:length] & ~beside[: length - 1]).any():
            return 0
        if (closing[: length - 1] & ~beside[1:length]).any():
            return 0
        return length
