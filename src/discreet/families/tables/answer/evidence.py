"""What parts of tables contribute to the answers of a release: measured numbers, residuals, models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from math import prod

import numpy as np
import numpy.typing as npt

from discreet.arrays import Integers
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ANSWERS, AS_MEASURED, TOGETHER, Part, Release
from discreet.errors import BadInput, BadRelease
from discreet.families.shared.answer.evidence import (
    Agreement,
    Evidence,
    NoisyCount,
    NoisyTable,
    OverColumns,
    completed_by,
    measured_numbers,
)
from discreet.families.tables.answer.models.cell_errors import CellErrors
from discreet.families.tables.answer.models.column_counts import ColumnCounts
from discreet.families.tables.answer.models.model_table import ModelTable
from discreet.families.tables.answer.models.usual_errors import UsualErrors
from discreet.families.tables.answer.parities import SplitSource
from discreet.families.tables.estimate.mixture import Mixture, model_counts
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.estimate.whole_tables import WholeCounts, WholeRows, WholeTable
from discreet.families.tables.queries.cell_count import CellCount
from discreet.families.tables.queries.complete_tables import CompleteTable
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.parities import Parities
from discreet.families.tables.queries.residuals import ModelDistance, Residual
from discreet.privacy.laws import NoiseLaw
from discreet.queries.measurable import Marginal
from discreet.questions.cells.impossible import declares_empty_cells, impossible_cells
from discreet.schema import Schema, keeps_every_row

WITHOUT_A_CELL = "rows without a cell"
COMPLETE_ROWS = "left out of every table"
"""What a part says of them where its tables are sums of one whole table."""
SPREAD_EVENLY = "spread evenly"
COUNTED_APART = (
    "counted in one more cell of each column that leaves rows out, which no answer shows"
)
FROM_WHOLE_TABLE = "read from the whole table"
"""What a part says of itself where its questions and synthetic rows read whole counts. Older files do not say it:
their claims are about the measured cells, so these are what is read."""
FROM_ANOTHER_PART = "read from the whole table of another part"
AGREEING, AGREEING_WITHIN = "whole counts that agree", "whole counts that agree within each table"
"""What else it says: see `answer.together.agreement`."""
TABLE_COLUMNS, WHOLE_ARRAYS = "columns of the table", ("table", "cells", "counts")
"""Where a whole table is about more columns than its part; and the arrays that hold one."""
NONE_IN_EMPTY_CELLS = ", none in cells declared empty"
"""Said behind these where the schema declares some. Older files do not say it: they are read as measured."""
LARGEST_COUNT = 1 << 53


def kept_empty(said: str, schema: Schema) -> str:
    """What a part says of its answers, with what becomes of cells that are declared empty."""
    return said + NONE_IN_EMPTY_CELLS if declares_empty_cells(schema) else said


def said_of_answers(part: Part, schema: Schema) -> str | None:
    """How a part's answers add up; `None` where the schema declares empty cells and the part says nothing of these."""
    said = part.facts.get(ANSWERS)
    if not isinstance(said, str) or said == AS_MEASURED or not declares_empty_cells(schema):
        return said
    return said.removesuffix(NONE_IN_EMPTY_CELLS) if said.endswith(NONE_IN_EMPTY_CELLS) else None


def table_of(measurement: Measurement, schema: Schema, place: int) -> Evidence:
    query = measurement.query
    assert isinstance(query, Marginal)
    counts = measurement.values.reshape(query.shape(schema))
    return Evidence(tables=[NoisyTable(query.columns, counts, measurement.law)])


def complete_table_of(measurement: Measurement, schema: Schema, place: int) -> Evidence:
    query = measurement.query
    assert isinstance(query, CompleteTable)
    counts = measurement.values.reshape(query.shape(schema))
    return Evidence(tables=[NoisyTable(query.kept, counts, measurement.law, query.columns)])


def residual_of(measurement: Measurement, schema: Schema, place: int) -> Evidence:
    return Evidence(residuals=[measurement])


def count_of(measurement: Measurement, schema: Schema, place: int) -> Evidence:
    """Cells of one column say how many rows have a value in it, if they are all its cells of values."""
    query = measurement.query
    assert isinstance(query, CellCount)
    column = schema.column(query.columns[0]) if len(query.columns) == 1 else None
    if column is None or set(query.cells) != set(range(column.value_cells)):
        return Evidence()
    return Evidence(counts=[NoisyCount(column.name, int(measurement.values[0]), measurement.law)])


