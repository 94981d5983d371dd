"""De-anonymising sparse rows (Narayanan and Shmatikov 2008): a few noisy entries name a row.

Everyone's row holds a few of very many items, each with a number and a day. What is rarely held tells the most. A
row is named only if its score stands out: the best must exceed the second best by `eccentricity` standard deviations.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Entry = tuple[float, float]
"""A number (a rating) and a day."""
Row = Mapping[int, Entry]
RATING_SCALE, DAY_SCALE = 1.5, 30.0
ECCENTRICITY = 1.5


@dataclass(frozen=True, slots=True)
class Match:
    """The best row, and by how many deviations it stands out."""

    row: int
    eccentricity: float


class Scoreboard:
    """Published rows, ready to be searched."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        held = Counter(item for row in rows for item in row)
        self._weights = {item: 1 / math.log(count + 1.5) for item, count in held.items()}
        self._holders: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            for item in row:
                self._holders.setdefault(item, []).append(place)

    def best(self, known: Row) -> Match:
        """The row that fits some known entries best, however little it stands out."""
        scores = np.zeros(len(self._rows))
        for item, (rating, day) in known.items():
            for place in self._holders.get(item, ()):
                told_rating, told_day = self._rows[place][item]
                near = math.exp(-abs(told_rating - rating) / RATING_SCALE)
                near += math.exp(-abs(told_day - day) / DAY_SCALE)
                scores[place] += self._weights[item] * near
        order = np.argsort(scores)[-2:]
        spread = float(scores.std())
        apart = float(scores[order[1]] - scores[order[0]]) / spread if spread else 0.0
        return Match(int(order[1]), apart)

    def named(self, known: Row, *, eccentricity: float = ECCENTRICITY) -> int | None:
        """The row that the entries name, or None where none stands out."""
        found = self.best(known)
        return found.row if found.eccentricity >= eccentricity else None
