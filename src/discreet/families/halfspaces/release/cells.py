"""Halfspaces from a grid of noisy counts: the resolution follows from the budget and the people.

Guarantee:   the share, by one use of an additive mechanism on disjoint counts.
Adjacency:   the schema's.
Sensitivity: a unit's rows lie in one block each: `GridCounts.sensitivity`.
Theorem:     the mechanism's.
Error:       noise on the blocks inside, and the rows in blocks that the halfspace cuts. An answer's
             interval runs from the noisy sum of the blocks inside, less its noise's quantile, to
             that of all blocks touched, plus its noise's quantile: it holds for every table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.artifacts.release import ErrorClaim
from discreet.core.vault import Request
from discreet.errors import BadInput
from discreet.families.halfspaces.estimate.grid import CANONICAL, Resolution, resolutions
from discreet.families.halfspaces.estimate.prior import REFERENCE_BLOCKS
from discreet.families.halfspaces.queries.grid_counts import GridCounts
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.shared.estimate.combination import half_width
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.noise_choice import check_drawable, mechanism_for
from discreet.families.shared.release.protocol import ClassError
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Marginal
from discreet.questions.limits import MOST_CELLS
from discreet.schema import Schema

USUAL_PEOPLE = 1_000_000
"""Where the schema does not say how many people there are."""
MOST_COLUMNS = 6
"""Above, a grid that a budget can pay for is too coarse to be of use."""


@dataclass(frozen=True, slots=True)
class HalfspaceCells:
    """One noisy count for each block of a grid over the columns."""

    name: ClassVar[str] = "cells"
    kind: ClassVar[str] = "halfspaces"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if (reason := halfspaces(query_class).of_the_net) is not None:
            return reason
        columns = halfspaces(query_class).named(schema)
        if len(columns) > MOST_COLUMNS:
            return f"a grid serves at most {MOST_COLUMNS} columns, not {len(columns)}."
        cells = math.prod(schema.column(name).cells for name in columns)
        if cells > MOST_CELLS:
            return (
                f"its columns have {cells:,} combinations of cells, and at most {MOST_CELLS:,} are "
                "counted; declare wider cells."
            )
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedCells:
        asked = halfspaces(query_class)
        columns = asked.named(schema)
        options: list[tuple[float, Resolution, Request, NoiseLaw]] = []
        for resolution in resolutions(schema, columns):
            query = block_query(schema, columns, resolution.widths)
            mechanism = mechanism_for(query, schema, share=share, accounting=accounting)
            law = mechanism.law(query.sensitivity(schema), size=query.size(schema))
            error = resolution.expected(
                law.std, schema.people or USUAL_PEOPLE, total_known=schema.rows_are_public
            )
            options.append((error, resolution, Request(query, mechanism), law))
        _, resolution, request, law = min(options, key=lambda option: option[0])
        check_drawable(law, what=asked.text)
        return PreparedCells(
            query_class=asked,
            share=share,
            schema=schema,
            columns=columns,
            resolution=resolution,
            requests=(request,),
            law=law,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCells(MeasuredAtOnce):
    """The grid that was chosen, with its noise."""

    query_class: Halfspaces
    share: Budget
    schema: Schema
    columns: tuple[str, ...]
    resolution: Resolution
    requests: tuple[Request, ...]
    law: NoiseLaw
    algorithm: str = HalfspaceCells.name
    kind: ClassVar[str] = HalfspaceCells.kind

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        known = self.schema.rows_are_public
        resolution = self.resolution
        most = int(resolution.draws(total_known=known).max())
        cut = float(resolution.straddling.max())
        people = rows if rows is not None else (0 if cut == 0 else None)
        expected = resolution.expected(
            self.law.std, USUAL_PEOPLE if people is None else people, total_known=known
        )
        noise = half_width([(1.0, self.law, most)], confidence)
        return ClassError(
            queries=CANONICAL,
            unit="rows",
            expected=expected,
            half_width=None if people is None else noise + people * cut / 2,
            simultaneous=None,
            scale=None if rows is None else float(rows),
            note=self._note(expected, rows),
        )

    def _note(self, expected: float, rows: int | None) -> str:
        columns = self.columns
        grid = " x ".join(
            f"{-(-self.schema.column(name).value_cells // width)}"
            for name, width in zip(columns, self.resolution.widths, strict=True)
        )
        note = (
            f"{grid} blocks; errors are averaged over {CANONICAL} random halfspaces, and the widths "
            "assume rows spread evenly over the bounds."
        )
        prior = self.resolution.prior * (rows or 0)
        if self.resolution.blocks == 1 or (rows is not None and expected >= prior):
            note += (
                " NOT expected to beat an answer without data, which spreads the rows evenly over the "
                f"bounds (its error on a population of {REFERENCE_BLOCKS} uneven blocks: about "
                f"{prior:,.0f} rows). Give more budget, or drop this class."
            )
        return note

    def facts(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "widths": list(self.resolution.widths),
            "ties": "a row on the plane satisfies >= and <=; a null satisfies nothing",
        }

    def claims(self, confidence: float) -> tuple[ErrorClaim, ...]:
        return ()  # how many rows a plane cuts depends on them


def block_query(
    schema: Schema, columns: tuple[str, ...], widths: tuple[int, ...]
) -> GridCounts | Marginal:
    """Blocks; where each is a single cell, the plain marginal, which answers more questions."""
    if all(width == 1 for width in widths):
        return Marginal(columns)
    return GridCounts(columns, widths, tuple(schema.column(name).value_cells for name in columns))


def halfspaces(query_class: QueryClass) -> Halfspaces:
    if not isinstance(query_class, Halfspaces):
        raise BadInput(f"{query_class.text} is not a class of halfspaces.")
    return query_class
