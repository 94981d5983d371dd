"""What several drills ask, and what is right."""

from __future__ import annotations

from fractions import Fraction

from discreet.privacy.budget import Budget
from discreet.queries.tree import Tree
from tests.harness.threads.shared_world import (
    BANDS,
    rows_in,
)

ONE = Fraction(1)
UNIT = Budget(epsilon=1)
WITH_DELTA = Budget(epsilon=1, delta="1e-6")
TREE = Tree(("band",), ((0,), (1,), (3,)))


def bands(number: int) -> tuple[int, int]:
    """A range of bands for a thread: four different ones, so that two threads ask each."""
    first = number % 4
    return first, first + 2


def count_in(first: int, last: int) -> int:
    """The exact number of rows in some bands: the model's."""
    return sum(rows_in(band) for band in range(first, min(last, BANDS - 1) + 1))


def question(number: int) -> str:
    first, last = bands(number)
    return f"SELECT count(*) FROM {{}} WHERE band BETWEEN {first} AND {last}"
