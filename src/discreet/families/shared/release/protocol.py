"""What an algorithm is: a way to release one query class, with its error known before any row is read.

`prepare` fixes everything that public facts decide: queries, noise, cost. A `Prepared` then says
what error to expect, and turns the measurements into a `Part`. Its `requests` are read together
with those of all other classes, in as few passes as the engine can; an adaptive algorithm leaves
them empty and uses the grant's verbs in `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, Self, TypeVar

import numpy.typing as npt

from discreet.arrays import Bools
from discreet.artifacts.measurement import Measurement, Selection, TreeMeasurement
from discreet.artifacts.release import ErrorClaim, Measured, Part
from discreet.core.mechanisms import Exponential, PartitionSelection
from discreet.core.refining import LevelView, Schedule
from discreet.core.vault import Request
from discreet.errors import BadInput
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.queries.classes import QueryClass
from discreet.queries.scores import Score
from discreet.queries.tallies import Key
from discreet.queries.tree import Tree
from discreet.questions.expressions import Expression
from discreet.schema import Schema

Class = TypeVar("Class", bound=QueryClass)
USUAL_ROWS = 1_000_000
"""Where nobody says how many rows there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassError:
    """The error to expect of one class, from public facts alone. `None` where the rows must be known first.

    Thread safe: it never changes.
    """

    queries: int
    """How many questions the class holds."""
    unit: str
    """What the errors are counted in."""
    expected: float | None
    """Mean absolute error of a query, averaged over the class."""
    half_width: float | None
    """Half the width of the interval of a single query, the worst of the class."""
    simultaneous: float | None
    """A bound that holds for all queries of the class at once."""
    scale: float | None
    """What an error is compared with: rows for counts, the bounds' width for means, the largest possible sum for sums."""
    note: str = ""
    is_foreseen: bool = False
    """Whether error and half-width are what such tables usually have, so that none can be solved for."""

    @classmethod
    def in_rows(cls, rows: int | None, **known: Any) -> ClassError:
        """The error of a class of counts, compared with `rows`."""
        return cls(unit="rows", scale=None if rows is None else float(rows), **known)

    @property
    def relative(self) -> float | None:
        """The half-width as a part of `scale`."""
        if self.half_width is None or self.scale is None or self.scale == 0:
            return None
        return self.half_width / self.scale


class Verbs(Protocol):
    """What an algorithm may ask for after the charge: noisy numbers and private choices.

    In earnest these are the verbs of a `Grant`. `reproducing` puts a record in its place, which gives
    back what was published: what an algorithm makes of noisy numbers can then be computed again.
    """

    def measure(self, requests: Sequence[Request]) -> tuple[Measurement, ...]: ...

    def select(self, score: Score, mechanism: Exponential) -> Selection: ...

    def find_keys(
        self, columns: Sequence[str], condition: Expression, mechanism: PartitionSelection
    ) -> tuple[Key, ...]: ...

    def refine(
        self,
        tree: Tree,
        *,
        epsilon: Fraction,
        schedule: Schedule,
        stop: Callable[[LevelView], Bools],
    ) -> TreeMeasurement: ...


class Prepared(Protocol):
    """One class of one release, ready to be measured."""

    @property
    def query_class(self) -> QueryClass: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def share(self) -> Budget: ...
    @property
    def requests(self) -> tuple[Request, ...]: ...

    def costs(self) -> tuple[Cost, ...]:
        """What this class will spend, use by use."""
        ...

    def noise(self) -> list[dict[str, Any]]:
        """Query, noise law and sensitivity of each measurement, as plain data."""
        ...

    def error(self, *, rows: int | None, confidence: float) -> ClassError: ...

    def comparable(self, rows: int) -> float:
        """The error by which ways to release the class are compared; equally large noise has equal ones."""
        ...

    def finish(
        self,
        grant: Verbs,
        measured: Sequence[Measurement],
        *,
        public_rows: int | None,
        confidence: float,
    ) -> tuple[Part, tuple[ErrorClaim, ...]]:
        """The part and its claims, from noisy numbers only."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedClass:
    """The fields that every `Prepared` has."""

    query_class: Any
    """A `QueryClass`; each algorithm says which."""
    algorithm: str
    kind: str
    """The kind of its parts: which answerer understands them."""
    share: Budget
    schema: Schema
    requests: tuple[Request, ...] = ()

    @property
    def alternative(self) -> str:
        """The algorithm that is taken instead where other parts count rows without a cell in another way."""
        return self.algorithm

    @property
    def apart(self) -> frozenset[str]:
        """Columns whose rows without a cell are counted in one more cell."""
        return frozenset()

    @property
    def spread(self) -> frozenset[str]:
        """Columns whose rows without a cell are counted evenly in all cells."""
        return frozenset()

    @classmethod
    def of(
        cls,
        algorithm: Algorithm,
        query_class: QueryClass,
        schema: Schema,
        share: Budget,
        **own: Any,
    ) -> Self:
        """A class prepared by `algorithm`; `own` are the fields that this kind of it adds."""
        return cls(
            query_class=query_class,
            algorithm=algorithm.name,
            kind=algorithm.kind,
            share=share,
            schema=schema,
            **own,
        )

    def error(self, *, rows: int | None, confidence: float) -> ClassError:
        """What to expect, from public facts."""
        raise NotImplementedError

    def comparable(self, rows: int) -> float:
        expected = self.error(rows=rows, confidence=0.95).expected
        assert expected is not None
        return expected

    def part(
        self,
        measured: Sequence[Measured],
        *,
        estimates: Mapping[str, npt.NDArray[Any]],
        facts: dict[str, Any],
    ) -> Part:
        """What is published: noisy numbers, and what follows from them."""
        return Part(
            kind=self.kind,
            query_class=self.query_class,
            algorithm=self.algorithm,
            measurements=tuple(measured),
            estimates=dict(estimates),
            facts=facts,
        )


class Algorithm(Protocol):
    """A way to release one query class."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str:
        """The kind of its parts: which answerer understands them."""
        ...

    def refusal(self, query_class: QueryClass, schema: Schema) -> str | None:
        """Why the algorithm cannot serve this class under this schema; `None` if it can."""
        ...

    def prepare(
        self, query_class: QueryClass, schema: Schema, *, share: Budget, accounting: Accounting
    ) -> Prepared:
        """`share` counts in the accounting's own currency: (epsilon, delta), or rho."""
        ...


def of_type(query_class: QueryClass, expected: type[Class]) -> Class:
    """The class as the type that an algorithm serves; the registry never asks it for another."""
    if not isinstance(query_class, expected):
        raise BadInput(f"{query_class.text} is not a class of {expected.name}.")
    return query_class
