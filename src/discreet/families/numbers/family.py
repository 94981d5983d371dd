"""The family of single numbers: means and sums of a column."""

from __future__ import annotations

from discreet.families.numbers.queries.one_number import Means, Sums
from discreet.queries.class_arguments import one_column
from discreet.queries.registry import ClassReader, Family

_RELEASE = "discreet.families.numbers.release"

FAMILY = Family(
    name="numbers",
    readers={
        "means": ClassReader(one_column("means", Means)),
        "sums": ClassReader(one_column("sums", Sums)),
    },
    algorithms={
        "means": (f"{_RELEASE}.means:MeanOfAllRows", f"{_RELEASE}.means:MeanOfValues"),
        "sums": (f"{_RELEASE}.sums:ClampedSums",),
    },
)
