"""The rows of an open engine as codes: what no engine offers, for a core that could ask for raw rows could leak them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.protocol import checked_columns
from discreet.engines.sql import syntax as s


def encoded_rows(
    engine: Any, columns: Sequence[str], batch_rows: int
) -> Iterator[NDArray[np.int64]]:
    """The rows in batches shaped (rows, columns), in no particular order; -1 where a column excludes the row.

    Read past the verbs of the engine, from the table of codes that they all count.
    """
    if hasattr(engine, "encoded_rows"):  # the reference, which is made of rows
        yield from engine.encoded_rows(columns, batch_rows)
        return
    chosen = checked_columns(engine._schema, columns)
    codes = [
        exp.alias_(
            s.call("coalesce", s.cast(engine._layers.code(column), "BIGINT"), s.whole(-1)),
            f"b{axis}",
        )
        for axis, column in enumerate(chosen)
    ]
    query = exp.select(*codes).from_(engine._rows.encoded(chosen))
    rows = np.array(engine._session.rows(query), dtype=np.int64).reshape(-1, len(chosen))
    for start in range(0, len(rows), batch_rows):
        yield rows[start : start + batch_rows]
