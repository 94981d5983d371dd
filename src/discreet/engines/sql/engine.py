"""The verbs of an engine, for any database: requests become queries, and their results arrays.

A few marginals are counted in one scan, by GROUPING SETS over one integer key per grouping.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.passes import Grouping, groupings, passes
from discreet.engines.protocol import (
    Counts,
    SumRequest,
    checked_marginal,
    checked_nodes,
    checked_sum,
)
from discreet.engines.sql import cells
from discreet.engines.sql import syntax as s
from discreet.engines.sql.expressions import Compiler
from discreet.engines.sql.keys import held_keys
from discreet.engines.sql.nodes import NodeCounter
from discreet.engines.sql.rows import Rows
from discreet.engines.sql.session import Session
from discreet.engines.sql.syntax import Sql
from discreet.engines.sql.tallies import tallied
from discreet.queries.tallies import Key, Tally
from discreet.questions.expressions import Expression
from discreet.schema.schema import Schema


class SqlEngine(ABC):
    """Counts with a database. See `protocol.Engine` for what the verbs promise."""

    most_groupings = 1000
    """Groupings of one scan, each of which is a column of a query."""

    def __init__(self, session: Session, schema: Schema, rows: Rows) -> None:
        self._session = session
        self._schema = schema
        self._rows = rows
        self._layers = rows.layers
        self._nodes = NodeCounter(session, rows)

    @abstractmethod
    def close(self) -> None: ...

    def marginals(self, column_sets: Sequence[tuple[str, ...]]) -> list[Counts]:
        sets = [tuple(self._schema.column(name).name for name in names) for names in column_sets]
        shapes = [checked_marginal(self._schema, names) for names in sets]
        found, place, together = self._counted(sets)
        return [
            found[number].marginal(together[number], shape, names)
            for number, shape, names in zip(place, shapes, sets, strict=True)
        ]

    def _counted(
        self, sets: Sequence[tuple[str, ...]]
    ) -> tuple[list[Grouping], list[int], list[Counts]]:
        """Groupings that cover every set, for each set the place of its own, and their counts."""
        found, place = groupings(self._schema, sets)
        together = [
            counts
            for numbers in passes(found)
            for start in range(0, len(numbers), self.most_groupings)
            for counts in self._count(
                [found[number] for number in numbers[start : start + self.most_groupings]]
            )
        ]
        return found, place, together

    def node_counts(
        self, columns: tuple[str, ...], shifts: tuple[int, ...], nodes: NDArray[np.uint64]
    ) -> Counts:
        chosen = checked_nodes(self._schema, columns, shifts, nodes)
        return self._nodes.count(chosen, shifts, nodes)

    def sums(self, requests: Sequence[SumRequest]) -> list[int]:
        if not requests:
            return []
        columns = [checked_sum(self._schema, request) for request in requests]
        terms = [
            exp.Sum(
                this=cells.fixed_point(
                    self._layers.value(column),
                    column,
                    request.scale,
                    request.lowest,
                    request.highest,
                    self._layers.dialect,
                )
            )
            for column, request in zip(columns, requests, strict=True)
        ]
        unique = list({column.name: column for column in columns}.values())
        (totals,) = self._session.rows(exp.select(*terms).from_(self._rows.encoded(unique, True)))
        return [0 if total is None else int(total) for total in totals]

    def tally(self, tallies: Sequence[Tally]) -> list[Counts]:
        rows, compiler = self._rows, self._compiler()
        return tallied(
            tallies, self._schema, self._session, rows.tally_rows, compiler, rows.unit_rows
        )

    def held_keys(self, columns: Sequence[str], condition: Expression) -> tuple[list[Key], Counts]:
        rows = self._rows.tally_rows
        return held_keys(columns, condition, self._schema, self._session, rows, self._compiler())

    def _compiler(self) -> Compiler:
        layers = self._layers
        return Compiler(self._schema, layers.dialect, layers.number_categories())

    def row_count(self) -> int:
        return self._rows.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _count(self, together: Sequence[Grouping]) -> list[Counts]:
        """The counts of several groupings, from one scan; numbered one after the other."""
        names = list(dict.fromkeys(name for grouping in together for name in grouping.columns))
        starts = np.cumsum([0, *(grouping.cells for grouping in together)])
        wide = "INTEGER" if starts[-1] < 2**31 else "BIGINT"
        keys = []
        for number, grouping in enumerate(together):
            keys.append(exp.alias_(self._key(grouping, int(starts[number]), wide), f"k{number}"))
        columns = [self._schema.column(name) for name in names]
        keyed = exp.select(*keys).from_(self._rows.encoded(columns)).subquery("keyed")
        found, counted = self._session.arrays(self._by_cell(keyed, len(together)))
        counts = np.zeros(int(starts[-1]), dtype=np.int64)
        counts[found.astype(np.int64)] = counted
        return [counts[starts[number] : starts[number + 1]] for number in range(len(together))]

    def _by_cell(self, keyed: Sql, number: int) -> exp.Select:
        """The cells that have rows, and how many: a row is counted once by each of its keys."""
        listed = [s.name(f"k{place}") for place in range(number)]
        cell = s.call("coalesce", *listed)  # of a grouping set, only its own key is not null
        query = exp.select(exp.alias_(cell, "cell"), exp.alias_(exp.Count(this=exp.Star()), "n"))
        sets = [exp.Tuple(expressions=[one]) for one in listed]
        query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
        return query.from_(keyed)

    def _key(self, grouping: Grouping, start: int, wide: str) -> Sql:
        """The number of a row's joint cell, from `start` on. Few operations: it is most of the work."""
        key: Sql | None = s.cast(s.whole(start), wide) if start else None
        step = grouping.cells
        for name, many in zip(grouping.columns, grouping.slots, strict=True):
            step //= many
            column = self._schema.column(name)
            code = s.cast(self._layers.code(column), wide)
            if many > column.cells:
                code = s.call("coalesce", code, s.cast(s.whole(column.cells), wide))
            part = code if step == 1 else s.multiply(code, s.cast(s.whole(step), wide))
            key = part if key is None else s.add(key, part)
        assert key is not None
        return key
