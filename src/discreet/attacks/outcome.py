"""What an attack achieved: one line for each way of publishing, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

Progress = Callable[[str, float], None]
"""Called with the running step and the part of it that is done, from 0 to 1."""


def quiet(step: str, done: float) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True)
class Line:
    """How well an attack did against one way of publishing."""

    publication: str
    """What was published."""
    value: float
    """The attack's measure, such as the share of secrets found."""
    _: KW_ONLY
    lower: float | None = None
    upper: float | None = None
    """A 95% interval, where the value is a mean over several draws."""
    ours: bool = False
    """Whether discreet published it."""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "publication": self.publication,
            "value": self.value,
            "lower": self.lower,
            "upper": self.upper,
            "differentially_private": self.ours,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart."""

    label: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An attack before and after protection. The Python functions return it, the shells print it."""

    attack: str
    title: str
    measure: str
    """What the values of the lines are."""
    chance: float | None = None
    """What guessing without any publication achieves."""
    lines: Sequence[Line]
    series: Sequence[Series] = ()
    across: str = ""
    """What the points of the series go over."""
    findings: Sequence[str] = ()
    """What was found, in plain sentences."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """More for programs."""
    banner: str = ""
    """Says that the outcome is not private, where it was scored on real rows."""

    def line(self, publication: str) -> Line:
        """The line of one way of publishing."""
        return next(each for each in self.lines if each.publication == publication)

    def to_dict(self) -> dict[str, Any]:
        return {
            **({"banner": self.banner} if self.banner else {}),
            "attack": self.attack,
            "title": self.title,
            "measure": self.measure,
            "chance": self.chance,
            "lines": [each.to_dict() for each in self.lines],
            "series": [
                {"label": each.label, "points": [list(point) for point in each.points]}
                for each in self.series
            ],
            "across": self.across,
            "findings": list(self.findings),
            "details": dict(self.details),
            "private": not self.banner,
        }
