"""Synthetic rows: a table with the columns, names and types of the original, drawn from a release.

Post-processing: rows are drawn from a model of published numbers with public randomness, so any
number of them may be made and a seed makes them again. A cell becomes a value inside it; nulls stay
nulls. A row like one of the original's is a coincidence: nobody's row is in the release.
"""

from __future__ import annotations

import csv
import os
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.answering.named_values import published_codes
from discreet.answering.synthesis.drawn_rows import Codes, DrawsFirst, DrawsRows
from discreet.answering.synthesis.repairing import possible_rows
from discreet.arrays import Integers
from discreet.artifacts.answer import Answer
from discreet.artifacts.text_tables import text_lines
from discreet.errors import BadInput, NotAnswerable
from discreet.families.shared.answer.library import Library
from discreet.families.shared.estimate.public_random import generator
from discreet.queries.places import loaded
from discreet.queries.registry import families
from discreet.questions.derived import computed
from discreet.schema import Column, IntegerColumn, Schema, keeps_every_row
from discreet.schema.completed import CompletedColumn, completed_names

MOST_ROWS = 1_000_000_000
PLACES = 1 << 10
"""Values inside a cell are drawn among so many places."""
WIDEST = (1 << 62) // PLACES
"""Cells whose numbers, with a place, fit into 64 bits."""
COUNTED = 4
"""Numbers are told apart by a list of all that there may be, if these are at most so many times the rows."""
ARROW_TYPES = {
    "boolean": "bool",
    "category": "string",
    "date": "date32",
    "datetime": "timestamp[us]",
    "integer": "int64",
    "number": "float64",
}
SHOWN = 10
"""Rows that are printed."""
WRITERS = (".csv", ".parquet", ".arrow", ".feather")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticTable:
    """Rows as codes of cells, and the values they stand for. Thread safe: it never changes."""

    schema: Schema
    names: tuple[str, ...]
    codes: Codes
    """One row a row, one column a column. The number after a column's last cell: no cell of it."""
    places: npt.NDArray[np.int16]
    """Where inside its cell each value lies, of `PLACES`."""
    notes: tuple[str, ...] = ()
    """What the rows do not show."""

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        some = SyntheticTable(self.schema, self.names, self.codes[:SHOWN], self.places[:SHOWN])
        columns = [[_text(each) or "null" for each in some.column(name)] for name in self.names]
        lines = text_lines(self.names, list(zip(*columns, strict=True)), [True] * len(self.names))
        about = f"{len(self):,} synthetic rows of {self.schema.dataset!r}, the first {len(some)}:"
        return "\n".join([about, *lines, *self.notes])

    def column(self, name: str) -> list[Any]:
        """The values of a column, as the schema decodes them."""
        values, where = self._decoded(name)
        column = np.empty(len(values), dtype=object)
        column[:] = values
        found: list[Any] = column[where].tolist()
        return found

    def _decoded(self, name: str) -> tuple[list[Any], Integers]:
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

        def of(name: str) -> Any:
            values, where = self._decoded(name)
            array = _arrow_values(pyarrow, values)
            if pyarrow.types.is_null(
                array.type
            ):  # nothing but nulls: their kind is declared all the same
                array = array.cast(ARROW_TYPES[self.schema.column(name).kind])
            return array.take(_arrow_numbers(pyarrow, "int64", where))

        return pyarrow.table({name: of(name) for name in self.names})

    def to_pandas(self) -> Any:
        """A pandas DataFrame; needs pandas and pyarrow."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A Polars DataFrame; needs polars and pyarrow."""
        try:
            import polars
        except ImportError:
            raise BadInput("to_polars() needs polars; install it, or use to_arrow().") from None
        return polars.from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """So that Polars, DuckDB and other readers of Arrow take it as it is."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def write(self, path: str | Path) -> None:
        """As CSV, Parquet or Arrow, by the ending of the name; whole or not at all."""
        place = Path(path).resolve()  # so that a link stays a link
        ending = place.suffix.lower()
        if ending not in WRITERS:
            raise BadInput(f"{place.name}: write to a file ending in {', '.join(WRITERS)}.")
        try:
            self._write_beside(place, ending)
        except OSError as error:  # of the file beside it, whose name nobody typed
            raise BadInput(
                f"{path} was not written: {error.strerror}. Name a file in a folder that exists and has room."
            ) from error

    def _write_beside(self, place: Path, ending: str) -> None:
        handle, partial = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
        os.close(handle)
        try:
            if ending == ".csv":
                self._write_csv(Path(partial))
            else:
                self._write_arrow(Path(partial), ending)
            mask = os.umask(0)
            os.umask(mask)
            Path(partial).chmod(0o666 & ~mask)  # as open() would have made it
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


def synthesize(
    library: Library, *, rows: int | None, seed: int | None, counted: Answer | None = None
) -> SyntheticTable:
    """Rows drawn from the release; without `rows` as many as it has `counted`, if it counts every row."""
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 0):
        raise BadInput(f"rows is {rows!r}; it must be a whole number of at least 0.")
    first, others = _chosen(library, counted)
    if not first and not others:
        raise NotAnswerable(
            "Synthetic rows need tables or ranges of the columns: release marginals(2), or marginals of "
            "names, or intervals of a column."
        )
    many = rows
    if many is None and counted is not None:
        many = library.likely_rows(counted)
    if many is None:
        whole = [each.rows for each in first if each.counts_every_row]
        many = round(whole[0] if whole else max(0, *(each.rows for each in (*first, *others))))
    if many > MOST_ROWS:
        raise BadInput(f"{many:,} rows are more than the {MOST_ROWS:,} that are drawn at once.")
    public = generator(seed)
    drawn = [(list(each.columns), each.draw(many, public)) for each in (*first, *others)]
    names, codes, derived = computed(*_beside(library.schema, drawn), library.schema)
    codes = possible_rows(codes, library.schema, names, public)
    codes = published_codes(codes, names, list(library.named.values()), public)
    places = public.integers(0, PLACES, codes.shape, dtype=np.int16)
    notes = _notes(library, drawn, first, derived)
    return SyntheticTable(library.published, names, codes, places, notes)


def _chosen(library: Library, counted: Answer | None) -> tuple[list[DrawsFirst], list[DrawsRows]]:
    """What the columns are drawn from: each from the first family that has it, else from a part that draws for itself."""
    covered: set[str] = set()
    first: list[DrawsFirst] = []
    for place in (place for family in families() for place in family.drawn):
        for each in loaded(place)(library, counted):
            if covered.isdisjoint(each.columns):
                covered |= set(each.columns)
                first.append(each)
    return first, [each for each in library.evidence.drawn if covered.isdisjoint(each.columns)]


def _beside(schema: Schema, drawn: list[tuple[list[str], Codes]]) -> tuple[tuple[str, ...], Codes]:
    """All columns in the schema's order. Codes of 64 bits need unsigned numbers."""
    if len(drawn) == 1 and drawn[0][1].dtype == np.int64:
        return tuple(drawn[0][0]), drawn[0][1]
    by_name = {name: codes[:, place] for names, codes in drawn for place, name in enumerate(names)}
    names = tuple(column.name for column in schema.columns if column.name in by_name)
    return names, np.stack([by_name[name].astype(np.uint64) for name in names], axis=1)


