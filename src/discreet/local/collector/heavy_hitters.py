"""Heavy hitters: the values that surely have a large share, and a search in domains too large to list.

The search looks at ever longer beginnings of a code of `bits` bits. The people are divided by public turns into as
many groups as there are lengths, and each reports the beginning of its own length, once: a person pays epsilon once.
Only beginnings whose share may be large are made longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Integers
from discreet.errors import BadInput
from discreet.local.collector.frequencies import Frequencies, frequencies
from discreet.local.protocols.hashing import LocalHashing

HASHED = 1 << 12
"""Beginnings are first put into so many classes by a public hash: then a report's domain is small."""


def heavy_hitters(found: Frequencies, *, least: float) -> list[tuple[str, float, float, float]]:
    """(value, share, lower, upper) of all values whose share is surely at least `least`, largest first.

    "Surely" is for all of them together: each interval takes its part of the risk (Bonferroni), which
    the caller chooses through the confidence of `found`.
    """
    chosen = np.flatnonzero(found.lower >= least)
    order = chosen[np.argsort(-found.shares[chosen], kind="stable")]
    return [
        (found.values[at], float(found.shares[at]), float(found.lower[at]), float(found.upper[at]))
        for at in order
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixSearch:
    """A public plan of the search: which group reports how many leading bits."""

    bits: int
    epsilon: Fraction
    first: int = 8
    step: int = 4
    kept: int = 32
    """The most beginnings that are made longer."""

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 62 or not 1 <= self.first <= 12 or self.step < 1 or self.kept < 1:
            raise BadInput(
                "A prefix search takes codes of 1 to 62 bits, and starts with 1 to 12 of them."
            )

    @property
    def lengths(self) -> list[int]:
        found = [min(self.first, self.bits)]
        while found[-1] < self.bits:
            found.append(min(found[-1] + self.step, self.bits))
        return found

    def group_of(self, person: int) -> int:
        """Public turns: person number 0 is in the first group, 1 in the second, and so on."""
        return person % len(self.lengths)

    @property
    def protocol(self) -> LocalHashing:
        """How every group reports: the class of its value's beginning, by local hashing."""
        return LocalHashing.for_epsilon(self.epsilon, values=HASHED)

    def classes(self, beginnings: Integers, group: int) -> Integers:
        """The public classes of beginnings; a different mix for every group."""
        mixed = beginnings.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15 + 2 * group)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        return ((mixed >> np.uint64(40)) % np.uint64(HASHED)).astype(np.int64)

    def codes(self, values: Integers, group: int) -> Integers:
        """What a client of a group randomises: the class of the beginning of its value."""
        shift = self.bits - self.lengths[group]
        return self.classes(np.asarray(values, dtype=np.int64) >> shift, group)

    def found(
        self, reports: Sequence[Integers], *, least: float, confidence: float = 0.95
    ) -> list[tuple[int, float]]:
        """(value, share) of the heavy values, largest first, from the reports of all groups."""
        if len(reports) != len(self.lengths):
            raise BadInput(f"The search has {len(self.lengths)} groups, not {len(reports)}.")
        beginnings = np.arange(1 << self.lengths[0], dtype=np.int64)
        shares = np.zeros(len(beginnings))
        for group, told in enumerate(reports):
            if group:
                longer = self.lengths[group] - self.lengths[group - 1]
                beginnings = ((beginnings[:, None] << longer) + np.arange(1 << longer)).reshape(-1)
            classes, places = np.unique(self.classes(beginnings, group), return_inverse=True)
            counted = frequencies(
                self.protocol,
                self.protocol.support_of(told, classes),
                len(told),
                values=[""] * len(classes),
                confidence=confidence,
            )
            shares = counted.shares[places]
            likely = np.flatnonzero(counted.upper[places] >= least)
            order = likely[np.argsort(-shares[likely], kind="stable")][: self.kept]
            beginnings, shares = beginnings[order], shares[order]
        return [
            (int(value), float(share))
            for value, share in zip(beginnings, shares, strict=True)
            if share >= least
        ]
