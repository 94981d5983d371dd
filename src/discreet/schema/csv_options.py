"""How a CSV file is written. This is declared, because a sniffer would look at rows to find out."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from discreet.errors import BadSchema
from discreet.schema.columns.column import folded, name_mistakes, text_mistakes
from discreet.schema.columns.values import WHITESPACE

ISO_DATE = "%Y-%m-%d"
_DATE_FORMAT = r"%[dmY][-./ ]{1,2}%[dmY][-./ ]{1,2}%[dmY]"
_DIGITS = {"%Y": "([0-9]{4})", "%m": "([0-9]{1,2})", "%d": "([0-9]{1,2})"}
ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252")


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """Delimiter, quote, header and nulls. Every field is read as text, then cast by its column.

    Thread safe: it never changes.
    """

    header: bool = True
    """Whether the first line holds names; with `names` given as well, it is skipped."""
    names: tuple[str, ...] | None = None
    """The columns of the file, in order, where the first line does not say (or says it badly)."""
    delimiter: str = ","
    quote: str = '"'
    """The quoting character, doubled inside a quoted field; empty for none."""
    trim: bool = False
    """Whether spaces around each field are dropped, before null texts are looked for."""
    null_strings: tuple[str, ...] = ("",)
    """Texts that count as null."""
    encoding: str = "utf-8"
    quoted_line_breaks: bool = False
    """Whether a quoted field may go on over line ends; then one record can reach into others."""
    decimal: str = "."
    thousands: str = ""
    """What may stand between groups of three digits of a number; empty for nothing."""
    date_format: str = ISO_DATE
    """How dates are written, also before a clock; ISO 8601 is read as well."""

    def __post_init__(self) -> None:
        if found := self.mistakes():
            raise BadSchema([f"[csv]: {mistake}" for mistake in found])

    def mistakes(self) -> list[str]:
        names, form = self.names or (), self.date_format
        is_date = re.fullmatch(_DATE_FORMAT, form) and set(re.findall("%.", form)) == {*_DIGITS}
        wrong = [
            (self.names is None and not self.header, "`header` is false and there are no `names`; list the file's columns in order."),
            (self.names == (), "`names` is empty; list the file's columns in order."),
            (len(self.delimiter) != 1 or self.delimiter in "\r\n\x00", f'`delimiter` is {self.delimiter!r}; write one character, such as "," or "\\t".'),
            (len(self.quote) > 1 or not self.quote.isascii() or self.quote in ("\r", "\n", "\x00"), f'`quote` is {self.quote!r}; write one ASCII character, or "" for none.'),
            (self.quote and self.quote == self.delimiter, f"`quote` and `delimiter` are both {self.quote!r}; they must differ."),
            (self.encoding not in ENCODINGS, f"`encoding` is {self.encoding!r}; write one of {', '.join(ENCODINGS)}."),
            (self.decimal not in (".", ","), f'`decimal` is {self.decimal!r}; write "." or ",".'),
            (len(self.thousands) > 1 or self.thousands not in ".,'’_ \u00a0\u2009\u202f" or self.thousands == self.decimal, f"`thousands` is {self.thousands!r}; write one of . , ' _ or a blank, and not the `decimal`."),
            (not is_date or form == "%Y-%d-%m", f'`date_format` is {form!r}; write %d, %m and %Y once each, as in "%d.%m.%Y" or "%m/%d/%Y".'),
        ]  # fmt: skip
        found = [f"in `names`, {name!r}: {each}" for name in names for each in name_mistakes(name)]
        found += [
            f"`names` holds {left!r} and {right!r}, which are one name to a SQL engine; rename one."
            for left, right in clashes(names)
        ]
        found += [said for is_wrong, said in wrong if is_wrong]
        found += text_mistakes(self.delimiter, "`delimiter`")
        for text in self.null_strings:
            found += text_mistakes(text, "a text of `null_strings`")
        return found

    def telling_rows_apart(self) -> list[str]:
        """Which bytes are one row: what of it is not as usual, as short words for the ledger."""
        found, spans = list[str](), self.quoted_line_breaks
        if self.encoding.startswith("utf-16") or (spans and self.encoding != "utf-8"):
            found += [digested("encoding", self.encoding)]  # others end lines alike; quotes differ
        if spans:
            found += [digested("quoted_line_breaks", [self.quote, self.delimiter])]
        found += [digested("trim", True)] if spans and self.trim else []  # a quote behind spaces
        return found

    def telling_people_apart(self, identifier: str) -> list[str]:
        """The same of who is one person: what changes the text of the identifier."""
        usual = CsvOptions()
        names = ("header", "trim", "quote", "delimiter", "encoding", "null_strings")
        mine = [(name, getattr(self, name)) for name in names]
        found = [digested(name, value) for name, value in mine if value != getattr(usual, name)]
        if self.names is not None:
            place = [*map(folded, self.names)].index(folded(identifier))
            found += [digested("names", place)]
        return found

    def rewritings(self, kind: str) -> list[tuple[str, str]]:
        """What brings a text into the form that `values` reads: patterns of RE2, and what replaces each match, in order.

        A text that does not fit stays unreadable: with a decimal comma `1.5` is null, and not 1.5 or 15.
        """
        gap, found = f"[{WHITESPACE}]*", list[tuple[str, str]]()
        if kind in ("integer", "number") and self.thousands:
            three = f"(?:{re.escape(self.thousands)}([0-9]{{3}}))"
            end = f"({re.escape(self.decimal)}[0-9]*)?{gap}$"
            first = f"^{gap}([+-]?[0-9]{{1,3}}){three}"  # and up to five more: 21 digits
            found += [(first + f"{three}?" * 5 + end, r"\1\2\3\4\5\6\7\8")]
        if kind in ("integer", "number") and self.decimal == ",":
            found += [(r"\.", ";"), (",", ".")]
        if kind in ("date", "datetime") and self.date_format != ISO_DATE:
            order, form = re.findall("%.", self.date_format), re.escape(self.date_format)
            for part, digits in _DIGITS.items():
                form = form.replace(part, digits)
            year, month, day = (order.index(part) + 1 for part in _DIGITS)
            clock, padded = "([T ][0-9:.Z+-]*)?", rf"@\{year}-0\{month}-0\{day}\4"
            found += [(f"^{gap}{form}{clock}{gap}$", padded)]
            found += [("^@([0-9]{4})-0?([0-9]{2})-0?([0-9]{2})", r"\1-\2-\3")]
        return found


def digested(option: str, value: object) -> str:
    """An option and its value as one short word."""
    return f"{option}={hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]}"


def clashes(names: tuple[str, ...] | list[str]) -> list[tuple[str, str]]:
    """Pairs of names that a SQL engine, which folds case, cannot tell apart."""
    seen: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for name in names:
        first = seen.setdefault(folded(name), name)
        if first is not name:
            found.append((first, name))
    return found
