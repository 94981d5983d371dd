"""Linking: names for the rows of an "anonymised" table, from another table with some of the same columns."""

from __future__ import annotations

from collections import defaultdict
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
        """The share of people whom so many random points of their trace fit alone."""
        draws = generator(seed)
        people, hours = self.antennas.shape
        found = 0
        for _ in range(tries):
            person = int(draws.integers(0, people))
            known = draws.choice(hours, points, replace=False)
            fits = (self.antennas[:, known] == self.antennas[person, known]).all(axis=1)
            found += int(fits.sum()) == 1
        return found / tries
