"""All evidence of a release together. It names no family: each makes of it what it needs, once (`Library.made`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from discreet.answering.named_values import published_schema
from discreet.artifacts.answer import Answer
from discreet.artifacts.release import TOGETHER, Release
from discreet.families.shared.answer.evidence import Evidence, OverColumns, completed_by
from discreet.families.shared.estimate.combination import likely_rows
from discreet.families.shared.estimate.kept import Kept
from discreet.queries.places import loaded
from discreet.queries.registry import merged

Made = TypeVar("Made")


class Library:
    """The evidence of one release, and what families make of it, kept. Thread safe: see `Kept`."""

    def __init__(self, release: Release) -> None:
        self.release, self.schema = release, release.schema
        found, table_parts = Evidence(), set[int]()
        contributions = merged("sources")
        self.agrees = any(TOGETHER in part.facts for part in release.parts)
        """Whether the release was made so that all its tables about the same rows agree."""
        for place, part in enumerate(release.parts):
            if part.kind not in contributions:
                continue  # made by a newer version: it may be ignored, it must not be guessed at
            own = loaded(contributions[part.kind])(part, place, release)
            if self.agrees and TOGETHER not in part.facts:
                own.whole = []  # of other rows than the tables that agree
            found.add(own)
            if own.is_of_tables:
                table_parts.add(place)
        self.evidence = found
        self.named = {each.column: each for each in found.named}
        self.published = published_schema(release.schema, found.named)
        """The schema as questions see it: with the values that are published by name."""
        self.table_parts = frozenset(table_parts)
        """The places of the parts whose noise is in tables."""
        self.complete = completed_by(release.parts, release.schema)
        """The schema with one more cell in columns whose rows without a cell were counted apart: what tables are put together in."""
        self._made: Kept[Callable[[Library], Any], Any] = Kept()

    def made(self, make: Callable[[Library], Made]) -> Made:
        """What a family makes of all evidence. It is made once."""
        made: Made = self._made.get(make, lambda: make(self))
        return made

    @property
    def whole(self) -> OverColumns | None:
        """The whole counts that questions and synthetic rows read, where a part was made for that and is alone.

        Beside other measurements of the same rows it would contradict what they add, unless it was made from all of them.
        """
        found = self.evidence.whole
        return found[0] if (self.is_alone or self.agrees) and len(found) == 1 else None

    @property
    def is_alone(self) -> bool:
        """Whether there are tables of one part, and nothing else."""
        found = self.evidence
        return not (found.ranges or found.sources or found.grids or len(self.table_parts) > 1)

    @property
    def agree_with_ranges(self) -> bool:
        """Whether tables and trees of ranges were made to agree."""
        return self.agrees and bool(self.evidence.ranges)

    def likely_rows(self, counted: Answer) -> int:
        """How many rows there are, as they were counted, unless noise hides them. There are no fewer than 0."""
        if self.whole is not None:
            return max(0, int(counted.estimate))
        return max(0, int(likely_rows(counted.estimate, counted.std, self.schema.people)))

    def lacks(self, needed: str) -> str:
        """The refusal of a question, by the name of what the release would have needed."""
        offered = ", ".join(dict.fromkeys(self.release.workload)) or "nothing"
        return (
            f"The release cannot answer this: it would have needed {needed}, "
            f"and it was made for {offered}."
        )
