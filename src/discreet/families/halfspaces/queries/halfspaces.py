"""Halfspaces: the class of all linear inequalities over some numeric columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from discreet.errors import BadBudget, BadInput
from discreet.privacy.exact import exact
from discreet.questions.inequality import check_numeric
from discreet.questions.spelling import checked_weight, quoted
from discreet.schema import Schema

MOST_COLUMNS = 12
USUAL_GAMMA = Fraction(3, 10)


@dataclass(frozen=True, slots=True, init=False)
class Halfspaces:
    """All linear inequalities over `columns`, each scaled by its public bounds.

    `gamma` matters only to the literal net of canonical halfspaces: how close, as the sine of an
    angle in the scaled space, the halfspace that is really answered must be.

    Thread safe: it never changes.
    """

    columns: tuple[str, ...]
    gamma: Fraction
    projections: tuple[int, int] | Literal["theorem"] | None
    """(m, k) for the literal net: m random projections to k dimensions, or those of the theorem; `None`
    projects nothing."""
    weight: Fraction
    name: ClassVar[str] = "halfspaces"

    def __init__(
        self,
        *columns: str,
        gamma: Fraction | int | str = USUAL_GAMMA,
        projections: tuple[int, int] | Literal["theorem"] | None = None,
        weight: Fraction | int = 1,
    ) -> None:
        if not columns or len(set(columns)) != len(columns):
            raise BadInput("halfspaces(...) takes numeric columns, each named once.")
        if len(columns) > MOST_COLUMNS:
            raise BadInput(
                f"halfspaces(...) takes at most {MOST_COLUMNS} columns, not {len(columns)}."
            )
        try:
            margin = exact(gamma, name="gamma")  # not Fraction, which writes 1e999999999 out
        except BadBudget:
            raise BadInput(f"gamma is {gamma!r}; it must be a number such as 0.3.") from None
        if not 0 < margin < 1:
            raise BadInput(f"gamma is {float(margin):g}; it must lie between 0 and 1.")
        fits = projections in (None, "theorem")
        if isinstance(projections, tuple):
            fits = len(projections) == 2 and min(projections) >= 1
        if not fits:
            raise BadInput(
                "projections are (m, k): how many, and to how many dimensions; or 'theorem', for as many as "
                "the theorem asks for."
            )
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "gamma", margin)
        object.__setattr__(self, "projections", projections)
        object.__setattr__(self, "weight", checked_weight(weight))

    @property
    def text(self) -> str:
        """The class as it is written on the command line and in release files."""
        inside = ", ".join(map(quoted, self.columns))
        if self.gamma != USUAL_GAMMA:
            inside += f", gamma={self.gamma}"
        if self.projections == "theorem":
            inside += ", projections=theorem"
        elif self.projections is not None:
            inside += f", projections={self.projections[0]}x{self.projections[1]}"
        return f"halfspaces({inside})"

    def check(self, schema: Schema) -> None:
        """Raise `BadInput` if the class does not fit the schema."""
        names = [schema.column(name).name for name in self.columns]
        if len(set(names)) != len(names):
            raise BadInput(f"{self.text} names a column twice.")
        for name in self.columns:
            check_numeric(name, schema, what="halfspaces(...)")

    @property
    def of_the_net(self) -> str | None:
        """Why only the literal net can release the class: it sets gamma or projections."""
        if self.gamma == USUAL_GAMMA and self.projections is None:
            return None
        return (
            "gamma= and projections= are for the literal net alone, the algorithm net, under change-one adjacency; leave them "
            "out for a tree or a grid, whose answers are about the halfspace itself."
        )

    def named(self, schema: Schema) -> tuple[str, ...]:
        """The columns as the schema spells them, in the schema's order."""
        wanted = {schema.column(name).name for name in self.columns}
        return tuple(column.name for column in schema.columns if column.name in wanted)


_GAMMA = re.compile(r"\s*gamma\s*=\s*([0-9./e-]{1,40})\s*", re.ASCII)


_PROJECTIONS = re.compile(
    r"\s*projections\s*=\s*(theorem|([0-9]{1,4})\s*x\s*([0-9]{1,4}))\s*", re.ASCII
)


def parse_halfspaces(arguments: Sequence[str]) -> Halfspaces:
    """`halfspaces(age, hours)`; for the literal net also `gamma=0.5` and `projections=5x3`, or `=theorem`."""
    columns: list[str] = []
    margins: list[str] = []
    projections: list[tuple[int, int] | Literal["theorem"]] = []
    for each in arguments:
        if found := _GAMMA.fullmatch(each):
            margins.append(found[1])
        elif found := _PROJECTIONS.fullmatch(each):
            literal = found[2] is None
            projections.append("theorem" if literal else (int(found[2]), int(found[3])))
        else:
            columns.append(each)
    if len(margins) > 1 or len(projections) > 1:
        raise BadInput("halfspaces(...) takes gamma and projections once.")
    return Halfspaces(
        *columns,
        gamma=margins[0] if margins else USUAL_GAMMA,
        projections=projections[0] if projections else None,
    )