def marginals_of(part: Part, place: int, release: Release) -> Evidence:
    """Tables with noise on each cell. Where they are sums of one whole table, they are read from it."""
    found = measured_numbers(part, release.schema, place)
    if part.facts.get(WITHOUT_A_CELL) == COMPLETE_ROWS:
        found.tables = [
            replace(each, complete_over=each.complete_over or each.columns) for each in found.tables
        ]
    found.whole = _whole_of(part, release)
    found.agreement = agreement_of(part, release.schema, [table.columns for table in found.tables])
    return found


def _whole_of(part: Part, release: Release) -> list[OverColumns]:
    return [*whole_counts_of(part, release.schema, release.public_rows, release.parts)]


def _sets_of(part: Part, schema: Schema) -> tuple[tuple[str, ...], ...]:
    asked = part.query_class
    return asked.sets(schema) if isinstance(asked, Marginals | Parities) else ()


def agreement_of(part: Part, schema: Schema, sets: Sequence[tuple[str, ...]]) -> list[Agreement]:
    """How a part's answers from some tables add up, if they are not read from a whole table."""
    said = said_of_answers(part, schema)
    if said not in (AGREEING, AGREEING_WITHIN, AS_MEASURED):
        return []
    return [
        Agreement(
            tuple(sets),
            within=said == AGREEING_WITHIN,
            as_measured=part.is_answered_as_measured,
            together=TOGETHER in part.facts,
        )
    ]


def whole_counts_of(
    part: Part, schema: Schema, public_rows: int | None, beside: Sequence[Part] = ()
) -> list[WholeCounts]:
    """The whole counts that answers are read from, if any: published, or nearest to the only measured table.

    `beside`: all parts of the release, of whose columns they may be.
    """
    if said_of_answers(part, schema) != FROM_WHOLE_TABLE:
        return []
    table = published_table(part, schema, public_rows, beside)
    if table is None:
        measured = measured_numbers(part, schema).tables
        if len(measured) == 1:
            table = nearest_whole_table(measured[0], schema, public_rows)
    return [] if table is None else [table]


def residuals_of(part: Part, place: int, release: Release) -> Evidence:
    found = residual_numbers(part, release.schema, place)
    found.whole = _whole_of(part, release)
    found.agreement = agreement_of(part, release.schema, _sets_of(part, release.schema))
    return found


def model_of(part: Part, place: int, release: Release) -> Evidence:
    found = model_tables(part, release.schema, place)
    found.whole = _whole_of(part, release)
    found.agreement = agreement_of(part, release.schema, _sets_of(part, release.schema))
    return found


def splits_of(part: Part, place: int, release: Release) -> Evidence:
    return Evidence(sources=[SplitSource(part, place, release)])


def residual_numbers(part: Part, schema: Schema, place: int = 0) -> Evidence:
    found = measured_numbers(part, schema, place)
    found.spreads_evenly = part.facts.get(WITHOUT_A_CELL) == SPREAD_EVENLY
    return found


def model_tables(part: Part, schema: Schema, place: int = 0) -> Evidence:
    """Residuals where they were measured, and the model's tables with their measured distances."""
    found = residual_numbers(part, schema, place)
    schema = completed_by([part], schema)
    model, names, rows = published_model(part, schema)
    audits, models = part.noisy, list[ModelTable]()
    audits = audits[len(audits) - int(part.facts["audits"]) :]
    for each in audits:
        if not isinstance(each.query, ModelDistance):
            raise BadRelease("The model of a part lacks the measurements of its own error.")
        columns, counts = each.query.columns, each.query.reference
        if counts is None:  # read from a file
            counts = model_counts(model, [names.index(name) for name in columns], rows)
        table = ModelTable(columns, counts.astype(np.float64), float(each.values[0]), each.law)
        if all(keeps_every_row(schema.column(name)) for name in columns):
            table.total, table.total_law = _total(found.residuals, rows)
        models.append(table)
    known = ResidualTables(schema, found.residuals, rows=round(rows))
    found.models += models
    filled = [table for table in models if not known.determines(table.columns)]
    usual = cache(lambda: _usual_errors(filled, model, names, rows, known))
    for place, table in enumerate(filled):
        table.find_usual = partial(lambda own: usual()[own], place)
    return found


def _usual_errors(
    filled: Sequence[ModelTable],
    model: Mixture,
    names: Sequence[str],
    rows: float,
    known: ResidualTables,
) -> list[UsualErrors]:
    """How far the counts of each table are usually off that the model fills in."""
    columns = {
        name: _counts_of(name, model, names, rows, known)
        for name in {name for table in filled for name in table.columns}
    }
    tables = []
    for each in filled:
        modelled = rows * model.marginal([names.index(name) for name in each.columns])
        cells = CellErrors.of(modelled, [columns[name] for name in each.columns])
        tables.append((cells, each.distance, each.law.std))
    return UsualErrors.of(tables)