def _notes(
    library: Library,
    drawn: list[tuple[list[str], Codes]],
    first: list[DrawsFirst],
    derived: tuple[str, ...],
) -> tuple[str, ...]:
    found = []
    if derived:
        found.append(f"Computed from other columns, as the schema declares: {', '.join(derived)}.")
    if len(drawn) > 1:
        groups = "; ".join(", ".join(names) for names, _ in drawn)
        found.append(
            f"Columns of different parts of the release were drawn independently of each other: {groups}."
        )
    lacking = [each for each in first if each.nulls == "all rows less the values"]
    valued = [name for each in first if each.nulls == "none" for name in each.columns]
    if valued:
        found.append(
            f"Every row has a value in {', '.join(valued)}: ranges do not count nulls, so none are drawn."
        )
    if lacking:
        names = ", ".join(each.columns[0] for each in lacking)
        found.append(
            f"In {names} the number of nulls is the number of all rows minus the number of values, as the release estimates them."
        )
    apart = completed_names(library.complete, (name for each in first for name in each.columns))
    if apart:
        found.append(
            f"Some rows have no cell in {', '.join(apart)}, like some rows of the original: they have no value there, or (other), and values in the other columns."
        )
    left = [
        column.name
        for column in library.schema.columns
        if column.name not in derived and all(column.name not in names for names, _ in drawn)
    ]
    if left:
        found.append(f"Not in the release, so not drawn: {', '.join(left)}.")
    return tuple(found)


