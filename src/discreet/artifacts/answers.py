"""`Answers`: a set of answers, one row a group, that prints as a table and knows its own errors.

The numbers are kept in arrays, so a table of a million groups costs arrays and not objects; an
`Answer` is made when one is looked at. pandas and Arrow are imported when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.artifacts.answer import Answer, Covers, Unit
from discreet.artifacts.text_tables import text_lines
from discreet.errors import BadInput
from discreet.privacy.laws import NoiseLaw
from discreet.questions.cells.values import Span

SHOWN_ROWS = 50
"""Rows that are printed; the others are counted."""


@dataclass(frozen=True, slots=True, eq=False)
class AddedNoise:
    """The noise of an answer, where it is known: unbiased values plus weighted draws.

    Draws of different numbers, and of different groups, are independent. Thread safe: it never changes.
    """

    value: Floats
    terms: tuple[tuple[float, NoiseLaw, int], ...]
    """A weight, the law, and the draw's number."""
    slack: float = 0.0
    """How far rounding may have moved the value."""

    def taken(self, places: npt.NDArray[np.int64]) -> AddedNoise:
        return replace(self, value=self.value[places])


@dataclass(frozen=True, slots=True, eq=False)
class SharedDraws:
    """The same where answers may share draws: each is a weighted sum of the draws of whole measurements.

    Thread safe: it never changes.
    """

    value: Floats
    draws: tuple[tuple[Hashable, NoiseLaw, Floats], ...]
    """For each measurement: its identity, its law, and for each answer the weights of all its draws."""
    shown: Floats | None = None
    """The answers themselves, where they are other numbers that add up as well."""

    def taken(self, places: npt.NDArray[np.int64]) -> SharedDraws:
        draws = tuple((key, law, weights[places]) for key, law, weights in self.draws)
        shown = None if self.shown is None else self.shown[places]
        return SharedDraws(self.value[places], draws, shown)


def taken_draws(draws: SharedDraws | None, places: npt.NDArray[np.int64]) -> SharedDraws | None:
    """The draws of the answers at some places."""
    return None if draws is None else draws.taken(places)


