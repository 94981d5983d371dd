"""Synthetic rows: a table with the columns, names and types of the original, drawn from a release.

Post-processing: rows are drawn from a model of published numbers with public randomness, so any
number of them may be made and a seed makes them again. A cell becomes a value inside it; nulls stay
nulls. A row like one of the original's is a coincidence: nobody's row is in the release.

May import errors, privacy, schema, queries, artifacts, inference.
"""

from __future__ import annotations

import csv
import os
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.answers.repairing import possible_rows
from discreet.answers.sources import Library, published_model
from discreet.errors import BadInput, NotAnswerable
from discreet.inference.fitting import RowModel, model_of_residuals, model_of_tables
from discreet.inference.public_random import generator
from discreet.schema import Column, IntegerColumn, Schema

if TYPE_CHECKING:
    pass

Integers = npt.NDArray[np.int64]
MOST_ROWS = 1_000_000_000
PLACES = 1 << 10
"""Values inside a cell are drawn among so many places."""
WRITERS = (".csv", ".parquet", ".arrow", ".feather")


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticTable:
    """Rows as codes of cells, and the values they stand for."""

    schema: Schema
    names: tuple[str, ...]
    codes: Integers
    """One row a row, one column a column."""
    places: Integers
    """Where inside its cell each value lies, of `PLACES`."""

    def __len__(self) -> int:
        return len(self.codes)

    def column(self, name: str) -> list[Any]:
        """The values of a column, as the schema decodes them."""
        declared = self.schema.column(name)
        place = self.names.index(declared.name)
        return _decoded(declared, self.codes[:, place], self.places[:, place])

    def to_dict(self) -> dict[str, list[Any]]:
        return {name: self.column(name) for name in self.names}

    def to_arrow(self) -> Any:
        """A table of Arrow, if pyarrow is installed."""
        try:
            import pyarrow
        except ImportError:
            raise BadInput(
                "Arrow and Parquet need pyarrow: install discreet[arrow], or write CSV."
            ) from None
        return pyarrow.table({name: pyarrow.array(self.column(name)) for name in self.names})

    def write(self, path: str | Path) -> None:
        """As CSV, Parquet or Arrow, by the ending of the name; whole or not at all."""
        place = Path(path)
        ending = place.suffix.lower()
        if ending not in WRITERS:
            raise BadInput(f"{place.name}: write to a file ending in {', '.join(WRITERS)}.")
        handle, partial = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
        os.close(handle)
        try:
            if ending == ".csv":
                self._write_csv(Path(partial))
            else:
                self._write_arrow(Path(partial), ending)
            Path(partial).replace(place)
        except BaseException:  # an interruption too must leave nothing behind
            Path(partial).unlink(missing_ok=True)
            raise

    def to_csv(self, path: str | Path) -> None:
        self.write(Path(path).with_suffix(".csv"))

    def to_parquet(self, path: str | Path) -> None:
        self.write(Path(path).with_suffix(".parquet"))

    def _write_csv(self, path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.names)
            columns = [[_text(each) for each in self.column(name)] for name in self.names]
            writer.writerows(zip(*columns, strict=True))

    def _write_arrow(self, path: Path, ending: str) -> None:
        table = self.to_arrow()
        if ending == ".parquet":
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, path)
            return
        import pyarrow.feather

        pyarrow.feather.write_feather(table, str(path))


def synthesize(library: Library, *, rows: int | None, seed: int | None) -> SyntheticTable:
    """Rows drawn from the release; as many as it estimates that there are, unless told otherwise."""
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 0):
        raise BadInput(f"rows is {rows!r}; it must be a whole number of at least 0.")
    model, names, estimated = _model(library)
    many = round(estimated) if rows is None else rows
    if many > MOST_ROWS:
        raise BadInput(f"{many:,} rows are more than the {MOST_ROWS:,} that are drawn at once.")
    source = generator(seed)
    codes = possible_rows(model.sample(many, source), library.schema, names, source)
    return SyntheticTable(
        library.schema, tuple(names), codes, source.integers(0, PLACES, codes.shape)
    )


def _model(library: Library) -> tuple[RowModel, list[str], float]:
    """The model of the part that is about the most columns."""
    found: list[tuple[RowModel, list[str], float]] = [
        published_model(part, library.schema)
        for part in library.release.parts
        if part.kind == "model"
    ]
    if found:
        return max(found, key=lambda each: len(each[1]))
    names = [
        column.name
        for column in library.schema.columns
        if library.residuals.determines((column.name,))
    ]
    if names:
        model, rows = model_of_residuals(library.residuals, library.residuals.measured, names)
        return model, names, rows
    tables = [table for table in library.tables if table.columns]
    names = [
        column.name
        for column in library.schema.columns
        if any(column.name in table.columns for table in tables)
    ]
    if not names:
        raise NotAnswerable(
            "Synthetic rows need tables of the columns: release marginals(2), or marginals of names."
        )
    model, rows = model_of_tables(
        library.schema, [(t.columns, t.counts, t.law) for t in tables], names
    )
    return model, names, rows


def _decoded(column: Column, codes: Integers, places: Integers) -> list[Any]:
    """Values of a column; equal places in equal cells are decoded once."""
    inside = np.where(_has_inside(column), places, PLACES // 2)
    distinct, where = np.unique(codes * PLACES + inside, return_inverse=True)
    values = [
        column.value_in(code, Fraction(place, PLACES))
        for code, place in zip(
            (distinct // PLACES).tolist(), (distinct % PLACES).tolist(), strict=True
        )
    ]
    return [values[each] for each in where.tolist()]


def _has_inside(column: Column) -> bool:
    """Whether the cells of a column may hold more than one value."""
    return column.is_ordered and not (isinstance(column, IntegerColumn) and column.width == 1)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
