"""The same release with fresh noise on the same exact numbers, many times, without a table or a ledger."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.artifacts.measurement import Measurement
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.measurable import ClampedSum, PresentCount
from discreet.releases.reproducing import reproduce
from tests.releases_by_hand import table_of


def exact_values(query, schema, rows):
    """What the query would measure without noise."""
    if isinstance(query, ClampedSum | PresentCount):
        values = [row[query.column] for row in rows if row[query.column] is not None]
        if isinstance(query, PresentCount):
            return np.array([len(values)])
        return np.array([int(sum((Fraction(v) - query.center) * query.grid for v in values))])
    return query.evaluate(table_of(schema, query.columns, rows))


def draws_of(law, size, source):
    if isinstance(law, DiscreteLaplaceLaw):
        stop = -np.expm1(-1 / float(law.scale))
        return source.geometric(stop, size) - source.geometric(stop, size)
    return np.rint(source.normal(0, law.std, size)).astype(np.int64)


class Redrawing:
    """A release, and the exact numbers behind it."""

    def __init__(self, release, rows):
        self.release, self.exact = release, {}
        for part in release.parts:
            for each in part.measurements:
                if isinstance(each, Measurement):
                    self.exact[id(each)] = exact_values(each.query, release.schema, rows)

    def __call__(self, source):
        parts = []
        for part in self.release.parts:
            measured = [
                replace(
                    each,
                    values=self.exact[id(each)] + draws_of(each.law, len(each.values), source),
                )
                if isinstance(each, Measurement)
                else each
                for each in part.measurements
            ]
            parts.append(replace(part, measurements=tuple(measured)))
        drawn = replace(self.release, parts=tuple(parts))
        # What was computed from the noisy numbers, and is read in their place, is computed again.
        return reproduce(drawn) if any("table" in part.estimates for part in parts) else drawn