def _counts_of(
    name: str, model: Mixture, names: Sequence[str], rows: float, known: ResidualTables
) -> ColumnCounts:
    """What its measured table says of a column; what the model says, where there is none."""
    if known.determines((name,)):
        return ColumnCounts.of(known.table((name,)), known.cell_variance((name,)), rows)
    return ColumnCounts.of(rows * model.marginal([names.index(name)]), 0.0, rows)


def _total(measured: list[Measurement], public: float) -> tuple[float, NoiseLaw | None]:
    """The number of rows with its noise: measured, at its best, or public and then what the model stands for."""
    counts = [
        each for each in measured if isinstance(each.query, Residual) and not each.query.columns
    ]
    if not counts:
        return public, None
    best = min(counts, key=lambda each: each.law.variance)
    return float(best.values[0]), best.law


def published_model(part: Part, schema: Schema) -> tuple[Mixture, list[str], float]:
    """The model in a part, the columns that it is about, and the rows that it stands for."""
    schema = completed_by([part], schema)
    try:
        names = [schema.column(str(name)).name for name in part.facts["columns"]]
        rows, theta = float(part.facts["rows"]), part.estimates["theta"]
        sizes = [schema.column(name).cells for name in names]
        if theta.dtype.kind != "f" or theta.ndim != 2 or theta.shape[1] != sum(sizes):
            raise ValueError
        if not (np.isfinite(theta).all() and theta.min() >= 0 and 0 < rows < 1e15):
            raise ValueError
        return Mixture.of(sizes, theta.astype(np.float32)), names, rows
    except (KeyError, TypeError, ValueError):
        raise BadRelease("The model of a part is not readable.") from None


def published_table(
    part: Part, schema: Schema, rows: int | None, beside: Sequence[Part] = ()
) -> WholeCounts | None:
    """The whole table that a part was published with, of the public number of rows where there is one.

    Where rows without a cell are in no table, it has at most that number.
    """
    if not {"table", "cells"} & set(part.estimates):
        return None
    schema = completed_by(beside if TABLE_COLUMNS in part.facts else [part], schema)
    try:
        listed = part.facts[TABLE_COLUMNS if TABLE_COLUMNS in part.facts else "columns"]
        names = tuple(schema.column(str(name)).name for name in listed)
        found = _read_whole(part, names, schema.sizes(names))
    except (KeyError, TypeError, ValueError, BadInput):
        raise BadRelease("The whole table of a part is not readable.") from None
    if rows is None:
        return found
    leaves_out = part.facts.get(WITHOUT_A_CELL) == COMPLETE_ROWS
    return found.of_rows(min(rows, found.total) if leaves_out else rows)


def _read_whole(part: Part, names: tuple[str, ...], sizes: tuple[int, ...]) -> WholeCounts:
    if "table" in part.estimates:
        counts = part.estimates["table"]
        if counts.shape != (prod(sizes),):
            raise ValueError
        return WholeTable.read(names, sizes, _whole(counts, LARGEST_COUNT))
    codes, counts = part.estimates["cells"], part.estimates["counts"]
    if codes.ndim != 2 or codes.shape[1] != len(sizes) or counts.shape != codes.shape[:1]:
        raise ValueError
    for place, size in enumerate(sizes):
        _whole(codes[:, place], size - 1)
    return WholeRows(names, sizes, codes.astype(np.int64), _whole(counts, LARGEST_COUNT))


def _whole(numbers: npt.NDArray[np.generic], most: int) -> Integers:
    """Whole numbers from 0 to `most`, at least one of them."""
    if numbers.dtype.kind != "i" or numbers.min() < 0 or numbers.max() > most:
        raise ValueError
    return numbers.astype(np.int64)


def has_two_values(names: Sequence[str], schema: Schema) -> bool:
    """Whether there are columns, and each has two values, with or without cells for nulls and the rest."""
    return bool(names) and all(schema.column(name).value_cells == 2 for name in names)


def nearest_whole_table(
    noisy: NoisyTable, schema: Schema, public_rows: int | None
) -> WholeTable | None:
    """Whole counts of at least 0 near a table with noise on each cell, if its columns have two values each.

    Over many cells the nearest counts are biased: there counts are found from the top down, see `answer.together.agreement`.
    """
    if not has_two_values(noisy.columns, schema):
        return None
    columns = [schema.column(name) for name in noisy.columns]
    counts = noisy.counts.astype(np.float64)
    if public_rows is not None and not all(map(keeps_every_row, columns)):  # some rows lack a cell
        public_rows = min(public_rows, max(0, round(float(counts.sum()))))
    empty = impossible_cells(schema, noisy.columns)
    return WholeTable.near(noisy.columns, counts, public_rows, empty)
