"""Synthetic rows that the schema declares impossible, put right.

A row that cannot be changes a value with another row, such that both can be: every column keeps its
counts. Where no partner is found the row becomes a copy of one that can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from discreet.errors import NotAnswerable
from discreet.questions.cells.impossible import impossible_rows, rules_over
from discreet.schema import Schema

if TYPE_CHECKING:
    from numpy.random import Generator  # noqa: TID251 - the type only; the generator is public

Codes = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
EXCHANGES, DRAWS = 60, 10_000


def possible_rows(codes: Codes, schema: Schema, names: Sequence[str], source: Generator) -> Codes:
    """The same rows, with those that a declaration rules out put right."""
    rules = rules_over(schema, names)
    wrong = np.flatnonzero(impossible_rows(schema, names, codes)) if rules else np.zeros(0, int)
    if not len(wrong):
        return codes
    codes = codes.copy()
    declared = sorted({list(names).index(name) for rule in rules for name in rule})
    for _ in range(EXCHANGES):
        partners, first = np.unique(source.integers(0, len(codes), len(wrong)), return_index=True)
        mine = wrong[first]
        apart = ~np.isin(partners, wrong)
        mine, partners = mine[apart], partners[apart]
        column = source.choice(declared)
        one, other = codes[mine].copy(), codes[partners].copy()
        one[:, column], other[:, column] = codes[partners, column], codes[mine, column]
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
            "The schema's declarations of what is impossible leave no row possible."
        )
    codes[wrong] = drawn[source.integers(0, len(drawn), len(wrong))]
    return codes
