"""`ReleaseReader`: ask a release any number of questions. It has no way to reach a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.answers.asking import Asking
from discreet.answers.batch import Batch, ManyCounts
from discreet.answers.halfspaces import HalfspaceReader, ManyHalfspaces
from discreet.answers.overlaying import answered
from discreet.answers.parities import ParityReader, checked
from discreet.answers.predicates import PredicateReader
from discreet.answers.range_pictures import Bars, distribution
from discreet.answers.readings import combined
from discreet.answers.sources import Library
from discreet.answers.synthetic import SyntheticTable, synthesize
from discreet.answers.table_models import cell_deviation
from discreet.answers.usefulness import usefulness
from discreet.artifacts.answer import Answer, Covers
from discreet.artifacts.answers import Answers
from discreet.artifacts.files import read_release
from discreet.artifacts.release import ErrorClaim, Release
from discreet.artifacts.statement import Statement, privacy_statement
from discreet.errors import BadQuestion, NotAnswerable
from discreet.privacy.exact import Exactable
from discreet.queries.classes import QueryClass, parse_class
from discreet.queries.conditions import has_inequality, normal_form
from discreet.queries.sql import Aggregate, Question, parse_question
from discreet.queries.undeclared import undeclared_in_condition
from discreet.schema import Schema


class ReleaseReader:
    """A release, opened for questions. Asking costs no privacy, so there is no limit to it.

    Thread safe: the release never changes, and what is kept for later questions is kept under a lock.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self._library = Library(release)
        self._batch = Batch(self._library)
        self._halfspaces = HalfspaceReader(self._library)
        self._predicates = PredicateReader(self._library)
        self._parities = ParityReader(self._library)

    @property
    def schema(self) -> Schema:
        return self.release.schema

    @property
    def workload(self) -> tuple[str, ...]:
        return self.release.workload

    def ask(
        self, question: str | Question, *, confidence: float = 0.95, whole: bool = True
    ) -> Answers:
        """The answers to a SQL question, each with an interval at `confidence`.

        `whole=False` leaves the estimates of counts as fractions; intervals are the same.
        """
        if isinstance(question, str):
            question = parse_question(question, self.schema)
        answers = self._answers(question, confidence, whole)
        notes = undeclared_in_condition(question.condition, self.schema)
        return replace(answers, notes=(*notes, *answers.notes)) if notes else answers

    def _answers(self, question: Question, confidence: float, whole: bool) -> Answers:
        joint = self._jointly(question, confidence, whole)
        if joint is not None:
            return joint
        found = [
            reader.answers(question, confidence=confidence, whole=whole)
            for reader in (self._predicates, self._parities)
        ]
        options = [each for each in found if each is not None]
        declared = min(options, key=lambda each: float(each.columns[0].std[0]), default=None)
        if declared is None:
            return self._undeclared(question, confidence, whole)
        try:
            other = self._undeclared(question, confidence, whole)
        except (NotAnswerable, BadQuestion):
            return declared
        # Which of two has less noise is public, so that choosing it spoils no interval.
        one, two = declared.columns[0], other.columns[0]
        return other if two.covers is Covers.NOISE and two.std[0] < one.std[0] else declared

    def _jointly(self, question: Question, confidence: float, whole: bool) -> Answers | None:
        """A count that several parts of the release know without bias; `None` where fewer than two do."""
        if question.group_by or not all(
            one.kind == "count" and one.column is None for one in question.aggregates
        ):
            return None
        checked(confidence)
        condition = question.condition
        everything = not has_inequality(condition) and normal_form(condition) is True
        if everything and self.release.public_rows is not None:
            return None  # known without noise
        readings = self._predicates.readings(condition, confidence)
        readings += self._parities.readings(condition)
        if everything:
            readings += self._halfspaces.totals()
        if not readings:
            return None
        other: Answers | None = None
        try:
            other = self._undeclared(question, confidence, whole)
            if has_inequality(condition):
                readings += self._halfspaces.readings(condition)
            else:
                own = Asking(self._library, confidence).reading(condition)
                readings += [] if own is None else [own]
        except (NotAnswerable, BadQuestion):
            pass  # tables and trees do not know: what the others said is combined without them
        joint = combined(readings)
        if joint.sources < 2 and (other is not None or not everything):
            return None
        return answered(joint, question, other, confidence, self.release.public_rows, whole)

    def _undeclared(self, question: Question, confidence: float, whole: bool) -> Answers:
        linear = self._halfspaces.answers(question, confidence=confidence, whole=whole)
        if linear is not None:
            return linear
        return Asking(self._library, confidence, whole).answers(question)

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
        return self._batch.between(column, low, high, codes=codes, confidence=confidence)

    def count_cells(
        self, columns: Sequence[str], codes: npt.ArrayLike, *, confidence: float = 0.95
    ) -> ManyCounts:
        """Rows in single cells, one row of `codes` a question."""
        return self._batch.cells(tuple(columns), codes, confidence=confidence)

    def count_halfspaces(
        self,
        columns: Sequence[str],
        normals: npt.ArrayLike,
        bounds: npt.ArrayLike,
        *,
        confidence: float = 0.95,
    ) -> ManyHalfspaces:
        """Rows with normal . columns >= bound, one row of `normals` and one bound a question."""
        return self._halfspaces.many(tuple(columns), normals, bounds, confidence=confidence)

    def count_near_halfspaces(
        self, columns: Sequence[str], normals: npt.ArrayLike, bounds: npt.ArrayLike
    ) -> npt.NDArray[np.float64]:
        """Of a release by the literal net: rows in some gamma-close halfspace, without intervals."""
        return self._halfspaces.near(tuple(columns), normals, bounds)

    def count_boxes(
        self,
        columns: Sequence[str],
        first: npt.ArrayLike,
        last: npt.ArrayLike,
        *,
        confidence: float = 0.95,
    ) -> ManyCounts:
        """Rows in boxes of cells, from a release of `rectangles`; both ends are included."""
        return self._batch.boxes(tuple(columns), first, last, confidence=confidence)

    def parity(self, *names: str, confidence: float = 0.95) -> Answer:
        """Rows for which an even number of `names` is true, less those for which an odd one is.

        The names are splits that the release was made for, or columns of two cells.
        """
        return self._parities.parity(names, confidence=confidence)

    def noisy_table(self, columns: Sequence[str]) -> tuple[npt.NDArray[np.float64], float]:
        """The estimated table over `columns` as it was measured, and the deviation of a cell.

        Unbiased, so cells may be negative or fractional; one axis a column, in the order given.
        """
        names = tuple(self.schema.column(name).name for name in columns)
        ordered = tuple(name for name in self.schema.names if name in names)
        table = self._library.table(ordered)
        counts = table.counts.reshape([self.schema.column(name).cells for name in ordered])
        return np.transpose(counts, [ordered.index(name) for name in names]), cell_deviation(table)

    def distribution(self, *columns: str, most: int = 64, confidence: float = 0.95) -> Bars:
        """Bars for a chart of columns that were released as ranges: at most `most` along each."""
        return distribution(
            self._library.ranges,
            tuple(self.schema.column(name).name for name in columns),
            most=most,
            confidence=confidence,
            public_rows=self.release.public_rows,
        )

    def usefulness(self, query_class: QueryClass | str, *, delta: Exactable) -> ErrorClaim:
        """The error that no query of the class exceeds, with probability 1 - delta, all at once."""
        if isinstance(query_class, str):
            query_class = parse_class(query_class)
        return usefulness(self._library, query_class, delta=delta)

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

    def statement(self) -> Statement:
        return privacy_statement(self.release)


def open_release(path: str | Path) -> ReleaseReader:
    """A release file, opened for questions."""
    return ReleaseReader(read_release(path))
