"""The vault: the only module through which raw rows are reached (`alert` is one of its verbs at work).

Invariant: a verb lives on a `Grant`, and a grant exists only once its charge is durable
in the ledger; a verb first deducts its cost from the grant, then marks the ledger entry
as `reading`, then reads, then adds noise. No other path leads from a row to a return
value. A crash, an error or an interruption never refunds.

Rows outside the declared schema are counted in no cell: an error that depends on a row
is itself a release.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import (
    Measurement,
    Selection,
    TallyMeasurement,
    TreeMeasurement,
)
from discreet.core.alert import Alert
from discreet.core.checked_engine import CheckedEngine
from discreet.core.mechanisms import (
    AboveThreshold,
    AdditiveMechanism,
    Exponential,
    PartitionSelection,
)
from discreet.core.noise import NoiseSource, noise_for
from discreet.core.refining import LevelView, Schedule, refine
from discreet.engines.protocol import Engine, SumRequest
from discreet.errors import BadInput, BudgetExceeded
from discreet.ledger.charging import Charges
from discreet.ledger.entry import Entry
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost, allowance, price
from discreet.queries.measurable import (
    SATURATION,
    ClampedSum,
    CountQuery,
    Counts,
    PresentCount,
    Query,
    TallyQuery,
    counted_for,
)
from discreet.queries.scores import GroupScores, Score
from discreet.queries.tallies import Key, Tally, WeightedCounts, keys_touched
from discreet.queries.tree import Tree
from discreet.questions.expressions import Expression
from discreet.samplers.entropy import never_copied
from discreet.schema import Schema


@dataclass(frozen=True, slots=True)
class Request:
    """One thing to measure, and the noise to measure it with."""

    query: Query
    mechanism: AdditiveMechanism


@dataclass(frozen=True, slots=True)
class TallyRequest:
    """One tally, and the noise to measure it with."""

    query: Tally
    mechanism: AdditiveMechanism


@dataclass(frozen=True, slots=True)
class ChoiceRequest:
    """A choice in every group, and the mechanism that makes it, `times` times, without repetition."""

    scores: GroupScores
    mechanism: Exponential
    times: int = 1


class Vault:
    """A table, its public schema and its ledger. Hands out grants, and no rows.

    Thread safe: it keeps nothing that changes.
    """

    def __init__(
        self, engine: Engine, schema: Schema, ledger: Charges, *, convert_unit: bool = False
    ) -> None:
        self._schema, self._ledger, self._convert_unit = schema, ledger, convert_unit
        watched, self._noise = noise_for(engine)
        self._engine = CheckedEngine(watched, schema)

    @property
    def schema(self) -> Schema:
        return self._schema

    def charge(
        self,
        budget: Budget,
        *,
        purpose: str,
        request: str,
        accounting: Accounting = Accounting.BASIC,
        analyst: str | None = None,
        once: bool = False,
        reading: bool = False,
    ) -> Grant:
        """Charge `budget` to the dataset, durably, and return what it allows.

        A dataset without a declared cap is published once: its first charge becomes the cap.
        `request` identifies what is asked: a run that died before reading is taken over
        by the next run with the same request, instead of being paid for twice. With `once`, a
        request that was read before is refused with `AlreadyAsked`; with `reading` the charge
        counts as read at once, which saves a wait for the disk and gives up that taking over.

        The charge protects whom the schema says. A cap that protects others refuses it, unless the
        vault was opened with `convert_unit` and group privacy says what it counts as.
        """
        allowed = allowance(budget, accounting)
        dataset = self._schema.dataset
        declared = self._ledger.known_cap(dataset)
        cap = self._schema.cap or declared or budget
        cost = price(budget, accounting, notion=cap.notion)
        if declared != cap:  # else there is nothing to write, and no lock to wait for
            self._ledger.declare(
                dataset, cap, protects=self._schema.protects, convert_unit=self._convert_unit
            )
        entry = self._ledger.charge(
            dataset,
            cost,
            purpose=purpose,
            request=request,
            protects=self._schema.protects,
            analyst=analyst,
            once=once,
            reading=reading,
            convert_unit=self._convert_unit,
        )
        return Grant(
            _engine=self._engine,
            _schema=self._schema,
            _ledger=self._ledger,
            _noise=self._noise,
            _entry=entry,
            accounting=accounting,
            allowed=allowed,
            _reading=reading,
        )


class Grant:
    """A durable charge, and the verbs that may spend it. Each verb deducts, then reads, then adds noise.

    Thread safe: verbs called at the same time deduct one after the other, and never more than was charged.
    """

    def __init__(
        self,
        *,
        _engine: CheckedEngine,
        _schema: Schema,
        _ledger: Charges,
        _noise: NoiseSource,
        _entry: Entry,
        accounting: Accounting,
        allowed: Budget,
        _reading: bool = False,
    ) -> None:
        self._engine, self._schema, self._ledger = _engine, _schema, _ledger
        self._noise, self._entry = _noise, _entry
        self._accounting, self.allowed = accounting, allowed
        self.spent = Budget.nothing(allowed.notion)
        self._reading = _reading
        self._steps = count(1)
        self._lock = threading.Lock()

    __reduce__ = never_copied  # a copy would spend the rest once more

    def __enter__(self) -> Grant:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.allowed = self.spent  # what was not spent is forfeited: nothing more can be read

    @property
    def left(self) -> Budget:
        with self._lock:
            return self.allowed.minus(self.spent)

    def measure(self, requests: Sequence[Request]) -> tuple[Measurement, ...]:
        """Noisy answers to integer queries, read together in as few passes as the engine can."""
        schema = self._schema
        sizes = [request.query.size(schema) for request in requests]
        moves = [request.query.sensitivity(schema) for request in requests]
        laws = [
            request.mechanism.law(move, size=size)
            for request, move, size in zip(requests, moves, sizes, strict=True)
        ]
        costs = [request.mechanism.cost() for request in requests]
        self._spend(costs)
        exact = self._read([request.query for request in requests])
        return tuple(
            Measurement(
                query=request.query,
                law=law,
                sensitivity=move,
                cost=cost,
                values=self._noise.add(numbers, law, step=self._next_step("measure")),
            )
            for request, law, move, cost, numbers in zip(
                requests, laws, moves, costs, exact, strict=True
            )
        )

    def select(self, score: Score, mechanism: Exponential) -> Selection:
        """The index of a candidate that scores well, by the exponential mechanism."""
        candidates = score.candidates(self._schema)
        sensitivity = score.sensitivity(self._schema)
        self._spend([mechanism.cost()])
        self._begin_reading()
        counts = self._engine.marginals(score.marginals)
        scores, unit = score.evaluate(tuple(counts)), mechanism.unit(sensitivity)
        step = self._next_step("select")
        chosen = self._noise.choose(scores, unit, step=step, among=score)
        return Selection(
            chosen=chosen, candidates=candidates, sensitivity=sensitivity, cost=mechanism.cost()
        )

    def tally(self, requests: Sequence[TallyRequest]) -> tuple[TallyMeasurement, ...]:
        """Noisy tallies; those of one condition and grouping are read in one pass."""
        return self.tally_and_choose(requests, ())[0]

    def tally_and_choose(
        self, requests: Sequence[TallyRequest], choices: Sequence[ChoiceRequest]
    ) -> tuple[tuple[TallyMeasurement, ...], tuple[Counts, ...]]:
        """Noisy tallies, and for each choice and group the candidates chosen, in order: one row a group.

        A choice costs its mechanism's epsilon once for all groups (see `queries.group_choices`).
        """
        schema = self._schema
        moves = [request.query.sensitivity(schema) for request in requests]
        laws = [
            request.mechanism.law(move, size=request.query.size(schema))
            for request, move in zip(requests, moves, strict=True)
        ]
        units = [choice.mechanism.unit(choice.scores.sensitivity(schema)) for choice in choices]
        costs = [request.mechanism.cost() for request in requests]
        costs += [choice.mechanism.cost() for choice in choices for _ in range(choice.times)]
        self._spend(costs)
        self._begin_reading()
        counted = [*(each.query for each in requests), *(each.scores.tally for each in choices)]
        exact = self._engine.tally(counted)
        numbers, scores = exact[: len(requests)], exact[len(requests) :]
        tallied = tuple(
            TallyMeasurement(
                query=request.query,
                law=law,
                sensitivity=move,
                cost=request.mechanism.cost(),
                values=self._noise.add(own, law, step=self._next_step("tally")),
            )
            for request, law, move, own in zip(requests, laws, moves, numbers, strict=True)
        )
        scored = zip(choices, units, scores, strict=True)
        return tallied, tuple(self._chosen(*each) for each in scored)

    def _chosen(self, choice: ChoiceRequest, unit: Fraction, counts: Counts) -> Counts:
        scores = choice.scores.evaluate(counts, self._schema)
        chosen = np.zeros((len(scores), choice.times), dtype=np.int64)
        for group, row in enumerate(scores):
            left = np.arange(len(row))
            for turn in range(choice.times):
                place = self._noise.choose(row[left], unit, step=self._next_step("choose"))
                chosen[group, turn] = left[place]
                left = np.delete(left, place)
        return chosen

    def choose(self, counts: WeightedCounts, mechanism: Exponential) -> Selection:
        """The best of weighted counts, by the exponential mechanism."""
        candidates = counts.candidates(self._schema)
        sensitivity = counts.sensitivity(self._schema)
        self._spend([mechanism.cost()])
        self._begin_reading()
        scores = counts.evaluate(self._engine.tally(counts.tallies))
        unit, step = mechanism.unit(sensitivity), self._next_step("choose")
        chosen = self._noise.choose(scores, unit, step=step)
        return Selection(
            chosen=chosen, candidates=candidates, sensitivity=sensitivity, cost=mechanism.cost()
        )

    def find_keys(
        self, columns: Sequence[str], condition: Expression, mechanism: PartitionSelection
    ) -> tuple[Key, ...]:
        """The keys over category columns that enough units hold, declared or not, in order."""
        law = mechanism.law(keys_touched(self._schema))
        law.certain  # noqa: B018 - refuses what cannot be tabulated before anything is spent
        self._spend([mechanism.cost()])
        self._begin_reading()
        keys, held = self._engine.held_keys(columns, condition)
        return self._noise.keep(keys, held, law, step=self._next_step("keep"))

    def above_threshold(
        self, threshold: int, mechanism: AboveThreshold, *, sensitivity: int
    ) -> Alert:
        """An alert that says `below` for nothing more, until its first `above`."""
        self._spend([mechanism.cost()])
        self._begin_reading()
        return Alert(self, threshold, mechanism, sensitivity)

    def refine(
        self,
        tree: Tree,
        *,
        epsilon: Fraction,
        schedule: Schedule,
        stop: Callable[[LevelView], npt.NDArray[np.bool_]],
    ) -> TreeMeasurement:
        """Measure a tree level by level, going on only below nodes that `stop` leaves alive.

        Charges `epsilon` once. `stop` sees noisy numbers only; how much of a path's epsilon is
        left is kept here, never by the caller.
        """
        tree.check(self._schema)
        schedule.check(tree)
        cost = Cost.pure(epsilon)
        self._spend([cost])
        self._begin_reading()
        return refine(
            tree,
            epsilon=epsilon,
            schedule=schedule,
            stop=stop,
            schema=self._schema,
            count=self._engine.node_counts,
            noise=self._noise,
            next_step=self._next_step,
        )

    def public_rows(self) -> int:
        """The number of rows, which is public only under change-one, where the unit is a row."""
        if self._schema.adjacency is not Adjacency.CHANGE_ONE or self._schema.unit.identifier:
            raise BadInput(
                "The number of rows is a secret under add-remove adjacency, and where a unit may "
                "have several rows. Measure it with noise, or declare adjacency = 'change-one'."
            )
        self._begin_reading()
        return self._engine.row_count()

    def publish(self, digest: str) -> None:
        """Record that what was measured has left the core."""
        self._ledger.publish(self._entry, digest)

    def record(self, payload: bytes) -> None:
        """Record an answer durably before it is given: asked again, it is given again and not drawn again."""
        self._ledger.record_answer(self._entry, payload)

    def _spend(self, costs: Sequence[Cost]) -> None:
        total = Budget.nothing(self.allowed.notion)
        for cost in costs:
            total = total + cost.under(self._accounting)
        with self._lock:
            after = self.spent + total
            if not self.allowed.covers(after):
                raise BudgetExceeded(
                    asked=total, spent=self.spent, total=self.allowed, of="this charge"
                )
            self.spent = after

    def _begin_reading(self) -> None:
        """Only the first caller does it; all others wait until the ledger says `reading`."""
        with self._lock:
            if not self._reading:
                self._ledger.begin_reading(self._entry)
                self._reading = True

    def _read(self, queries: Sequence[Query]) -> list[Counts]:
        """Exact answers: never returned by a verb, only handed to the noise."""
        self._begin_reading()
        marginals: dict[tuple[str, ...], Counts] = {}
        counted = [query for query in queries if isinstance(query, CountQuery)]
        columns = dict.fromkeys(own for query in counted for own in counted_for(query))
        if () in columns:  # the marginal over no column is the number of rows
            del columns[()]
            marginals[()] = np.array([self._engine.row_count()], dtype=np.int64)
        if columns:
            marginals |= zip(columns, self._engine.marginals(list(columns)), strict=True)
        summed = [query for query in queries if isinstance(query, ClampedSum | PresentCount)]
        wanted = dict.fromkeys(each for query in summed for each in _sums_for(query, self._schema))
        totals = dict(zip(wanted, self._engine.sums(list(wanted)), strict=True)) if wanted else {}
        grouped = [query for query in queries if isinstance(query, TallyQuery)]
        tallies = list({tally: None for query in grouped for tally in query.tallies(self._schema)})
        tallied = dict(zip(tallies, self._engine.tally(tallies), strict=True)) if tallies else {}
        answers: list[Counts] = []
        for query in queries:
            if isinstance(query, CountQuery):
                answers.append(query.evaluate(*(marginals[own] for own in counted_for(query))))
                continue
            if isinstance(query, TallyQuery):
                found = [tallied[tally] for tally in query.tallies(self._schema)]
                answers.append(query.answered(found, self._schema))
                continue
            exact = [totals[request] for request in _sums_for(query, self._schema)]
            if isinstance(query, ClampedSum) and query.center:
                exact[0] -= int(query.center * query.grid) * exact[1]
            answers.append(np.array([_saturated(exact[0])], dtype=np.int64))
        return answers

    def _next_step(self, verb: str) -> str:
        return f"{next(self._steps)} {verb}"


def _sums_for(query: ClampedSum | PresentCount, schema: Schema) -> list[SumRequest]:
    """What the engine adds up for a query: the sum, and, to centre it, how many rows are in it.

    A value clamped to 1 counts its row. The center lies on the grid, so taking it off once for
    each row after rounding is the same as before.
    """
    rows = SumRequest(query.column, 1, Fraction(1), Fraction(1))
    if isinstance(query, PresentCount):
        return [rows]
    bounds = schema.column(query.column).value_bounds
    assert bounds is not None  # `sensitivity` has refused any other column
    total = SumRequest(query.column, query.grid, Fraction(bounds[0]), Fraction(bounds[1]))
    return [total, rows] if query.center else [total]


def _saturated(total: int) -> int:
    """Into 64 bits by clamping, which no neighbouring pair moves further apart."""
    return max(-SATURATION, min(SATURATION, total))
