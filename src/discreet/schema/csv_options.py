"""How a CSV file is written. This is declared, because a sniffer would look at rows to find out."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import BadSchema
from discreet.schema.columns.column import folded, name_mistakes, text_mistakes

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

    def __post_init__(self) -> None:
        if found := self.mistakes():
            raise BadSchema([f"[csv]: {mistake}" for mistake in found])

    def mistakes(self) -> list[str]:
        found: list[str] = []
        if self.names is None and not self.header:
            found.append(
                "`header` is false and there are no `names`; list the file's columns in order."
            )
        if self.names is not None:
            if not self.names:
                found.append("`names` is empty; list the file's columns in order.")
            for name in self.names:
                found += [f"in `names`, {name!r}: {mistake}" for mistake in name_mistakes(name)]
            found += [
                f"`names` holds {left!r} and {right!r}, which are one name to a SQL engine; rename one."
                for left, right in clashes(self.names)
            ]
        if len(self.delimiter) != 1 or self.delimiter in "\r\n\x00":
            found.append(
                f'`delimiter` is {self.delimiter!r}; write one character, such as "," or "\\t".'
            )
        if len(self.quote) > 1 or not self.quote.isascii() or self.quote in ("\r", "\n", "\x00"):
            found.append(f'`quote` is {self.quote!r}; write one ASCII character, or "" for none.')
        found += text_mistakes(self.delimiter, "`delimiter`")
        for text in self.null_strings:
            found += text_mistakes(text, "a text of `null_strings`")
        if self.quote and self.quote == self.delimiter:
            found.append(f"`quote` and `delimiter` are both {self.quote!r}; they must differ.")
        if self.encoding not in ENCODINGS:
            found.append(f"`encoding` is {self.encoding!r}; write one of {', '.join(ENCODINGS)}.")
        return found


def clashes(names: tuple[str, ...] | list[str]) -> list[tuple[str, str]]:
    """Pairs of names that a SQL engine, which folds case, cannot tell apart."""
    seen: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for name in names:
        first = seen.setdefault(folded(name), name)
        if first is not name:
            found.append((first, name))
    return found
