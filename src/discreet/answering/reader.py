"""`Reader`: ask a release any number of questions. It has no way to reach a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import numpy.typing as npt

from discreet.answering.asking import Asking
from discreet.answering.combining import additive_sources, sources_of
from discreet.answering.estimates import ManyCounts
from discreet.answering.overview import Overview, overview
from discreet.answering.population import (
    PopulationShare,
    beyond_the_theorem,
    share_interval,
)
from discreet.answering.regions.region import BoxRegions, CellRegions, RangeRegions
from discreet.answering.synthesis.synthetic import SyntheticTable, synthesize
from discreet.answering.usefulness import usefulness
from discreet.artifacts.answer import Answer
from discreet.artifacts.answers import Answers
from discreet.artifacts.files import write_release
from discreet.artifacts.release import ErrorClaim, Release
from discreet.artifacts.statement import Statement, privacy_statement
from discreet.errors import BadInput, BadQuestion, NotAnswerable
from discreet.families.shared.answer.library import Library
from discreet.postprocessing.plan import QueryPlan
from discreet.postprocessing.reading.statement import parts_of, plain_statement, read_statement
from discreet.postprocessing.results import worked
from discreet.privacy.exact import Exactable, at_least_one, confidence_level, exact
from discreet.queries.classes import QueryClass, parse_class
from discreet.questions.dialects.sql import ReleaseDialect
from discreet.questions.limits.work import bounded_work
from discreet.questions.question import Aggregate, Question
from discreet.schema import Schema


class Reader:
    """Answers questions to a release, whatever families its parts are of."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self._library = Library(release)
        self._published = self._library.published
        self._asking = Asking(self._library, sources_of(self._library))

    @property
    def schema(self) -> Schema:
        """The schema that the release was made with."""
        return self.release.schema

    @property
    def workload(self) -> tuple[str, ...]:
        """The query classes that the release was made for, as texts."""
        return self.release.workload

    def ask(
        self,
        question: str | Question,
        *,
        confidence: float = 0.95,
        whole: bool = True,
        additive: bool = False,
    ) -> Answers:
        """The answers to a SQL question, each with an interval at `confidence`.

        `whole=False` leaves the estimates of counts as fractions; intervals are the same. `additive=True` gives counts from tables as they were measured: they add up, and may be fractions or negative.
        """
        try:
            (found,) = self.ask_many(
                [question], confidence=confidence, whole=whole, additive=additive
            )
            return found
        except NotAnswerable as refusal:
            raise self._beside_what_is_answered(question, refusal, additive) from None

    def _beside_what_is_answered(
        self, question: str | Question, refusal: NotAnswerable, additive: bool
    ) -> NotAnswerable:
        """The refusal; where some of the aggregates could be answered by themselves, with their names."""
        if not isinstance(question, str):
            return refusal
        parts = parts_of(question, ReleaseDialect(self._published, question))
        answered: list[str] = []
        for shown, alone in parts:
            with suppress(NotAnswerable, BadQuestion):
                self.ask_many([alone], additive=additive)
                answered.append(shown)
        if not answered or len(answered) == len(parts):
            return refusal
        missing = [shown for shown, _ in parts if shown not in answered]
        verb = "is" if len(answered) == 1 else "are"
        return NotAnswerable(
            f"{refusal} What is missing is {', '.join(missing)}: without it, {', '.join(answered)} {verb} answered."
        )

    def ask_many(
        self,
        questions: Sequence[str | Question],
        *,
        confidence: float = 0.95,
        whole: bool = True,
        additive: bool = False,
    ) -> list[Answers]:
        """The answers to many questions, each as if it were asked alone."""
        questions = list(questions)
        for each in questions:
            if not isinstance(each, str | Question):
                raise BadQuestion(f"A question is a text in SQL, not {type(each).__name__}.")
        confidence = float(confidence_level(confidence))  # it may be a text, as a budget may
        with bounded_work(len(questions)):
            statements = [
                read_statement(each, self._published, ReleaseDialect(self._published, each))
                if isinstance(each, str)
                else plain_statement(each)
                for each in questions
            ]
            asked = [question for each in statements for question in each.questions]
            answered = self._answered(whole=whole, additive=additive)
            answers = iter(answered(asked, confidence))
            found: list[Answers] = []
            for statement in statements:
                own = [next(answers) for _ in statement.questions]
                found.append(
                    own[0]
                    if statement.is_plain
                    else self._worked(statement, own, confidence, answered)
                )
            return found

    def _answered(
        self, *, whole: bool, additive: bool
    ) -> Callable[[Sequence[Question], float], list[Answers]]:
        """How questions are answered at a confidence."""
        if not additive:
            return lambda asked, level: self._asking.answers(asked, confidence=level, whole=whole)
        summing = Asking(self._library, additive_sources(self._library))
        return lambda asked, level: summing.answers(asked, confidence=level, as_measured=True)

    def _worked(
        self,
        statement: QueryPlan,
        answers: Sequence[Answers],
        confidence: float,
        answered: Callable[[Sequence[Question], float], list[Answers]],
    ) -> Answers:
        """The result of the work that a statement does on its answers."""
        stated = exact(confidence, name="confidence")

        def at_level(question: int, level: Fraction) -> Answers:
            if level == stated:
                return answers[question]
            return answered([statement.questions[question]], float(level))[0]

        return worked(statement, at_level, self._published, confidence=confidence)

    def count_many(
        self,
        column: str,
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        *,
        codes: bool = False,
        confidence: float = 0.95,
    ) -> ManyCounts:
        """Rows with low <= column <= high, for whole arrays of ends, as numbers or as cell codes."""
        asked = RangeRegions.of(self.schema.column(column), low, high, codes=codes)
        return self._asking.ranges(asked, float(confidence_level(confidence)))

    def count_cells(
        self, columns: Sequence[str], codes: npt.ArrayLike, *, confidence: float = 0.95
    ) -> ManyCounts:
        """Rows in single cells, one row of `codes` for each question."""
        declared = tuple(self.schema.column(name) for name in columns)
        level = float(confidence_level(confidence))
        return self._asking.cells(CellRegions.of(declared, codes), level)

    def count_boxes(
        self,
        columns: Sequence[str],
        first: npt.ArrayLike,
        last: npt.ArrayLike,
        *,
        confidence: float = 0.95,
    ) -> ManyCounts:
        """Rows in boxes of cells, from a release of `rectangles`; both ends are included."""
        declared = tuple(self.schema.column(name) for name in columns)
        level = float(confidence_level(confidence))
        return self._asking.boxes(BoxRegions.of(declared, first, last), level)

    def usefulness(
        self, query_class: QueryClass | str, *, delta: Exactable, gamma: Exactable | None = None
    ) -> ErrorClaim:
        """The error that no query of the class exceeds, with probability 1 - delta, all at once.

        With `gamma`, of some query within gamma of each: for halfspaces released by a net.
        """
        if isinstance(query_class, str):
            query_class = parse_class(query_class)
        return usefulness(self._library, self._asking, query_class, delta=delta, gamma=gamma)

    def population(
        self, question: str, *, confidence: float = 0.95, rows: int | None = None
    ) -> tuple[PopulationShare, ...]:
        """Shares of the population that the rows were drawn from, for a question that counts rows.

        Each has an interval that allows for the noise and the sampling error (see `population`). `rows` is the size of
        the table, where it is known and not in the release.
        """
        level = float(confidence_level(confidence))
        statement = read_statement(
            question, self._published, ReleaseDialect(self._published, question)
        )
        asked = statement.questions[0]
        if not statement.is_plain or any(each.kind != "count" for each in asked.aggregates):
            raise NotAnswerable(
                "For the population, only counts of rows are answered: SELECT count(*) ... WHERE ..., with or without GROUP BY."
            )
        known = self.release.public_rows if rows is None else at_least_one(rows, name="rows")
        each = (1 - level) / (2 if known is not None else 3)
        answers = self.ask(question, confidence=1 - each)
        fewest, middle, most = (known,) * 3 if known is not None else self._total(1 - each)
        by_theorem = [each.facts for each in self.release.parts if "theorem" in each.facts]
        stated = max((1 - float(said.get("delta", 0)) for said in by_theorem), default=1.0)
        found = []
        for row in answers:
            for name, answer in row.answers.items():
                is_all = answer.lower <= 0 and answer.upper >= most
                why = beyond_the_theorem(1 - each, stated, 2 if known is not None else 3)
                low, high = share_interval(
                    answer.lower, answer.upper, fewest=fewest, most=most, delta=each
                )
                found.append(
                    PopulationShare(
                        group=(*row.group.values(), name),
                        estimate=min(1.0, answer.estimate / max(1.0, middle)),
                        lower=low,
                        upper=high,
                        confidence=level,
                        table_lower=min(1.0, answer.lower / max(1.0, most)),
                        table_upper=min(1.0, answer.upper / max(1.0, fewest)),
                        rows=middle,
                        note=why if is_all and stated < 1 - each else None,
                    )
                )
        return tuple(found)

    def _total(self, level: float) -> tuple[float, float, float]:
        """The number of rows: its interval's ends and its estimate."""
        found = self.ask(Question((Aggregate("count", None, "count"),)), confidence=level).only
        return found.lower, found.estimate, found.upper

    def synthesize(self, rows: int | None = None, *, seed: int | None = None) -> SyntheticTable:
        """Synthetic rows with the original's columns; as many as the release estimates, by default.

        The same `seed` gives the same rows. It costs no privacy: only published numbers are used.
        """
        return synthesize(self._library, rows=rows, seed=seed, counted=self._count_of_rows())

    def _count_of_rows(self) -> Answer | None:
        """What `SELECT count(*)` answers, if the release counts every row."""
        question = Question((Aggregate("count", None, "count"),))
        try:
            return self.ask(question).only
        except NotAnswerable:
            return None

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the release's file, whole or not at all: others can open and verify it. It costs nothing more."""
        if Path(path).exists() and not overwrite:
            raise BadInput(
                f"{path} exists already, and may be a release that was paid for. Say overwrite=True, or choose another name."
            )
        write_release(self.release, path)

    def overview(self) -> Overview:
        """What the release holds, who is protected, and a question of each kind that it answers."""
        return overview(self.release, self.ask)

    def __repr__(self) -> str:
        return str(self.overview())

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()

    def statement(self) -> Statement:
        """The privacy statement in plain words."""
        return privacy_statement(self.release)
