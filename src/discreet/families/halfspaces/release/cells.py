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
from discreet.families.halfspaces.estimate.grid import CANONICAL, Resolution, resolutions
from discreet.families.halfspaces.estimate.prior import REFERENCE_BLOCKS
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.shared.estimate.combination import half_width
from discreet.families.shared.release.measured import MeasuredAtOnce
from discreet.families.shared.release.noise_choice import mechanism_for
from discreet.families.shared.release.protocol import USUAL_ROWS, ClassError, of_type
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.blocks import GridCounts
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Marginal
from discreet.schema import Schema
from discreet.schema.limits import MOST_CELLS

MOST_COLUMNS = 6
"""Above, a grid that a budget can pay for is too coarse to be of use."""


@dataclass(frozen=True, slots=True)
class HalfspaceCells:
    """One noisy count for each block of a grid over the columns."""

    name: ClassVar[str] = "cells"
    kind: ClassVar[str] = "halfspaces"

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        if (reason := of_type(query_class, Halfspaces).of_the_net) is not None:
            return reason
        columns = of_type(query_class, Halfspaces).named(schema)
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
        asked = of_type(query_class, Halfspaces)
        columns = asked.named(schema)
        people, known = schema.people or USUAL_ROWS, schema.rows_are_public
        options: list[tuple[float, Resolution, GridCounts | Marginal]] = []
        for resolution in resolutions(schema, columns):
            query = block_query(schema, columns, resolution.widths)
            mechanism = mechanism_for(query, schema, share=share, accounting=accounting)
            law = mechanism.law(query.sensitivity(schema), size=query.size(schema))
            error = resolution.expected(law.std, people, total_known=known)
            options.append((error, resolution, query))
        _, resolution, query = min(options, key=lambda option: option[0])
        own = {"columns": columns, "resolution": resolution}
        return PreparedCells.noisy(
            self, asked, schema, [(query, share)], share=share, accounting=accounting, **own
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCells(MeasuredAtOnce):
    """The grid that was chosen, with its noise."""

    columns: tuple[str, ...]
    resolution: Resolution

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        known = self.schema.rows_are_public
        resolution = self.resolution
        most = int(resolution.draws(total_known=known).max())
        cut = float(resolution.straddling.max())
        people = rows if rows is not None else (0 if cut == 0 else None)
        expected = resolution.expected(
            self.law.std, USUAL_ROWS if people is None else people, total_known=known
        )
        noise = half_width([(1.0, self.law, most)], confidence)
        return ClassError.in_rows(
            rows,
            queries=CANONICAL,
            expected=expected,
            half_width=None if people is None else noise + people * cut / 2,
            simultaneous=None,
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
            note += beaten_by_prior(prior)
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


def beaten_by_prior(prior: float) -> str:
    """The note of a plan on a release that is not worth its budget."""
    return (
        f" NOT expected to be better than a guess without data, which spreads the rows evenly over the bounds (its error on a population of {REFERENCE_BLOCKS} uneven blocks: about "
        f"{prior:,.0f} rows). Give more budget, or drop this class."
    )
