"""Tables while they are worked out: a result, and what an expression can see of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.postprocessing.across import Groups
from discreet.postprocessing.rows import Places
from discreet.postprocessing.values import Numbers, Value, chosen_among


@dataclass(slots=True, eq=False)
class Result:
    """A table that was worked out: columns of values, and what to know of them."""

    names: list[str]
    values: list[Value]
    rows: int
    notes: dict[str, None]
    shows: int = 0
    """How many columns are shown; the others only sort."""


@dataclass(slots=True, eq=False)
class Frame:
    """What an expression can see: the rows of a source, or the groups that they are put into."""

    rows: int
    keys: list[Value]
    measures: dict[tuple[int, int], Numbers]
    fields: list[Value]
    inner: Frame | None = None
    """The rows behind the groups."""
    groups: Groups | None = None

    def taken(self, places: Places) -> Frame:
        return replace(
            self,
            rows=len(places),
            keys=[each.taken(places) for each in self.keys],
            measures={name: each.taken(places) for name, each in self.measures.items()},
            fields=[each.taken(places) for each in self.fields],
            groups=None if self.groups is None else [self.groups[place] for place in places],
        )

    def chosen(self, places: Places) -> Frame:
        """The rows that noisy numbers chose."""
        found = self.taken(places)
        measures = {name: chosen_among(each, self.rows) for name, each in found.measures.items()}
        found.measures = {
            name: each for name, each in measures.items() if isinstance(each, Numbers)
        }
        found.fields = [chosen_among(each, self.rows) for each in found.fields]
        return found
