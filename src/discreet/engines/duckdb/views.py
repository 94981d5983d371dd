"""Views over Parquet files: see `sql.views`."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from discreet.engines.duckdb.dialect import DIALECT
from discreet.engines.duckdb.scan import Scan, open_parquet, parquet_table
from discreet.engines.duckdb.session import Session
from discreet.engines.sources import Source
from discreet.engines.sql.views import joined
from discreet.errors import BadSource
from discreet.schema.schema import Schema


def open_view(session: Session, source: Source, schema: Schema) -> Scan:
    """The scan of a view's columns; afterwards the session is locked."""
    view = schema.view
    assert view is not None
    files = {name: file for (name, _), file in zip(view.tables, source.files, strict=True)}
    for one, other in combinations(files, 2):
        if Path(files[one]).samefile(files[other]):  # as public it could be joined by anything
            raise BadSource(
                f"Tables {one!r} and {other!r} of the view are one file. No row was read. Name it once, "
                "and give it two aliases in the view's SQL."
            )
    table, fields = joined(
        schema,
        lambda name, columns: open_parquet(session, (files[name],), columns),
        lambda name: parquet_table(session, (files[name],)),
        DIALECT,
    )
    session.lock(source.files)
    return Scan(table, fields)
