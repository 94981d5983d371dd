"""A forecast of what a release of tables will claim, from a simulated table.

Answers are whole counts that add up. How far these lie from the noisy numbers is known once there are noisy numbers, and
a claim says it beside the noise. A plan has none. It takes as many rows as it assumes, bell-shaped over the values of each column
and independent but for cells that are declared empty, gives their tables public noise, and computes the claims by the release's own function. The draws are always
the same, so a plan says the same each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from statistics import median
from typing import cast

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim
from discreet.families.shared.estimate.public_random import drawn_like, generator
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.protocol import Prepared, Verbs
from discreet.queries.measurable import CountQuery, counted_for
from discreet.queries.places import loaded
from discreet.queries.registry import merged
from discreet.questions.cells.impossible import empty_tables
from discreet.releases.preparing import Prospect
from discreet.releases.together import finished
from discreet.schema import Column, Schema

SEED = 20_261_117
DRAWS = 5
"""Invented tables, of whose claims the middle one is foreseen."""
MOST_INVENTED = 1 << 12
"""Cells of all invented tables together."""
MOST_COMBINED = 1 << 11
"""Combinations of cells of all columns: whole counts near tables over more of them take longer than a plan should."""
MOST_TIED = 1 << 16
"""Combinations of cells of columns that declarations tie together, up to which invented rows respect these."""
WIDTH = 1 / 6
"""The standard deviation of a column's values, in parts of their range."""


def foreseen_claims(prospect: Prospect, rows: int, confidence: float) -> tuple[ErrorClaim, ...]:
    """The claims about tables that the release of an invented table makes; none where that would take long."""
    schema = prospect.schema
    parts = tuple(part for part in prospect.parts if _counts_cells(part))
    if not parts or not _is_quick(parts, schema):
        return ()
    counted = [each for part in parts for query in _queries(part) for each in counted_for(query)]
    shares = _together(schema, counted)
    tried = [
        finished(
            replace(prospect, parts=parts),
            cast(Verbs, None),  # such parts use no verb but the first
            _Invented(schema, rows, seed, shares).measured,
            public_rows=rows if schema.rows_are_public else None,
            confidence=confidence,
        ).claims
        for seed in range(SEED, SEED + DRAWS)
    ]
    return tuple(
        replace(each[0], bound=median(claim.bound for claim in each))
        for each in zip(*tried, strict=True)
    )


def _is_quick(parts: Sequence[Prepared], schema: Schema) -> bool:
    """Whether whole counts near some tables are found at once: few cells, and few combinations where tables share columns crosswise."""
    tables = [query.columns for part in parts for query in _queries(part)]
    if sum(prod(schema.sizes(columns)) for columns in tables) > MOST_INVENTED:
        return False
    if prod(schema.sizes({name for each in tables for name in each})) <= MOST_COMBINED:
        return True
    places = {merged("foreseen")[part.query_class.name] for part in parts}
    return all(loaded(place)(tables, schema) for place in places)


def _counts_cells(part: Prepared) -> bool:
    """Whether a part is of tables, measured at once."""
    return (
        isinstance(part, MeasuredAtOnce)
        and part.query_class.name in merged("foreseen")
        and all(isinstance(request.query, CountQuery) for request in part.requests)
    )


def _queries(part: Prepared) -> list[CountQuery]:
    return [cast(CountQuery, request.query) for request in part.requests]


class _Invented:
    """A simulated table, and its noisy numbers."""

    def __init__(
        self, schema: Schema, rows: int, seed: int, shares: Mapping[tuple[str, ...], Floats]
    ) -> None:
        self._schema, self._rows, self._public = schema, rows, generator(seed)
        self._shares = shares

    def measured(self, part: Prepared) -> Sequence[Measurement]:
        assert isinstance(part, MeasuredAtOnce)
        found = []
        for query, cost, law in zip(_queries(part), part.costs(), part.laws, strict=True):
            exact = query.evaluate(*map(self._table, counted_for(query)))
            drawn = exact + drawn_like(law, len(exact), self._public)
            found.append(Measurement(query, law, query.sensitivity(self._schema), cost, drawn))
        return found

    def _table(self, columns: tuple[str, ...]) -> Integers:
        expected: Floats = np.array(float(self._rows))
        found: list[str] = []
        for names, shares in self._shares.items():
            rest = tuple(axis for axis, name in enumerate(names) if name not in columns)
            if len(rest) < len(names):
                expected = np.multiply.outer(expected, shares.sum(axis=rest))
                found += [name for name in names if name in columns]
        ordered = expected.transpose([found.index(name) for name in columns])
        return np.ascontiguousarray(np.rint(ordered), dtype=np.int64)


def _together(schema: Schema, sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Floats]:
    """The invented shares of the cells of each column, or of columns that declarations tie together: none in empty cells."""
    found: dict[tuple[str, ...], Floats] = {}
    for names, empty in (empty_tables(schema, sets, MOST_TIED) or {}).items():
        shares: Floats = np.array(1.0)
        for name in names:
            shares = np.multiply.outer(shares, _shares(schema.column(name)))
        possible = np.where(empty, 0.0, shares)
        if possible.any():
            found[names] = possible / possible.sum()
    tied = {name for names in found for name in names}
    alone = {name for columns in sets for name in columns} - tied
    return found | {(name,): _shares(schema.column(name)) for name in schema.names if name in alone}


def _shares(column: Column) -> Floats:
    """Which part of the rows is in each cell; in those of nulls and undeclared values none."""
    places = (np.arange(column.value_cells) + 0.5) / column.value_cells
    bell = np.exp(-(((places - 0.5) / WIDTH) ** 2) / 2)
    found = np.zeros(column.cells)
    found[: column.value_cells] = bell / bell.sum()
    return found
