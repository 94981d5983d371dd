"""The release of `keys(column)`: values are named by private partition selection, then counted.

Half of the share's epsilon and all of its delta pay for the names, the other half of epsilon for the counts.
The names are chosen by coins of their own, so a count's noise does not depend on whether its value was named:
its interval holds for named values like that of any other count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.arrays import Floats
from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import ErrorClaim, Naming, Part
from discreet.core.mechanisms import AdditiveMechanism, PartitionSelection
from discreet.core.mechanisms.gaussian_selection import GaussianKeeping
from discreet.core.mechanisms.partition_selection import NamingLaw
from discreet.core.vault import Request
from discreet.errors import BadBudget
from discreet.families.keys.estimate import ALONE, TOGETHER, alone_bound, together_bound
from discreet.families.keys.queries import MOST_KEYS, KeyCounts, Keys
from discreet.families.shared.release.measured import noise_entry
from discreet.families.shared.release.noise_choice import check_drawable, least_error_mechanism
from discreet.families.shared.release.protocol import ClassError, PreparedClass, Verbs, of_type
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import QueryClass
from discreet.queries.tallies import keys_touched
from discreet.questions.expressions import TRUE
from discreet.schema import Schema

LIKELY = Fraction(95, 100)
OPTIMAL, GAUSSIAN = "optimal partition selection", "Gaussian thresholding"


class NamedKeys:
    """Names by partition selection, then one draw of noise for each count.

    Guarantee:   (epsilon, delta)-DP: the names cost (epsilon / 2, delta), the counts epsilon / 2.
    Adjacency:   either; `keys_touched` says how many values one unit can touch.
    Sensitivity: of the names, that number; of the counts, that of disjoint cells.
    Theorem:     basic composition; see `PartitionSelection` for the names.
    """

    name: ClassVar[str] = "named-keys"
    kind: ClassVar[str] = "keys"
    accountings: ClassVar[tuple[Accounting, ...]] = (Accounting.BASIC,)

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        return None

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> PreparedKeys:
        asked = of_type(query_class, Keys)
        if schema.cap is not None and schema.cap.notion is not Notion.EPSILON:
            counts = schema.cap.notion.words
            raise BadBudget(
                f"This dataset's cap counts {counts}, and {asked.text}, which publishes values by name, has no cost in {counts}. "
                "Nothing was read or charged. Leave it out, or declare a cap of an epsilon and a delta."
            )
        if accounting not in self.accountings or not share.delta:
            raise BadBudget(
                f"{asked.text} publishes values by name, which needs a budget with an epsilon and a delta above 0, "
                "such as 1e-9, because a name can reveal who holds it. Nothing was read or charged."
            )
        finder = PartitionSelection(epsilon=share.epsilon / 2, delta=share.delta)
        law = finder.law(keys_touched(schema))
        law.certain  # noqa: B018 - refuses an epsilon that names nothing, before the charge
        nothing = KeyCounts(schema.column(asked.column).name, ())
        moved = nothing.sensitivity(schema)
        left = Budget(epsilon=share.epsilon - finder.epsilon)
        counter = least_error_mechanism(moved, MOST_KEYS, share=left, accounting=accounting)
        noise = counter.law(moved, size=MOST_KEYS)
        check_drawable(noise, what=asked.text[:200])
        return PreparedKeys.of(
            self, asked, schema, share, finder=finder, naming=law, counter=counter, noise_law=noise
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedKeys(PreparedClass):
    finder: PartitionSelection
    naming: NamingLaw
    counter: AdditiveMechanism
    noise_law: NoiseLaw

    @property
    def column(self) -> str:
        return self.schema.column(self.query_class.column).name

    def costs(self) -> tuple[Cost, ...]:
        return self.finder.cost(), self.counter.cost()

    def noise(self) -> list[dict[str, Any]]:
        """The counts of values that nobody knows yet: as if none were found."""
        return [noise_entry(KeyCounts(self.column, ()), self.noise_law, self.schema)]

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        return ClassError.in_rows(
            rows,
            queries=1,
            expected=self.noise_law.mean_absolute(),
            half_width=alone_bound(
                _unnamed(self.naming), self.noise_law, self.schema.unit.max_rows, confidence
            ),
            simultaneous=None,
            note=self._note(),
        )

    def _note(self) -> str:
        """How many people a value needs to be seen, under both ways to name it."""
        touched = keys_touched(self.schema)
        is_gaussian = isinstance(self.naming, GaussianKeeping)
        used, beside = (GAUSSIAN, OPTIMAL) if is_gaussian else (OPTIMAL, GAUSSIAN)
        who = "rows" if self.schema.unit.identifier is None else "people"
        half, likely = _needs(self.naming)
        words = (
            f"a value is published with probability 1/2 if {half:,} {who} hold it, and with .95 if "
            f"{likely:,} do, by {used}"
        )
        other = (
            self.finder.each(touched)
            if is_gaussian
            else GaussianKeeping.offered(self.finder.epsilon, self.finder.delta, touched)
        )
        if other is None:
            why = (
                "helps only where a unit touches several values"
                if touched == 1
                else "is not offered for this budget"
            )
            return f"{words}; {beside} {why}"
        half, likely = _needs(other)
        return f"{words}; {beside} would need {half:,} and {likely:,}"

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        named = grant.find_keys((self.column,), TRUE, self.finder)[:MOST_KEYS]
        query = KeyCounts(self.column, tuple(text for (text,) in named))
        (counted,) = grant.measure([Request(query, self.counter)])
        naming = Naming((self.column,), named, keys_touched(self.schema), self.finder.cost())
        unnamed = _unnamed(self.naming)
        part = self.part(
            [naming, counted],
            estimates={"unnamed": unnamed},
            facts={
                "mechanism": GAUSSIAN if isinstance(self.naming, GaussianKeeping) else OPTIMAL,
                "even": self.naming.even,
                "certain": self.naming.certain,
            },
        )
        return part, self._claims(counted, unnamed, confidence)

    def _claims(
        self, counted: Measurement, unnamed: Floats, confidence: float
    ) -> tuple[ErrorClaim, ...]:
        text, rows = self.query_class.text, self.schema.unit.max_rows
        assert isinstance(counted.query, KeyCounts)
        many = len(counted.query.texts)
        alone = (
            ()
            if many == MOST_KEYS
            else (  # some names may have been left out
                ErrorClaim(
                    text,
                    alone_bound(unnamed, counted.law, rows, confidence),
                    confidence,
                    False,
                    ALONE,
                ),
            )
        )
        together = together_bound(counted.values, many, counted.law, confidence)
        return (*alone, ErrorClaim(text, together, confidence, True, TOGETHER))


def _needs(law: NamingLaw) -> tuple[int, int]:
    """How many units make a value named with probability 1/2, and with .95."""
    likely = -(-(LIKELY.numerator << law.bits) // LIKELY.denominator)
    return law.even, bisect_left(law.chances, likely)


def _unnamed(law: NamingLaw) -> Floats:
    """The probability that a value held by 0, 1, ... units is not named, a hair above."""
    one = 1 << law.bits
    missed = np.array([(one - each) / one for each in law.chances], dtype=np.float64)
    return np.minimum(np.where(missed > 0, np.nextafter(missed, 1), 0.0), 1.0)
