"""Notes on rows that are in no answer, and on values that were rounded: the same words in every family."""

from __future__ import annotations

from discreet.schema import OrderedColumn, Schema


def no_cell(column: str) -> str:
    return (
        f"Rows for which the schema keeps no cell of column {column!r} (excluded nulls or values "
        "outside the domain) are not counted."
    )


def not_summed(column: str) -> str:
    return f"Values outside the declared domain of column {column!r} are not summed or averaged."


def rounded(step: float) -> str:
    return f"Before it was summed, each value was rounded to a multiple of {step:.3g}."


def left_out_of_ranges(name: str, schema: Schema, *, nulls: bool) -> list[str]:
    """Which rows ranges of a column do not count; `nulls`: whether the question asks for any that they leave out."""
    notes = [f"Rows without a value in column {name!r} are not counted."] if nulls else []
    column = schema.column(name)
    if isinstance(column, OrderedColumn) and column.outside != "edge":
        notes.append(f"Values outside the declared domain of column {name!r} are not counted.")
    return notes
