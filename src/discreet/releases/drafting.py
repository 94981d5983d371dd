"""A schema draft from a table's column names and types. No row is read."""

from __future__ import annotations

from discreet.engines import column_names_and_types
from discreet.engines.opening import refuse_row_as_header
from discreet.schema import CsvOptions
from discreet.schema.drafting import draft


def draft_schema(
    source: object, csv: CsvOptions | None = None, *, says_header: bool = False
) -> str:
    """TOML with each column's name and kind, and blanks for a person to fill in.

    `csv` says how a CSV file is written; the draft says so too. `says_header`: a person says that the first
    line holds names, so a number in it does not make it a row.
    """
    described = column_names_and_types(source, CsvOptions() if csv is None and says_header else csv)
    names = [name for name, _ in described]
    if csv is not None and csv.names is None and not says_header:
        refuse_row_as_header(names)
    return draft(names, dict(described), csv)
