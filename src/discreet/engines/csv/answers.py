"""Answers in a CSV file, one for each line, whatever it holds: for the clients of the local model.

A line that were nobody's answer, or took others with it, would tell of itself, whatever the epsilon. So lines are read
as an engine reads them: see `lines`.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.engines.csv.lines import LineRules
from discreet.engines.csv.text import UNREADABLE, header_names, opened, plain_lines, utf8_blocks
from discreet.errors import BadSource
from discreet.schema.columns.values import WHITESPACE
from discreet.schema.csv_options import CsvOptions

_BLOCK = 1 << 20


def columns_of_lines(path: str, wanted: Sequence[str], csv: CsvOptions) -> dict[str, list[str]]:
    """Some columns as texts, without the space around them; of a line that has no such field, an empty one."""
    names = header_names(path, csv)
    for name in wanted:
        if names.count(name) != 1:
            raise BadSource(
                f"The first line of {path!r} does not name a column {name!r}, or does so twice. It is not shown, because it "
                "may be somebody's answer. Nothing was reported. Write the columns' names there; also check --delimiter."
            )
    rules = LineRules(csv, len(names))
    try:
        with opened(path) as (file, _):
            text = b"".join(plain_lines(utf8_blocks(file, csv.encoding, _BLOCK)))
    except UNREADABLE:
        raise BadSource(
            f"{path!r} cannot be read to its end: it is damaged. Nothing was reported."
        ) from None
    rows = [rules.split(line) for line in text.split(b"\n")[1:-1]]
    return {name: [_field(row, names.index(name)) for row in rows] for name in wanted}


def _field(row: Sequence[bytes], place: int) -> str:
    return row[place].decode().strip(WHITESPACE) if place < len(row) else ""
