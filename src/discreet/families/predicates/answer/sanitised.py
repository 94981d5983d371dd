"""Declared predicates from a sanitised database: a few rows that stand for all, off by a known number at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.answering.estimates import Estimates
from discreet.answering.regions.region import Region
from discreet.answering.source import Source
from discreet.arrays import Bools, Integers
from discreet.artifacts.release import Part, Release
from discreet.errors import BadRelease
from discreet.families.predicates.answer.predicates import over_parts
from discreet.families.predicates.queries.predicates import (
    Partition,
    Predicates,
    columns_of,
    partition,
    read_conditions,
)
from discreet.families.shared.answer.evidence import Evidence
from discreet.schema import Schema, keeps_every_row

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

NOTE = (
    "The interval holds for all declared predicates at once, by the theorem of the release. Its confidence is "
    "at most the theorem's."
)
MOST_ROWS = 10**7


def kinds_of(schema: Schema, asked: Predicates) -> Partition:
    """The parts of the predicates, and one more for rows without a cell, if there can be any."""
    found = partition(schema, asked.conditions)
    columns = columns_of(schema, read_conditions(schema, asked.conditions))
    if all(keeps_every_row(schema.column(name)) for name in columns):
        return found
    nowhere = np.zeros((len(found.workload), 1), dtype=np.bool_)
    return Partition(found.columns, found.part, np.hstack([found.workload, nowhere]))


def database_size(part: Part) -> int:
    """m, as the part states it."""
    size = part.facts.get("size")
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_ROWS:
        raise BadRelease("A sanitised database does not say how many rows it has.")
    return size


@dataclass(frozen=True, slots=True, eq=False)
class SanitisedRows:
    """Rows of a sanitised database, for synthetic rows: a kind by its share, a cell of it evenly."""

    found: Partition
    shape: tuple[int, ...]
    database: Integers
    stands_for: int

    @property
    def columns(self) -> tuple[str, ...]:
        return self.found.columns

    @property
    def rows(self) -> float:
        return float(self.stands_for)

    def draw(self, many: int, public: Generator) -> Integers:
        """Cells of so many rows, one column a column."""
        cells = np.bincount(self.found.part, minlength=len(self.database))
        shares = np.where(cells > 0, self.database + 1e-9, 0.0)  # of kinds that have a cell
        order = np.argsort(self.found.part, kind="stable")
        starts = np.concatenate([[0], np.cumsum(cells)])
        drawn = public.choice(len(shares), size=many, p=shares / shares.sum())
        within = (public.random(many) * cells[drawn]).astype(np.int64)
        flat = order[starts[drawn] + within]
        return np.stack(np.unravel_index(flat, self.shape), axis=1).astype(np.int64)


class SanitisedSource(Source):
    """The declared predicates, counted on the database."""

    def __init__(self, part: Part, place: int, release: Release) -> None:
        if not isinstance(part.query_class, Predicates):
            raise BadRelease("A sanitised database does not say for which predicates it is.")
        self._schema, self._places = release.schema, frozenset({place})
        self.found = kinds_of(self._schema, part.query_class)
        size, rows = database_size(part), release.public_rows
        database = part.estimates.get("database")
        shape = (self.found.workload.shape[1],)
        if rows is None or database is None or database.shape != shape:
            raise BadRelease(
                "A sanitised database does not have one number for each kind of point."
            )
        if database.dtype.kind not in "iu" or database.sum() != size or database.min() < 0:
            raise BadRelease("A sanitised database does not have as many rows as it says.")
        try:
            self._error, self._delta = float(part.facts["error"]), float(part.facts["delta"])
        except (KeyError, TypeError, ValueError):
            raise BadRelease("A sanitised database does not say how far off it is.") from None
        self.drawn = SanitisedRows(
            self.found,
            tuple(self._schema.column(name).cells for name in self.found.columns),
            database.astype(np.int64),
            rows,
        )
        self._each = rows / size

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        """The count of a declared predicate."""
        if not region.is_one_count:
            return None
        parts = int(self.found.part.max(initial=0)) + 1
        plain = Partition(self.found.columns, self.found.part, self.found.workload[:, :parts])
        wanted = over_parts(self._schema, region.condition, plain)
        if wanted is None or not self._is_declared(wanted, plain):
            return None
        value = self._each * float(self.drawn.database[:parts][wanted].sum())
        error = self._error if confidence <= 1 - self._delta + 1e-12 else np.inf
        ends = value - error, value + error, error
        return Estimates.single(
            value, *ends, is_model=True, is_direct=True, notes=(NOTE,), parts=self._places
        )

    @staticmethod
    def _is_declared(wanted: Bools, plain: Partition) -> bool:
        return bool((plain.workload == wanted[None, :]).all(axis=1).any())


def sanitised_of(part: Part, place: int, release: Release) -> Evidence:
    """The contribution of a sanitised database."""
    source = SanitisedSource(part, place, release)
    return Evidence(sources=[source], drawn=[source.drawn])
