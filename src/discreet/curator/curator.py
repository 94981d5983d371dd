"""`Curator`: a trusted party that answers live questions about a table until its budget is spent.

For each question: parse and plan (public facts only); look whether the very same question was
answered before; charge, durably; read and add noise; record the answer, durably; return it. What
fails before the charge costs nothing; what fails after it stays charged, and is never drawn again.
"""

from __future__ import annotations

import hashlib
import os
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, Self

from discreet.artifacts.answers import Answers
from discreet.core.mechanisms import AboveThreshold, PartitionSelection
from discreet.core.vault import Vault
from discreet.curator.accuracy import Preview
from discreet.curator.answers.answering import Measured
from discreet.curator.choosing import (
    Choice,
    CuratorAlert,
    Discovery,
    accounting_of,
    chargeable,
    counted,
    weighted,
)
from discreet.curator.planning import (
    check_names_keys,
    chooser,
)
from discreet.curator.recording import Record
from discreet.curator.statements import Statements, measure
from discreet.engines import open_engine
from discreet.engines.opening import source_of
from discreet.errors import BadBudget, BadInput
from discreet.ledger import Ledger
from discreet.ledger.names import name_of
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.cost import Accounting
from discreet.privacy.exact import confidence_level
from discreet.queries.tallies import keys_touched
from discreet.questions.expressions import TRUE
from discreet.releases.preparing import warn_of_large_cap
from discreet.schema import Schema


