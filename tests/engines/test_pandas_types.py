"""The type that pandas gives a column hangs on all its rows: one missing value makes whole numbers doubles.

So columns that differ in one row may have different types. What the other rows are read as must not hang on that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pandas as pd
import pytest

from discreet.engines import open_engine
from discreet.privacy.adjacency import PrivacyUnit
from discreet.questions.expressions import TRUE
from discreet.schema import CategoryColumn, IntegerColumn, Schema
from tests.harness.value_fuzz import BY_ROW

KINDS = tuple(column for column in BY_ROW.columns if column.kind != "category")
BY_CELL = Schema(
    dataset="t",
    columns=(
        *KINDS,
        CategoryColumn("spelled", ("01", "2.0", "1e1")),
        CategoryColumn("named", (), undeclared=True),
    ),
)
BY_PERSON = Schema(
    dataset="t", columns=(IntegerColumn("cell", 0, 9),), unit=PrivacyUnit("who", max_rows=1)
)
BASES: dict[str, tuple[list[Any], list[Any]]] = {
    "a category of whole numbers": ([1, 2, 10, -3], [None, 1.5, "x", 2 + 1j, 2**63]),
    "doubles": ([1.0, 2.5, -0.0, 10.0], [7, "x", 2 + 1j]),
    "booleans": ([True, False], [None, 1]),
    "days": ([date(1970, 1, 1), date(2020, 1, 31)], [None, "x"]),
    "moments": ([datetime(1970, 1, 1, 3), datetime(2020, 1, 31)], ["x", datetime(1, 1, 1)]),
}
"""Values of many rows, and what one more row may hold."""


TYPED: dict[str, Callable[[Any], Any]] = {
    "as it comes": lambda column: column,
    "categorical": lambda column: column.astype("category"),
    "nullable": lambda column: column.convert_dtypes(),
}


def seen(values: Sequence[Any], typed: str) -> Counter[Any]:
    """The counts of every cell of every kind of column, and of every name."""
    column = TYPED[typed](pd.Series(values))
    table = pd.DataFrame(dict.fromkeys(BY_CELL.names, column))
    found: Counter[Any] = Counter()
    with open_engine(table, BY_CELL) as engine:
        marginals = engine.marginals([(name,) for name in BY_CELL.names])
        keys, held = engine.held_keys(("named",), TRUE)
    for name, counts in zip(BY_CELL.names, marginals, strict=True):
        found.update({(name, cell): count for cell, count in enumerate(counts.tolist())})
    found.update(dict(zip(keys, held.tolist(), strict=True)))
    return found


def moved(one: Counter[Any], other: Counter[Any]) -> int:
    """How many counts differ, each by a row."""
    return sum(abs(one[key] - other[key]) for key in {*one, *other})


def kept_cells(people: Any) -> Counter[Any]:
    """The cells of the rows that are kept, one a person."""
    table = pd.DataFrame(
        {"who": people.array, "cell": [place % 10 for place in range(len(people))]}
    )
    with open_engine(table, BY_PERSON) as engine:
        (found,) = engine.marginals([("cell",)])
    return Counter(dict(enumerate(found.tolist())))


IDENTIFIERS: dict[str, tuple[list[Any], list[Any]]] = {
    "numbers": ([*range(20)], [None, 0.5, "x"]),
    "moments": (
        [datetime(2020, 1, day) for day in range(1, 21)],
        [None, "x", date(2020, 1, 1), pd.Timestamp("2020-01-01 00:00:00.000000001"), datetime(1, 1, 1),
         datetime(2020, 1, 31, tzinfo=UTC)],
    ),
    "truths": ([False, True], [None, 7]),
}  # fmt: skip
"""Who the rows of a table belong to, and whose one more row may be."""
TYPED_IDENTIFIERS = TYPED | {
    "of Arrow": lambda column: column.convert_dtypes(dtype_backend="pyarrow"),
    "in UTC": lambda column: column.dt.tz_localize("UTC") if column.dtype.kind == "M" else column,
}


@pytest.mark.parametrize(
    "base", [*BASES, *(f"identifiers that are {each}" for each in IDENTIFIERS)]
)
def test_no_row_changes_how_others_are_read(base: str) -> None:
    values, odd = IDENTIFIERS.get(base.removeprefix("identifiers that are ")) or BASES[base]
    if base not in BASES:
        people = [one for one in values for _ in range(140 // len(values))]
        for typed, type_ in TYPED_IDENTIFIERS.items():
            before = kept_cells(type_(pd.Series(people)))
            for one in odd:
                after = kept_cells(type_(pd.Series([*people, one])))
                assert moved(before, after) <= (one is not None), (one, typed)
        return
    for typed in TYPED:
        before = seen(values * 5, typed)
        for one in odd:
            after = seen([*values * 5, one], typed)
            assert moved(before, after) <= len(BY_CELL.names) + 1, (one, typed)
