"""A first draft of a schema: the columns' names and kinds, and blanks for a person to fill in.

Never a value: neither from rows (none are read) nor from the file's metadata, whose statistics
and dictionaries are made of rows. A type is looked at only for its kind; `ENUM('a', 'b')` is a
category whose values are not copied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from discreet.schema.columns.column import PLACEHOLDER, folded, name_mistakes
from discreet.schema.csv_options import CsvOptions
from discreet.schema.writing import key, line

# By the first word of a logical type, as DuckDB, Parquet, Arrow and pandas spell it.
_KIND_OF_TYPE = (
    (r"BOOL(EAN)?", "boolean"),
    (
        r"U?(TINY|SMALL|BIG|HUGE)INT|U?INT(EGER)?(_?(8|16|32|64|128))?|INT[1248]|LONG|SHORT",
        "integer",
    ),
    (r"FLOAT(4|8|16|32|64)?|HALFFLOAT|DOUBLE|REAL|DECIMAL(32|64|128|256)?|NUMERIC", "number"),
    (r"DATE(32|64)?", "date"),
    (r"TIMESTAMP(TZ|_S|_MS|_US|_NS|_TZ|_MILLIS|_MICROS)?|DATETIME(64)?", "datetime"),
    (
        r"VARCHAR|CHAR|BPCHAR|TEXT|STRING|UTF8|LARGE_STRING|ENUM|DICTIONARY|CATEGORY(ICAL)?|OBJECT",
        "category",
    ),
    (r"STR|LARGE_UTF8|UUID", "category"),
)
_BLANKS = {
    "category": [
        f'values = ["{PLACEHOLDER}"]  # every value that the column can hold; or, if nobody can list them: undeclared = true'
    ],
    "boolean": [],
    "integer": [
        f'range = ["{PLACEHOLDER}", "{PLACEHOLDER}"]  # lowest and highest, from public knowledge',
        "# width = 1  # integers to a cell",
    ],
    "number": [
        f'bounds = ["{PLACEHOLDER}", "{PLACEHOLDER}"]  # lowest and highest, from public knowledge',
        f'bits = "{PLACEHOLDER}"  # 2^bits equal cells; or `cuts = [...]` for cells of your own',
    ],
    "date": [
        f'range = ["{PLACEHOLDER}", "{PLACEHOLDER}"]  # first and last date',
        f'granularity = "{PLACEHOLDER}"  # day, week, month, quarter or year',
    ],
    "datetime": [
        f'range = ["{PLACEHOLDER}", "{PLACEHOLDER}"]  # first and last moment, in UTC',
        f'granularity = "{PLACEHOLDER}"  # microsecond, ..., hour, day, week, month, quarter or year',
    ],
}

_HEAD = f"""\
# A draft: it holds names and kinds, and no value of the table. Replace every
# "{PLACEHOLDER}" from what is publicly known about the column, never by looking at
# its rows. Delete the columns that nobody needs: each one costs accuracy.

dataset = "{PLACEHOLDER}"  # the name that the spending is kept under
# people = 10000  # roughly how many people the table is about
adjacency = "add-remove"  # or "change-one", where the number of rows is public

# [unit]  # where a person has several rows
# identifier = "..."
# max_rows = 1

# [cap]  # the most that may ever be spent
# epsilon = "1"

{{csv}}
# trim = true  # drop spaces around fields
# null_strings = ["", "NA"]
# decimal = ","  # in numbers such as 1234,5
# thousands = "."  # in numbers such as 1.234,5
# date_format = "%d.%m.%Y"  # in dates such as 31.01.2020

# [derived]  # a column of the table that is a function of another one costs nothing, such as the hour of a moment
# hour = "extract(hour FROM started_at)"  # declare it as a column too: [columns.hour]; a table without it needs
#                                         # nothing here: questions can GROUP BY extract(hour FROM started_at)

# Any column: nulls have a group of their own (nulls = "cell", the default), or such rows are in
# no count of the column (nulls = "exclude"). Undeclared values of a category share the group
# (other), unless it says other = false. Values outside a range count at its ends
# (outside = "edge", the default), in a group of their own ("other"), or nowhere ("exclude").
"""
_CSV = """\
# [csv]  # for CSV files whose format is not the usual one
# names = ["...", "..."]  # every column in order, where the file has no header
# delimiter = ";"\
"""


_TEMPLATES = """\
# What each kind of column declares. Copy the lines of the kind that a column has.
#
#   kind = "category"            # texts
#   values = ["F", "M"]          # every value that the column can hold
#   # undeclared = true          # instead of values, if nobody can list them, such as names of towns
#
#   kind = "boolean"             # true, false, yes, no, 1, 0
#
#   kind = "integer"
#   range = [0, 119]             # lowest and highest, both included
#   width = 5                    # integers to a cell; must divide the range
#
#   kind = "number"
#   bounds = [0.0, 250000.0]     # lowest and highest
#   bits = 8                     # 2^8 equal cells; or: cuts = [20000, 50000]
#
#   kind = "date"
#   range = [1900-01-01, 2029-12-31]
#   granularity = "month"        # day, week, month, quarter or year
#
#   kind = "datetime"
#   range = [2020-01-01T00:00:00, 2024-12-31T23:59:59]
#   granularity = "hour"         # microsecond, ..., hour, day, week, month, quarter or year
"""
"""Where a type does not tell the kind, as in CSV files."""


def kind_of_type(type_name: str) -> str | None:
    """The kind of column that a logical type suggests, or `None`."""
    word = re.match(r"[A-Za-z_0-9]*", type_name.strip())
    assert word is not None
    for pattern, kind in _KIND_OF_TYPE:
        if re.fullmatch(pattern, word[0].upper()):
            return None if type_name.rstrip().endswith("[]") else kind
    return None


def draft(
    names: Sequence[str], types: Mapping[str, str] | None = None, csv: CsvOptions | None = None
) -> str:
    """TOML with each column's name, its kind where its type tells, and blanks.

    If a type does not tell, templates of all kinds come first. `csv`: how the file is written, where that was said.
    """
    format_lines = [_CSV]
    if csv is not None and csv != CsvOptions():
        said = [] if csv.names is None else [line("names", list(csv.names))]
        said += [line("delimiter", csv.delimiter), line("encoding", csv.encoding)]
        format_lines = ["[csv]", *said]
    lines = [_HEAD.replace("{csv}", "\n".join(format_lines))]
    if any(kind_of_type((types or {}).get(name, "")) is None for name in names):
        lines.append(_TEMPLATES)
    seen: set[str] = set()
    for name in names:
        if name_mistakes(name) or folded(name) in seen:
            lines += [
                f"# Left out, because its name is empty, unusable or taken: {name!a}",
                "",
            ]
            continue
        seen.add(folded(name))
        kind = kind_of_type((types or {}).get(name, ""))
        lines.append(f"[columns.{key(name)}]")
        if kind is None:
            lines.append(f'kind = "{PLACEHOLDER}"  # {", ".join(_BLANKS)}')
        else:
            lines += [f'kind = "{kind}"', *_BLANKS[kind]]
        lines.append("")
    return "\n".join(lines)