class Visitors:
    """The questions that run in a curator: closing lets them end, and later ones are refused.

    A question that met a closed table after its charge would have paid for nothing; so would one in a
    forked child, where the table cannot be read. Thread safe: it changes under a lock.
    """

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._inside = 0
        self._is_closed = False
        self._change = threading.Condition()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Counts a question while it runs. It is refused once `close` was called."""
        # Before the lock, which another thread may have held at the fork.
        if os.getpid() != self._owner:
            raise BadInput(
                "The curator was opened before this process was forked, and cannot be asked here. "
                "Nothing was read or charged. Open another in this process."
            )
        with self._change:
            if self._is_closed:
                raise BadInput("The curator is closed. Nothing was read or charged. Open another.")
            self._inside += 1
        try:
            yield
        finally:
            with self._change:
                self._inside -= 1
                self._change.notify_all()

    def close(self) -> None:
        """Refuse new questions, and wait until the running ones have ended.

        In a forked child none are running: they are threads of its parent.
        """
        if os.getpid() != self._owner:
            return
        with self._change:
            self._is_closed = True
            while self._inside:
                self._change.wait()


class Curator:
    """Answers SQL about `source`, charging the schema's dataset in `ledger`, up to `cap`.

    `cap` bounds the dataset's whole loss, whoever asks. Default: the schema's cap, or the ledger's. `analyst` names who asks, and `analyst_cap` bounds that person's part of it.
    `data_version` names the state of the table: the same question about the same version is
    answered from the record. Default: the files' names and times of change.
    If the dataset's cap protects another unit than the schema does, `convert_unit` allows to charge the
    price that group privacy gives for each question, where a theorem gives one.

    Thread safe: any number of threads may ask, and their questions run side by side. Closing waits for
    questions that still run. In a forked child the curator refuses to read; open another one there.
    """

    def __init__(
        self,
        source: object,
        schema: Schema,
        *,
        ledger: Ledger | Path | str | None = None,
        cap: Budget | None = None,
        analyst: str | None = None,
        analyst_cap: Budget | None = None,
        data_version: str | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
        convert_unit: bool = False,
    ) -> None:
        if not isinstance(schema, Schema):
            raise BadInput(f"The schema must be a Schema, not {type(schema).__name__}.")
        if analyst_cap is not None and analyst is None:
            raise BadInput("A cap for an analyst needs the analyst's name.")
        for given in (cap, analyst_cap):
            if given is not None and not isinstance(given, Budget):
                raise BadBudget(f"A cap must be a Budget, not {type(given).__name__}.")
        warn_of_large_cap(cap or schema.cap)
        self.schema, self._analyst, self._convert_unit = schema, analyst, convert_unit
        self._visitors = Visitors()
        self._owns_ledger = not isinstance(ledger, Ledger)
        self._ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
        try:
            self._cap = self._declared(cap, analyst_cap)
            version = data_version if data_version is not None else version_of(source, schema)
            limits: dict[str, Any] = {} if memory_limit is None else {"memory_limit": memory_limit}
            self._engine = open_engine(source, schema, threads=threads, **limits)
        except BaseException:
            if self._owns_ledger:
                self._ledger.close()
            raise
        self._statements = Statements(schema, self._notion)
        self._vault = Vault(self._engine, schema, self._ledger, convert_unit=convert_unit)
        self._record = Record(self._vault, self._ledger, version=version, analyst=analyst)
        self._is_view = False

    def for_analyst(self, analyst: str) -> Curator:
        """A curator of the same open table, whose questions are charged to `analyst` and recorded for that name.

        An analyst's cap that the ledger holds is checked in the same step as the dataset's. Closing
        the view leaves the table open; closing this curator ends both.
        """
        view = copy(self)
        view._analyst = name_of(analyst, what="The analyst's name")
        view._record = Record(
            self._vault, self._ledger, version=self._record.version, analyst=view._analyst
        )
        view._is_view = True
        return view

    @property
    def data_version(self) -> str:
        """The state of the table that questions are recorded for."""
        return self._record.version

    def _declared(self, cap: Budget | None, analyst_cap: Budget | None) -> Budget:
        dataset = self.schema.dataset
        if cap is not None and self.schema.cap not in (None, cap):
            raise BadBudget(
                f"The schema caps dataset {dataset!r} at {self.schema.cap}, and the curator is given a cap of "
                f"{cap}. Nothing was read or charged. Leave the curator's out, or change the schema's."
            )
        wanted = cap or self.schema.cap or self._ledger.cap(dataset)
        if wanted is None:
            raise BadBudget(
                f"Dataset {dataset!r} has no cap. Nothing was read or charged. Give the curator a cap, "
                "the most that all questions together may ever cost."
            )
        self._ledger.declare(
            dataset, wanted, protects=self.schema.protects, convert_unit=self._convert_unit
        )
        if analyst_cap is not None:
            assert self._analyst is not None
            self._ledger.declare_analyst_cap(dataset, self._analyst, analyst_cap)
        return wanted

    # What is left

    @property
    def cap(self) -> Budget:
        """The most that may ever be spent on the dataset."""
        return self._ledger.cap(self.schema.dataset) or self._cap

    @property
    def spent(self) -> Budget:
        """What the dataset has lost so far, exactly, by everyone's questions and releases."""
        return self._ledger.spent(self.schema.dataset)

    @property
    def left(self) -> Budget:
        """The exact budget that is left for this curator's questions: the dataset's, or the analyst's if that is less."""
        return self._ledger.standing(self.schema.dataset, analyst=self._analyst).left

    # Asking

    def ask(
        self,
        sql: str,
        *,
        budget: Budget | None = None,
        accuracy: str | float | None = None,
        confidence: float = 0.95,
        undeclared: Sequence[str] = (),
    ) -> Answers:
        """The answer to a question in SQL, every number with its interval.

        `budget` is the cost of the whole question; with an `accuracy`, such as '±50 at 95%', the least
        budget that reaches it is charged. A question that is refused is not charged, and nothing is read. `undeclared`
        names columns of GROUP BY whose values are to be found, although the schema declares them.
        """
        statement = self._statements.planned(sql, budget, accuracy, confidence, undeclared)
        if not statement.parts:
            return statement.without_question()
        statement.rehearse()
        with self._visitors.inside():
            measured = self._record.once(
                statement.parts[0].charge,
                purpose=f"ask: {sql}",
                asked=statement.asked,
                accounting=statement.parts[0].accounting,
                measure=lambda grant: measure(statement.parts, grant),
            )
        return statement.answered(measured)

    def cost(self, sql: str, *, accuracy: str | float, confidence: float = 0.95) -> Budget:
        """What a question would cost at an accuracy. Nothing is read, charged or recorded."""
        return self._statements.planned(sql, None, accuracy, confidence).parts[0].charge

    def preview(
        self,
        sql: str,
        *,
        budget: Budget | None = None,
        accuracy: str | float | None = None,
        confidence: float = 0.95,
        undeclared: Sequence[str] = (),
    ) -> Preview:
        """What `ask` would charge, and how wide its intervals would be. Nothing is read, charged or recorded.

        It refuses what `ask` would refuse before its charge, except for a spent cap.
        """
        statement = self._statements.planned(sql, budget, accuracy, confidence, undeclared)
        if not statement.parts:
            nothing = Budget.nothing(self._notion)
            return Preview(
                cost=nothing,
                confidence=statement.confidence,
                margins=(),
                rows=None,
                is_recorded=True,
            )
        statement.rehearse()
        return statement.preview(is_recorded=self._record.has(statement.asked))

    @property
    def _notion(self) -> Notion:
        return self._cap.notion

    # Choices and alerts

    def choose(
        self,
        candidates: Mapping[str, str | tuple[str, int]],
        *,
        budget: Budget,
        confidence: float = 0.95,
    ) -> Choice:
        """The candidate whose count (times its weight) is largest, by the exponential mechanism.

        `candidates` maps a name to a count's SQL, or to the SQL and a whole weight; a price and
        who would pay it make a revenue. One charge, whatever the number of candidates.
        """
        confidence = float(confidence_level(confidence))
        counts, names = weighted(candidates, self.schema)
        accounting = accounting_of(budget, self._notion)
        charge, allowed = chargeable(budget, accounting)
        mechanism = chooser(allowed, accounting, times=1)
        with self._visitors.inside():
            measured = self._record.once(
                charge,
                purpose=f"choose among {len(names)} candidates",
                asked={
                    "choose": [
                        [tally.to_dict(), weight]
                        for tally, weight in zip(counts.tallies, counts.weights, strict=True)
                    ],
                    "budget": charge.to_dict(),
                    "accounting": accounting.value,
                },
                accounting=accounting,
                measure=lambda grant: Measured(
                    values=(),
                    laws=(),
                    chosen=(grant.choose(counts, mechanism).chosen,),
                ),
            )
        behind = mechanism.shortfall(
            counts.sensitivity(self.schema), candidates=len(names), beta=1 - confidence
        )
        return Choice(names[measured.chosen[0]], behind, confidence, charge)

    def discover(self, column: str, *, budget: Budget) -> Discovery:
        """Find the values of a category column that many people hold, also undeclared ones.

        This is private partition selection, so it needs a delta. It gives no counts: declare the values
        that it finds, then ask for their counts.
        """
        found = self.schema.column(column)
        if found.kind != "category":
            raise BadInput(
                f"Column {found.name!r} is of kind {found.kind}; categories have values to name."
            )
        check_names_keys(budget, self._notion)
        mechanism = PartitionSelection(epsilon=budget.epsilon, delta=budget.delta)
        law = mechanism.law(keys_touched(self.schema))
        threshold = law.certain  # refuses, before the charge, an epsilon that names nothing
        with self._visitors.inside():
            measured = self._record.once(
                budget,
                purpose=f"discover values of {found.name}",
                asked={"discover": found.name, "budget": budget.to_dict()},
                measure=lambda grant: Measured(
                    values=(), laws=(), keys=grant.find_keys((found.name,), TRUE, mechanism)
                ),
            )
        values = tuple(text for (text,) in measured.keys or ())
        return Discovery(found.name, values, threshold, budget)

    def alert(
        self, threshold: int, *, budget: Budget, confidence: float = 0.95, questions: int = 100
    ) -> CuratorAlert:
        """Watch counts, at no further cost, until a noisy count is at or above the noisy `threshold` (sparse vector).

        The charge is for the whole watch, up to and including its first `above`. The promised margin
        holds for the first `questions` counts.
        """
        confidence = float(confidence_level(confidence))
        if isinstance(threshold, bool) or not isinstance(threshold, int):
            raise BadInput("A threshold is a whole number of rows. Nothing was read or charged.")
        if isinstance(questions, bool) or not isinstance(questions, int) or questions < 1:
            raise BadInput("An alert is for at least 1 question. Nothing was read or charged.")
        accounting = accounting_of(budget, self._notion)
        if accounting is not Accounting.BASIC:
            raise BadBudget(
                "An alert is paid for with a pure epsilon. Nothing was read or charged. "
                "Give a budget such as epsilon 0.1."
            )
        charge, allowed = chargeable(budget, accounting)
        mechanism = AboveThreshold(epsilon=allowed.epsilon)
        rows = self.schema.unit.max_rows
        margin = mechanism.error_bound(rows, questions=questions, beta=1 - confidence)
        with self._visitors.inside():
            grant = self._vault.charge(
                charge,
                purpose=f"alert at {threshold}",
                request=self._record.digest({"alert": uuid.uuid4().hex}),
                accounting=accounting,
                analyst=self._analyst,
            )
            watch = grant.above_threshold(threshold, mechanism, sensitivity=rows)
        return CuratorAlert(
            watch,
            lambda sql: counted(sql, self.schema),
            threshold=threshold,
            margin=margin,
            questions=questions,
        )

    def check_count(self, sql: str) -> None:
        """`BadQuestion` unless an alert could watch it. Nothing is read or charged."""
        counted(sql, self.schema)

    # Closing

    def close(self) -> None:
        """Close the table and the ledger, after waiting for questions that still run. What was charged stays charged."""
        if self._is_view:
            return
        self._visitors.close()
        self._engine.close()
        if self._owns_ledger:
            self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def version_of(source: object, schema: Schema) -> str:
    """The state of a source: for files their places and times of change, never what is in them.

    A table in memory has no version that outlives its curator.
    """
    found = source_of(source, schema)
    if not found.files:
        return f"in memory {uuid.uuid4().hex}"
    times = [f"{path} {Path(path).stat().st_mtime_ns}" for path in found.files]
    text = "\n".join([found.format, found.table or "", *times])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
