"""Which structure releases a class of halfspaces, by the error to expect; public facts decide.

Both errors are averages over the same random halfspaces. Under pure accounting the tree wins nearly
always; with a delta a grid has Gaussian noise, which a tree, being pure, has not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.families.halfspaces.release.cells import USUAL_PEOPLE, HalfspaceCells
from discreet.families.halfspaces.release.tree import HalfspaceTree
from discreet.families.shared.release.protocol import Prepared
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.schema import Schema

STRUCTURES = (HalfspaceTree(), HalfspaceCells())


@dataclass(frozen=True, slots=True)
class BestHalfspaces:
    """The adaptive tree or the flat grid, whichever expects less error."""

    name: ClassVar[str] = "best-cells"
    kind: ClassVar[str] = HalfspaceTree.kind
    chooses: ClassVar[bool] = True

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        refusals = [each.refusal(query_class, schema) for each in STRUCTURES]
        return None if None in refusals else refusals[-1]

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> Prepared:
        rows = schema.people or USUAL_PEOPLE
        found: list[tuple[float, Prepared]] = []
        for each in STRUCTURES:
            if each.refusal(query_class, schema) is None:
                made: Prepared = each.prepare(
                    query_class, schema, share=share, accounting=accounting
                )
                expected = made.error(rows=rows, confidence=0.95).expected
                assert expected is not None
                found.append((expected, made))
        return min(found, key=lambda option: option[0])[1]