@dataclass(frozen=True, slots=True, eq=False)
class AnswerColumn:
    """One aggregate's answers, a number a group. Thread safe: it never changes."""

    name: str
    estimate: Floats
    lower: Floats
    upper: Floats
    std: Floats
    covers: Covers
    unit: Unit = Unit.NUMBER
    noise: AddedNoise | None = None
    draws: Callable[[], SharedDraws | None] | None = None
    """Works out the draws behind the answers, which may share some; asked for only where they are combined."""

    def at(self, place: int, confidence: float) -> Answer:
        return Answer(
            estimate=float(self.estimate[place]),
            lower=float(self.lower[place]),
            upper=float(self.upper[place]),
            confidence=confidence,
            std=float(self.std[place]),
            covers=self.covers,
            unit=self.unit,
        )

    def taken(self, places: npt.NDArray[np.int64]) -> AnswerColumn:
        """The answers at some places."""
        noise, draws = self.noise and self.noise.taken(places), self.draws
        return replace(
            self,
            estimate=self.estimate[places],
            lower=self.lower[places],
            upper=self.upper[places],
            std=self.std[places],
            noise=noise,
            draws=None if draws is None else lambda: taken_draws(draws(), places),
        )

    def values(self, numbers: Floats) -> npt.NDArray[Any]:
        """Numbers of this column as what they stand for."""
        if self.unit is Unit.COUNT:
            whole = bool(np.all(np.abs(numbers) < 2.0**53) and np.all(numbers == np.round(numbers)))
            return numbers.astype(np.int64) if whole else numbers
        if not self.unit.is_temporal:
            return numbers
        return np.array([self.unit.of(float(each)) for each in numbers], dtype=object)


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One group: its labels, and the answer to each aggregate. Thread safe: it never changes."""

    group: Mapping[str, str]
    answers: Mapping[str, Answer]

    @property
    def answer(self) -> Answer:
        """The only answer of the row."""
        if len(self.answers) != 1:
            raise BadInput(f"The row has {len(self.answers)} answers; take one by its name.")
        return next(iter(self.answers.values()))

    def __getitem__(self, name: str) -> Answer:
        return self.answers[name]


def _alike(values: npt.NDArray[Any]) -> Any:
    """Values of one type, for a column that takes one type only: as they are, or as texts."""
    if values.dtype != object:
        return values
    kinds = {type(each) for each in values if each is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:
        return [None if each is None else str(each) for each in values]
    return values.tolist()


def _objects(values: list[object]) -> npt.NDArray[np.object_]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The answers to a question, every number with its interval. Thread safe: it never changes."""

    groups: tuple[str, ...]
    """The columns of GROUP BY."""
    codes: npt.NDArray[np.int64]
    """Cell numbers: one row for each group, one column for each column of GROUP BY."""
    label: Callable[[int, int], str] = field(repr=False)
    """The text of (place in `groups`, code)."""
    columns: tuple[AnswerColumn, ...]
    confidence: float
    question: str = ""
    notes: tuple[str, ...] = ()
    typed: Callable[[int, int], object] | None = field(default=None, repr=False)
    """The value of (place in `groups`, code), in its own type."""
    is_through_others: bool = field(default=False, repr=False)
    """Whether the codes are those of columns that the asked ones are derived from."""

    def value(self, axis: int, code: int) -> object:
        """What a group's cell stands for, in its own type; its label where no type is known."""
        return self.label(axis, code) if self.typed is None else self.typed(axis, code)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, place: int) -> AnswerRow:
        place = range(len(self))[place]
        return AnswerRow(
            group=dict(zip(self.groups, self._labels(place), strict=True)),
            answers={column.name: column.at(place, self.confidence) for column in self.columns},
        )

    def __iter__(self) -> Iterator[AnswerRow]:
        return (self[place] for place in range(len(self)))

    @property
    def only(self) -> Answer:
        """The answer, where there is one group and one aggregate."""
        if len(self) != 1 or len(self.columns) != 1:
            raise BadInput(
                f"There are {len(self):,} rows of {len(self.columns)} answers, not a single answer; "
                "iterate over them."
            )
        return self.columns[0].at(0, self.confidence)

    def minus(self, other: Answers) -> Answers:
        """The differences, group by group, with intervals that hold however the errors are related.

        Groups that only one side has are left out. See `Answer.minus`.
        """
        if self.groups != other.groups or len(self.columns) != len(other.columns):
            raise BadInput("Only answers to questions of the same shape can be compared.")
        theirs = {key: place for place, key in enumerate(other._keys())}
        pairs = [(place, theirs[key]) for place, key in enumerate(self._keys()) if key in theirs]
        mine = np.array([left for left, _ in pairs], dtype=np.int64)
        yours = np.array([right for _, right in pairs], dtype=np.int64)
        columns = tuple(
            AnswerColumn(
                name=left.name if left.name == right.name else f"{left.name} - {right.name}",
                estimate=left.estimate[mine] - right.estimate[yours],
                lower=left.lower[mine] - right.upper[yours],
                upper=left.upper[mine] - right.lower[yours],
                std=left.std[mine] + right.std[yours],
                covers=left.covers.joined(right.covers),
            )
            for left, right in zip(self.columns, other.columns, strict=True)
        )
        return Answers(
            groups=self.groups,
            codes=self.codes[mine],
            label=self.label,
            typed=self.typed,
            columns=columns,
            confidence=1 - ((1 - self.confidence) + (1 - other.confidence)),
            question=f"{self.question}  MINUS  {other.question}",
            notes=(
                "The two intervals hold together by the union bound, so the difference's "
                "confidence is lower than either's.",
                *dict.fromkeys(self.notes + other.notes),
            ),
        )

    def _keys(self) -> list[tuple[str, ...]]:
        return [self._labels(place) for place in range(len(self))]

    def _labels(self, place: int) -> tuple[str, ...]:
        return tuple(
            self.label(axis, int(self.codes[place, axis])) for axis in range(len(self.groups))
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON: numbers, texts, `None` for what is unbounded.

        `group` has the names of the groups, as a table shows them. `values` has what they are: numbers, truth
        values, `None` for null, dates as texts, and the first and last value of a cell of several.
        """
        return {
            "question": self.question,
            "confidence": self.confidence,
            "rows": [
                {
                    "group": dict(row.group),
                    "values": {
                        name: json_value(self.value(axis, int(self.codes[place, axis])))
                        for axis, name in enumerate(self.groups)
                    },
                    "answers": {name: answer.to_dict() for name, answer in row.answers.items()},
                }
                for place, row in enumerate(self)
            ],
            "notes": list(self.notes),
        }

    def to_columns(self) -> dict[str, Any]:
        """Arrays by name: the groups' values, then each aggregate with its lower, upper and std.

        Values keep their types: numbers, dates, truth values, `None` for null. A column whose cells hold
        several values each has the cells' names, and two more columns, name_first and name_last, with
        their first and last values. Where the question itself names a column so, an underscore is added.
        """
        data: dict[str, Any] = {}
        own = {*self.groups, *(column.name for column in self.columns)}

        def beside(name: str) -> str:
            while name in own or name in data:
                name += "_"
            return name

        for axis, name in enumerate(self.groups):
            distinct, where = np.unique(self.codes[:, axis], return_inverse=True)
            values = [self.value(axis, int(code)) for code in distinct]
            data[name] = _objects([str(v) if isinstance(v, Span) else v for v in values])[where]
            if any(isinstance(each, Span) for each in values):
                for end in ("first", "last"):
                    ends = [getattr(v, end) if isinstance(v, Span) else None for v in values]
                    data[beside(f"{name}_{end}")] = _objects(ends)[where]
        for column in self.columns:
            data[column.name] = column.values(column.estimate)
            data[beside(f"{column.name}_lower")] = column.values(column.lower)
            data[beside(f"{column.name}_upper")] = column.values(column.upper)
            data[beside(f"{column.name}_std")] = column.std
        return data

    def to_pandas(self) -> Any:
        """A pandas DataFrame; needs pandas."""
        try:
            import pandas
        except ImportError:
            raise BadInput("to_pandas() needs pandas; install it, or use to_columns().") from None
        return pandas.DataFrame(self.to_columns())

    def to_arrow(self) -> Any:
        """An Arrow table; needs pyarrow."""
        try:
            import pyarrow
        except ImportError:
            raise BadInput("to_arrow() needs pyarrow; install it, or use to_columns().") from None
        return pyarrow.table(
            {name: pyarrow.array(_alike(values)) for name, values in self.to_columns().items()}
        )

    def to_polars(self) -> Any:
        """A Polars DataFrame; needs polars and pyarrow."""
        try:
            import polars
        except ImportError:
            raise BadInput("to_polars() needs polars; install it, or use to_columns().") from None
        return polars.from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """So that Polars, DuckDB and other readers of Arrow take it as it is."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _table(self) -> tuple[list[str], list[list[str]], list[bool]]:
        """Header, cells, and which columns hold numbers."""
        header, numeric = list(self.groups), [False] * len(self.groups)
        for column in self.columns:
            header += [column.name, f"{self.confidence:.4g} interval", "covers"]
            numeric += [True, True, False]
        rows: list[list[str]] = []
        for place in range(min(len(self), SHOWN_ROWS)):
            cells = list(self._labels(place))
            for column in self.columns:
                answer = column.at(place, self.confidence)
                mark = " (vague)" if answer.is_vague else ""
                cells += [answer.shown_estimate, answer.shown_interval, column.covers.value + mark]
            rows.append(cells)
        return header, rows, numeric

    def __str__(self) -> str:
        header, rows, numeric = self._table()
        lines = text_lines(header, rows, numeric)
        if len(self) > SHOWN_ROWS:
            lines.append(f"... and {len(self) - SHOWN_ROWS:,} more rows")
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        header, rows, numeric = self._table()

        def cells(texts: list[str], tag: str) -> str:
            return "".join(
                f"<{tag} style='text-align:{'right' if number else 'left'}'>{escape(text)}</{tag}>"
                for text, number in zip(texts, numeric, strict=True)
            )

        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
        more = len(self) - SHOWN_ROWS
        notes = [*([f"... and {more:,} more rows"] if more > 0 else []), *self.notes]
        return (
            f"<table><thead><tr>{cells(header, 'th')}</tr></thead><tbody>{body}</tbody></table>"
            + "".join(f"<p>{escape(note)}</p>" for note in notes)
        )


def json_value(value: Any) -> Any:
    """What a group stands for, as JSON has it: dates as texts, a cell of several values by its first and last."""
    if isinstance(value, Span):
        return {"first": json_value(value.first), "last": json_value(value.last)}
    return value.isoformat() if isinstance(value, date) else value
