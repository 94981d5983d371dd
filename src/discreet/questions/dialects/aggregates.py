"""What a curator may be asked for: each aggregate is registered once.

An entry says how the aggregate is read, which tallies it needs, and how its answer and interval are
made of them. The last two are named by their place, `module:name`, and loaded by the curator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from discreet.errors import BadInput
from discreet.questions.dialects.statement import not_summed
from discreet.schema import Column, OrderedColumn


def _takes_any(column: Column) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateKind:
    """One aggregate of a curator's SELECT."""

    kind: str
    needed: str = ""
    """Which tallies it needs: (aggregate, question, schema, *, share, accounting) to `Needed`."""
    answer: str = ""
    """How they are answered: (reader, needed) to an `AnswerColumn`."""
    is_function: bool = False
    """Whether it is written as kind(column). The others have forms of their own, which the reader knows."""
    takes_two: bool = False
    """Whether it is of two values a row, as in corr(y, x); both may be expressions."""
    takes_expressions: bool = False
    """Whether it adds up expressions over columns too, as in sum(a + b)."""
    refusal: Callable[[Column], str | None] = _takes_any
    """Why it cannot be asked of a column; `None` where it can."""
    stands_alone: bool = False
    """Whether its answers are rows of their own, so that nothing stands beside it."""
    is_by_cell: bool = False
    """Whether there is an answer for each cell of its column, as if that were grouped by."""
    chooses: bool = False
    """Whether cells are chosen privately, and nothing is counted."""
    costs_are_known: bool = False
    """Whether the law of its first tally alone tells how wide its interval will be."""
    note: str = ""
    """What a reader of the answer should know."""


def _of_numbers(kind: str) -> Callable[[Column], str | None]:
    return lambda column: not_summed(column, kind)


def _of_order(column: Column) -> str | None:
    if column.is_ordered:
        return None
    return f"Column {column.name!r} is of kind {column.kind}, which has no order, so it has no quantiles."


def _of_declared(column: Column) -> str | None:
    if not column.undeclared:
        return None
    return f"Column {column.name!r} declares no values to choose from; GROUP BY it, with a delta in the budget."


def _of_single_values(column: Column) -> str | None:
    if column.undeclared:
        return f"Column {column.name!r} declares no values to count; GROUP BY it, with a delta in the budget."
    if isinstance(column, OrderedColumn) and len(set(column.extent(0))) > 1:
        return (
            f"The cells of column {column.name!r} are ranges, so its different values are not known apart. "
            "Ask for histogram() of it."
        )
    return None


_NEEDED, _ANSWERS = "discreet.curator.needed", "discreet.curator.answers.answer_columns"
_PAIRS = "discreet.curator.answers.pairs"
_SAMPLE = "As in SQL, variance and stddev are those of a sample (divided by n - 1); var_pop and stddev_pop divide by n."
_DISTINCT = (
    "count(DISTINCT ...) is the number of declared values that some row holds; those that are not "
    "declared count as one. A value that few rows hold cannot be distinguished from one that no row holds."
)


def _count(kind: str) -> AggregateKind:
    return AggregateKind(
        kind=kind,
        needed=f"{_NEEDED}:{kind}",
        answer=f"{_ANSWERS}:count",
        costs_are_known=True,
    )


def _spread(kind: str) -> AggregateKind:
    return AggregateKind(
        kind=kind,
        needed=f"{_NEEDED}:spread",
        answer=f"{_ANSWERS}:spread",
        takes_expressions=True,
        refusal=_of_numbers(kind),
        note="" if kind.endswith("_pop") else _SAMPLE,
    )


def _pair(kind: str, answer: str) -> AggregateKind:
    return AggregateKind(
        kind=kind,
        needed=f"{_PAIRS}:pair",
        answer=f"{_PAIRS}:{answer}",
        takes_two=True,
        refusal=_of_numbers(kind),
    )


BUILT_IN = (
    _count("count"),
    _count("present"),
    _count("persons"),
    AggregateKind(
        kind="sum",
        needed=f"{_NEEDED}:total",
        answer=f"{_ANSWERS}:total",
        takes_expressions=True,
        refusal=_of_numbers("sum"),
        costs_are_known=True,
    ),
    AggregateKind(
        kind="avg",
        needed=f"{_NEEDED}:mean",
        answer=f"{_ANSWERS}:mean",
        takes_expressions=True,
        refusal=_of_numbers("avg"),
    ),
    _spread("variance"),
    _spread("stddev"),
    _spread("var_pop"),
    _spread("stddev_pop"),
    _pair("covar_pop", "covariance"),
    _pair("covar_samp", "covariance"),
    _pair("corr", "correlation"),
    _pair("regr_slope", "line"),
    _pair("regr_intercept", "line"),
    AggregateKind(
        kind="distinct",
        needed=f"{_NEEDED}:distinct",
        answer=f"{_ANSWERS}:distinct",
        refusal=_of_single_values,
        note=_DISTINCT,
    ),
    AggregateKind(
        kind="quantile",
        needed=f"{_NEEDED}:quantile",
        answer=f"{_ANSWERS}:quantile",
        refusal=_of_order,
    ),
    AggregateKind(
        kind="histogram",
        needed=f"{_NEEDED}:count",
        answer=f"{_ANSWERS}:count",
        is_function=True,
        refusal=_of_declared,
        stands_alone=True,
        is_by_cell=True,
        costs_are_known=True,
    ),
    AggregateKind(
        kind="top", is_function=True, refusal=_of_declared, stands_alone=True, chooses=True
    ),
)
AGGREGATES = {each.kind: each for each in BUILT_IN}


def register(entry: AggregateKind) -> None:
    """Add an aggregate from outside: from now on a curator answers `kind(column)`."""
    if entry.kind in AGGREGATES:
        raise BadInput(f"There is an aggregate {entry.kind!r} already.")
    if not (entry.is_function and entry.kind.isidentifier() and entry.kind.islower()):
        raise BadInput("An aggregate from outside is a function of one column, in small letters.")
    AGGREGATES[entry.kind] = entry


@contextmanager
def registered(entry: AggregateKind) -> Iterator[None]:
    """Add an aggregate from outside for a while."""
    register(entry)
    try:
        yield
    finally:
        del AGGREGATES[entry.kind]
