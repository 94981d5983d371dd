"""Repair of synthetic rows that the schema declares impossible.

An impossible row swaps a value with another row so that both become possible: every column keeps its counts. Columns that are derived from one another change together. If no partner is found, the row becomes a copy of a possible one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.errors import NotAnswerable
from discreet.questions.cells.impossible import derived_over, impossible_rows, rules_over
from discreet.questions.derived import Derived
from discreet.schema import Schema

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

Codes = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
EXCHANGES, DRAWS = 60, 10_000


def possible_rows(codes: Codes, schema: Schema, names: Sequence[str], source: Generator) -> Codes:
    """The same rows, with those that a declaration rules out put right."""
    rules, derived = rules_over(schema, names), derived_over(schema, names)
    if not rules and not derived:
        return codes
    wrong = np.flatnonzero(impossible_rows(schema, names, codes))
    if not len(wrong):
        return codes
    codes = codes.copy()
    named = {name for rule in rules for name in rule} | {each.column for each in derived}
    declared = _together(named, derived, names)
    for _ in range(EXCHANGES):
        partners, first = np.unique(source.integers(0, len(codes), len(wrong)), return_index=True)
        mine = wrong[first]
        apart = ~np.isin(partners, wrong)
        mine, partners = mine[apart], partners[apart]
        columns = declared[int(source.integers(len(declared)))]
        one, other = codes[mine].copy(), codes[partners].copy()
        one[:, columns], other[:, columns] = other[:, columns], one[:, columns].copy()
        fits = ~impossible_rows(schema, names, one) & ~impossible_rows(schema, names, other)
        codes[mine[fits]], codes[partners[fits]] = one[fits], other[fits]
        wrong = np.setdiff1d(wrong, mine[fits], assume_unique=True)
        if not len(wrong):
            return codes
    allowed = np.setdiff1d(np.arange(len(codes)), wrong, assume_unique=True)
    if len(allowed):
        codes[wrong] = codes[source.choice(allowed, len(wrong))]
        return codes
    sizes = [min(schema.column(name).cells, 1 << 62) for name in names]
    drawn = source.integers(0, sizes, (DRAWS, len(sizes)))
    drawn = drawn[~impossible_rows(schema, names, drawn)]
    if not len(drawn):
        raise NotAnswerable(
            "The [[impossible]] declarations of the schema exclude every row. Remove or narrow one of them."
        )
    codes[wrong] = drawn[source.integers(0, len(drawn), len(wrong))]
    return codes


def _together(named: set[str], derived: Sequence[Derived], names: Sequence[str]) -> list[list[int]]:
    """The places of the columns in declarations, those that are derived from one another in one list."""
    groups = {name: {name} for name in names}
    for each in derived:
        joined = groups[each.column] | groups[each.source]
        groups |= dict.fromkeys(joined, joined)
    found = {frozenset(groups[name]) for name in named}
    return sorted(sorted(list(names).index(name) for name in group) for group in found)