def _decoded(
    column: Column, codes: Codes, places: npt.NDArray[np.int16]
) -> tuple[list[Any], Integers]:
    """Values of a column, and which of them each row has; equal places in equal cells are decoded once."""
    many = _places_inside(column)
    inside = places.astype(np.int64) * many // PLACES
    if not keeps_every_row(column):
        column = CompletedColumn(column, column.name)  # a row may have no cell in it
    if column.cells > WIDEST:
        listed = zip(codes.tolist(), inside.tolist(), strict=True)
        values = [column.value_in(code, Fraction(place, many)) for code, place in listed]
        return values, np.arange(len(values))
    fractions = [Fraction(place, many) for place in range(many)]
    distinct, where = _told_apart(codes.astype(np.int64) * many + inside, column.cells * many)
    pairs = zip((distinct // many).tolist(), (distinct % many).tolist(), strict=True)
    return [column.value_in(code, fractions[place]) for code, place in pairs], where


def _arrow_values(pyarrow: Any, values: list[Any]) -> Any:
    """An array of Arrow. Given a list, pyarrow imports pandas if there is one, which takes longer than all the rest."""
    kinds = set(map(type, values)) - {type(None)}
    there = np.array([value is not None for value in values], dtype=np.bool_)
    if kinds == {str}:
        texts = pyarrow.lib.StringBuilder()
        texts.append_values(values)
        return texts.finish()
    for kind, arrow, dtype in ((int, "int64", np.int64), (float, "float64", np.float64)):
        if kinds == {kind}:
            numbers = np.array([0 if value is None else value for value in values], dtype=dtype)
            return _arrow_numbers(pyarrow, arrow, numbers, there)
    return pyarrow.array(values)


def _arrow_numbers(
    pyarrow: Any, kind: str, numbers: npt.NDArray[Any], there: npt.NDArray[np.bool_] | None = None
) -> Any:
    """Numbers of 64 bits as an array of Arrow; null where there are none."""
    known = None if there is None else pyarrow.py_buffer(np.packbits(there, bitorder="little"))
    buffers = [known, pyarrow.py_buffer(numbers)]
    return pyarrow.Array.from_buffers(pyarrow.type_for_alias(kind), len(numbers), buffers)


def _told_apart(keys: Integers, most: int) -> tuple[Integers, Integers]:
    """The different ones of numbers below `most`, and which of them each is."""
    if most > COUNTED * max(len(keys), 1):
        distinct, where = np.unique(keys, return_inverse=True)
        return distinct, where
    there = np.zeros(most, dtype=np.bool_)
    there[keys] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[keys]


def _places_inside(column: Column) -> int:
    """How many places inside a cell of the column may hold different values."""
    if not column.is_ordered:
        return 1
    return min(column.width, PLACES) if isinstance(column, IntegerColumn) else PLACES


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
