"""Linking: names for the rows of an "anonymised" table, from another table with some of the same columns.

De-anonymising sparse rows (Narayanan and Shmatikov 2008): a few noisy entries name a row. Everyone's row holds a few of very many items, each with a number and a day. What is rarely held tells the most. A
row is named only if its score stands out: the best must exceed the second best by `eccentricity` standard deviations.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator

Table = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Link:
    """A row of the anonymised table, and the only row of the auxiliary one that fits it."""

    anonymised: int
    auxiliary: int


def link(anonymised: Table, auxiliary: Table, columns: Sequence[str]) -> list[Link]:
    """Pairs of rows that are alone, on both sides, in their values of `columns`."""
    if not columns:
        raise BadInput("Name at least one column that both tables have.")
    for name in columns:
        if name not in anonymised or name not in auxiliary:
            raise BadInput(f"Both tables must have the column {name!r}.")
    ours, theirs = _rows_by_key(anonymised, columns), _rows_by_key(auxiliary, columns)
    return [
        Link(rows[0], theirs[key][0])
        for key, rows in ours.items()
        if len(rows) == 1 and len(theirs.get(key, ())) == 1
    ]


def _rows_by_key(table: Table, columns: Sequence[str]) -> dict[tuple[str, ...], list[int]]:
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row, key in enumerate(zip(*(table[name] for name in columns), strict=True)):
        found[key].append(row)
    return found


@dataclass(frozen=True, slots=True)
class Traces:
    """Where people were, hour by hour: one row a person, one column an hour, antennas by number."""

    antennas: npt.NDArray[np.int64]

    @classmethod
    def generated(
        cls, people: int = 2_000, hours: int = 24 * 14, antennas: int = 400, *, seed: int = 0
    ) -> Traces:
        """People who live, work and stroll: home at night, work by day, somewhere near now and then."""
        draws = generator(seed)
        home = draws.integers(0, antennas, people)
        work = (home + draws.geometric(0.02, people)) % antennas
        hour = np.arange(hours) % 24
        at_work = (hour >= 9) & (hour < 17) & ((np.arange(hours) // 24) % 7 < 5)
        place = np.where(at_work[None, :], work[:, None], home[:, None])
        strolls = draws.random((people, hours)) < 0.15
        away = (home[:, None] + draws.geometric(0.05, (people, hours))) % antennas
        return cls(np.where(strolls, away, place))

    def unicity(self, points: int, *, tries: int = 500, seed: int = 0) -> float:
        """The share of people who are the only ones that fit `points` random points of their trace."""
        draws = generator(seed)
        people, hours = self.antennas.shape
        found = 0
        for _ in range(tries):
            person = int(draws.integers(0, people))
            known = draws.choice(hours, points, replace=False)
            fits = (self.antennas[:, known] == self.antennas[person, known]).all(axis=1)
            found += int(fits.sum()) == 1
        return found / tries


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
