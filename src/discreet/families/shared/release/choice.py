"""Several algorithms for one class, of which the one that expects the least error is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.families.shared.release.protocol import USUAL_ROWS, Algorithm, Prepared
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.queries.classes import QueryClass
from discreet.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastError:
    """Whichever of the options expects less; public facts decide."""

    name: str
    kind: str
    options: tuple[Algorithm, ...]
    gain: float = 1.0
    """The first option's error in benchmarks, as a part of what it expects."""
    first_if_pure: bool = False
    """Whether basic accounting takes the first option unseen."""
    chooses: ClassVar[bool] = True

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        refusals = [each.refusal(query_class, schema) for each in self.options]
        return None if None in refusals else refusals[-1]

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> Prepared:
        pure = self.first_if_pure and accounting is Accounting.BASIC
        found: list[tuple[float, Prepared]] = []
        for each in self.options[:1] if pure else self.options:
            if each.refusal(query_class, schema) is None:
                made = each.prepare(query_class, schema, share=share, accounting=accounting)
                rows = schema.people or USUAL_ROWS
                expected = made.error(rows=rows, confidence=0.95).expected
                assert expected is not None
                found.append((expected * (self.gain if each is self.options[0] else 1), made))
        return min(found, key=lambda option: option[0])[1]
