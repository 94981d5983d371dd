"""All tables of a release together: where several can answer, their inverse-variance combination does."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from math import prod

import numpy as np

from discreet.answering.readings import Reading
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import GLANCE
from discreet.errors import NotAnswerable
from discreet.families.shared.answer.evidence import Agreement, NoisyTable, Numbers, reduced
from discreet.families.shared.answer.library import Library
from discreet.families.shared.estimate.combination import inverse_variance_weights
from discreet.families.shared.estimate.kept import Kept
from discreet.families.tables.answer.linear_tables import (
    Agreed,
    CombinedTable,
    LinearTable,
    WeightedTable,
)
from discreet.families.tables.answer.models.model_table import (
    ModelTable,
    model_residuals,
    models_of,
)
from discreet.families.tables.answer.together.agreement import AgreedTables, of_counts, of_one_table
from discreet.families.tables.answer.together.summed_cells import SummedCells, summed_cells
from discreet.families.tables.estimate.consistent import ConsistentTables, DirectTable
from discreet.families.tables.estimate.drawn_cells import DrawnCells
from discreet.families.tables.estimate.residuals import ResidualTables
from discreet.families.tables.estimate.whole_tables import WholeCounts
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.parities import Parity
from discreet.families.tables.queries.residuals import BinnedTable, Residual
from discreet.privacy.laws import NoiseLaw
from discreet.questions.spelling import quoted
from discreet.schema import keeps_every_row
from discreet.schema.columns.named import CategoryColumn
from discreet.schema.completed import completed_names, declared_cells

MOST_KEPT = 64
"""Tables that are kept for further questions."""


class TableLibrary:
    """The tables of one release, and tables derived from them, kept. Thread safe: see `Kept`.

    `Library.made(TableLibrary)` gives the one of a release.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self.release, self.schema, self.complete = library.release, library.schema, library.complete
        found = library.evidence
        self.tables, self.sums, self.counts = found.tables, found.sums, found.counts
        self.spreads_evenly, self.own_sources = found.spreads_evenly, found.sources
        self.table_parts, self.lacks = library.table_parts, library.lacks
        self.is_glanced = any(GLANCE in part.facts for part in self.release.parts)
        """Whether what was measured was chosen after a first noisy look."""
        self.models = {
            model.columns: model
            for model in models_of(found)
            if model.counts.shape == self.complete.sizes(model.columns)
        }
        residuals = [each for each in found.residuals if self._counts_every_row(each)]
        self._are_alike = not residuals and self._leave_out_the_same()
        rows = None if self._are_alike else self.release.public_rows
        self.residuals = ResidualTables(self.complete, residuals, rows=rows)
        self.consistent = ConsistentTables(self.residuals, self._overlapping(residuals))
        self._kept: Kept[tuple[str, ...], WeightedTable] = Kept(MOST_KEPT)
        self._margins: Kept[str, LinearTable] = Kept()
        self._alone: Kept[int, AgreedTables] = Kept()

    def _counts_every_row(self, measured: Measurement) -> bool:
        """Whether rows without a cell are counted as in the other tables: apart, or evenly in all cells."""
        query = measured.query
        if isinstance(query, Parity):
            return not completed_names(self.complete, query.columns)
        if not isinstance(query, Residual | BinnedTable):
            return True
        return query.completed == completed_names(self.complete, query.columns)

    def _overlapping(self, residuals: list[Measurement]) -> list[DirectTable]:
        """Tables that have to agree with one another, or with residuals: columns that they share.

        Tables of columns that leave rows out are not among them, for those do not add up. A lone table,
        or tables without a common column, are answered from as they are.
        """
        complete = self._complete()
        times: dict[str, int] = {}
        for table in complete:
            for name in table.columns:
                times[name] = times.get(name, 0) + 1
        if not residuals and max(times.values(), default=0) < 2:
            return []
        return complete

    def _complete(self) -> list[DirectTable]:
        """Tables about the same rows: those that give every row a cell; or all, where all leave out the same rows."""
        return [
            DirectTable(table.columns, table.counts, table.law, ("table", place))
            for place, table in enumerate(self.tables)
            if self._are_alike or not self._leaving_out((*table.columns, *table.complete_over), ())
        ]

    def _leave_out_the_same(self) -> bool:
        """Whether every table is of the rows that have a cell in each of the same columns, and some have none."""
        over = {table.complete_over for table in self.tables}
        return len(over) == 1 and bool(self.left_out)

    @cached_property
    def whole(self) -> WholeCounts | None:
        """The whole counts that questions and synthetic rows read, if any: see `Library.whole`."""
        found = self._library.whole
        assert found is None or isinstance(found, WholeCounts)
        return found

    @cached_property
    def summed(self) -> list[SummedCells]:
        """What other families say of sums of cells."""
        return summed_cells(self._library)

    @property
    def most_columns(self) -> int:
        """The most columns that anything is known of together."""
        queries = [each.query for each in self.residuals.measured]
        measured = [
            each.columns for each in queries if isinstance(each, Residual | BinnedTable | Parity)
        ]
        return max(map(len, [*measured, *(each.columns for each in self.tables), *self.models]))

    def sets_together(self, sets: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
        """The columns of some tables, and of all tables with noise on each cell that are about the same rows."""
        measured = (table.columns for table in self._complete())
        return tuple(dict.fromkeys([*sets, *measured]))

    def is_complete(self, columns: tuple[str, ...]) -> bool:
        """Whether the tables over these columns are about the same rows as all others."""
        return self._are_alike or not self._leaving_out(columns, ())

    @cached_property
    def agreement(self) -> Agreement | None:
        """How the answers of a part that is alone, or of all parts of tables, add up, where there is no whole table."""
        found = self._library.evidence.agreement
        if self._library.agrees:
            said = [each for each in found if each.together and not each.within]
            sets = self.sets_together([columns for each in said for columns in each.sets])
            as_measured = any(each.as_measured for each in said)
            return Agreement(sets, as_measured=as_measured, together=True) if said else None
        return found[0] if self._library.is_alone and len(found) == 1 else None

    def agreed_over(self, columns: tuple[str, ...]) -> Agreed | None:
        """Counts over these columns that add up with all others, if the release was made for that."""
        if self.whole is not None and set(columns) <= set(self.whole.columns):
            counts = np.asarray(self.whole.over(columns)[declared_cells(self.complete, columns)])
            return Agreed(counts, self.release.public_rows, of_whole_table=True)
        if self.agreement is not None and not self.agreement.within:
            agreed = self._agreed.over(columns)
            if agreed is not None:
                return agreed
        if not self._agree_within:
            return None
        found = self.usable(columns)
        return self._within(found[0][0]).over(columns) if len(found) == 1 else None

    def agrees_within(self, columns: tuple[str, ...]) -> bool:
        """Whether the table over these columns is about other rows than tables over others, and there are such."""
        complete = self.is_complete(columns) or self.consistent.determines(columns)
        return self._agree_within and len(self.tables) > 1 and not complete

    @property
    def _agree_within(self) -> bool:
        """Whether tables that leave out rows which others count agree each with itself."""
        return self._library.agrees or (self.agreement is not None and self.agreement.within)

    @cached_property
    def _agreed(self) -> AgreedTables:
        assert self.agreement is not None
        ranges = {name: sums for each in self.summed for name, sums in each.halves.items()}
        total = self.total() if self._library.agree_with_ranges else None
        return AgreedTables(
            self.agreement,
            self.additive_tables,
            self.complete,
            self.release.public_rows,
            ranges,
            None if total is None else total.value,
        )

    def total(self) -> Reading | None:
        """The number of all rows, where other families say more of it than tables do."""
        found = (each.total() for each in self.summed)
        return next((each for each in found if each is not None), None)

    def _within(self, table: NoisyTable) -> AgreedTables:
        own = DirectTable(table.columns, table.counts, table.law)
        rows = self.release.public_rows
        return self._alone.get(id(table), lambda: of_one_table(own, self.schema, rows))

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Columns whose rows without a cell are in no table at all: see `NoisyTable.complete_over`."""
        named = {name for table in self.tables for name in table.complete_over}
        return tuple(
            name
            for name in self.schema.names
            if name in named and not keeps_every_row(self.schema.column(name))
        )

    def left_out_of(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Columns whose rows without a cell are not in the table over `columns`, whatever it asks of them."""
        if self._are_alike:
            return self.left_out
        found = self.usable(columns)
        return self._leaving_out(found[0][0].complete_over, ()) if found else ()

    @property
    def tabled_rows(self) -> int | None:
        """The number of rows in the tables, where it is public: none, if some rows are in no table."""
        return None if self.left_out else self.release.public_rows

    @cached_property
    def all_tables(self) -> ConsistentTables:
        """All complete tables together, also where none has to agree with another."""
        if self.consistent.determines(()):
            return self.consistent
        return ConsistentTables(self.residuals, self._complete())

    @cached_property
    def additive_tables(self) -> ConsistentTables:
        """The same, with what a model says of residuals that were not measured."""
        filled = model_residuals(self.models.values())
        return ConsistentTables(self.residuals, self._complete(), filled)

    @cached_property
    def _known(self) -> frozenset[str]:
        found = {name for table in self.tables for name in table.columns}
        found |= {name for model in self.models for name in model}
        found |= {each.column for each in self.counts}
        determined = (name for name in self.schema.names if self.residuals.determines((name,)))
        return frozenset(found).union(determined)

    def knows(self, column: str) -> bool:
        """Whether some table is about the column."""
        return column in self._known

    def usable(self, columns: tuple[str, ...]) -> list[tuple[NoisyTable, int]]:
        """Tables that contain `columns`, with how many of their cells make one cell.

        A further column must give every row a cell: summing over it would lose rows otherwise.
        """
        found: dict[tuple[str, ...], list[tuple[NoisyTable, int]]] = {}
        for table in self.tables:
            if set(columns) <= set(table.columns):
                extra = [self.schema.column(n) for n in table.columns if n not in columns]
                many = prod(column.cells for column in extra)
                missing = self._leaving_out(table.complete_over, columns)
                if missing or all(keeps_every_row(column) for column in extra):
                    found.setdefault(missing, []).append((table, many))
        # Tables that leave out other rows are not combined: those that leave out the fewest columns' are taken.
        return found[min(found, key=lambda each: (len(each), each))] if found else []

    def _leaving_out(self, over: tuple[str, ...], columns: tuple[str, ...]) -> tuple[str, ...]:
        """The columns of `over`, besides `columns`, whose missing values leave rows out."""
        return tuple(
            name
            for name in over
            if name not in columns and not keeps_every_row(self.schema.column(name))
        )

    def has_linear(self, columns: tuple[str, ...]) -> bool:
        """Whether measurements determine the table, so that no model is needed."""
        return self.consistent.determines(columns) or bool(self.usable(columns))

    def table(self, columns: tuple[str, ...]) -> WeightedTable:
        """The table over `columns` (in the schema's order), or a refusal that names the class."""
        return self._kept.get(columns, lambda: self._combined(columns))

    def measured(self, columns: tuple[str, ...]) -> WeightedTable:
        """The same as it was measured, whatever it agrees with; no model's."""
        return self._combined(columns, as_measured=True)

    def _combined(self, columns: tuple[str, ...], *, as_measured: bool = False) -> WeightedTable:
        found = self.usable(columns)
        if self.consistent.determines(columns):
            whole = None if as_measured else self.agreed_over(columns)
            return LinearTable(columns, self.consistent, whole)
        if not found:
            model = self._model_over(columns)
            if model is None:
                raise NotAnswerable(self.refusal(columns))
            return self._with_margins(model)
        # Every cell over `columns` holds the same number of draws, so these weights are right
        # for any question about it: equal questions get equal answers.
        weights = inverse_variance_weights([table.law.variance * many for table, many in found])
        counts: Numbers | None = None
        noise: list[tuple[float, NoiseLaw, int]] = []
        sources: list[DrawnCells] = []
        places = {id(table): place for place, table in enumerate(self.tables)}
        for (table, many), weight in zip(found, weights, strict=True):
            if weight == 0:
                continue
            share = weight * reduced(table, columns).astype(np.float64)
            counts = share if counts is None else counts + share
            noise.append((weight, table.law, many))
            key = ("table", places[id(table)])
            sources.append(DrawnCells(key, table.columns, table.counts.shape))
        assert counts is not None
        counted = np.ascontiguousarray(counts)
        whole = None if as_measured else self.agreed_over(columns)
        if whole is None and self._agree_within and not as_measured:
            whole = of_counts(columns, counted, self.schema, self.release.public_rows)
        return CombinedTable(columns, counted, tuple(noise), whole, tuple(sources))

    def _model_over(self, columns: tuple[str, ...]) -> ModelTable | None:
        """The model's table over these columns, or a sum of a larger one's cells, if its other columns lose no row."""
        if columns in self.models:
            return self.models[columns]
        larger = [
            model
            for own, model in self.models.items()
            if columns
            and set(columns) < set(own)
            and all(keeps_every_row(self.complete.column(n)) for n in own if n not in columns)
        ]
        return min(larger, key=lambda model: model.cells).summed_to(columns) if larger else None

    def _with_margins(self, model: ModelTable) -> ModelTable:
        model = model.within(declared_cells(self.complete, model.columns))
        for axis, name in enumerate(model.columns):
            if self.consistent.determines((name,)):
                model.margins[axis] = self._margins.get(name, partial(self._margin, name))
        model.whole = self.agreed_over(model.columns)
        return model

    def _margin(self, name: str) -> LinearTable:
        return LinearTable((name,), self.consistent)

    def _row_count(self) -> str:
        """What would have counted all rows: a table of any column that gives each of them a cell."""
        complete = [column.name for column in self.schema.columns if keeps_every_row(column)]
        such = f", such as {Marginals(columns=complete[:1]).text}" if complete else ""
        return f"a table that counts every row{such}"

    def refusal(self, columns: tuple[str, ...], *, also: str = "") -> str:
        """Why a table over `columns` is not there; `also` names classes that would serve as well."""
        unlisted = [name for name in columns if self._is_unlisted(name)]
        if unlisted:
            return self._by_name(columns, unlisted[0])
        needed = Marginals(columns=columns).text if columns else self._row_count()
        text = self.lacks(needed + also)
        ranges = self._library.evidence.ranges
        if not columns and ranges:
            return f"{text} It counts rows with a value: ask for count({ranges[0].columns[0]})."
        return text + (self._left_out(columns) or self._only_with_values(columns))

    def _is_unlisted(self, name: str) -> bool:
        """Whether nobody declared a column's values, and the release did not publish any either."""
        column = self.schema.column(name)
        return isinstance(column, CategoryColumn) and column.undeclared

    def _by_name(self, columns: tuple[str, ...], name: str) -> str:
        """The refusal where a column's values are not declared: a table would hold them all as one."""
        needed = f"keys({quoted(name)})"
        if len(columns) == 1:
            return self.lacks(needed)
        return (
            f"The release cannot answer this: the values of column {name!r} are not declared. A release counts "
            f"them alone, if it is made for {needed}; a curator counts them together with other columns."
        )

    def _only_with_values(self, columns: tuple[str, ...]) -> str:
        """How to ask ranges over more columns, which count the rows that have a value in each of them."""
        ranges = self._library.evidence.ranges
        wider = [each.columns for each in ranges if set(columns) < set(each.columns)]
        if not columns or not wider:
            return ""
        more = [name for name in wider[0] if name not in columns]
        return (
            f" Its ranges count rows with a value in each of {', '.join(wider[0])}: to count those, add "
            f"WHERE {' AND '.join(f'{quoted(name)} IS NOT NULL' for name in more)}."
        )

    def _left_out(self, columns: tuple[str, ...]) -> str:
        """Which larger table would do, if its other columns had a cell for every row."""
        larger = [each.columns for each in self.tables if set(columns) <= set(each.columns)]
        if not larger:
            return ""
        extra = [name for name in min(larger, key=len) if name not in columns]
        losing = [name for name in extra if not keeps_every_row(self.schema.column(name))]
        if not losing:
            return ""
        return (
            f" A larger table of the release leaves out rows without a cell in {', '.join(losing)}, so its cells "
            "do not add up to this one. The schema could give nulls and other values cells of their own."
        )
