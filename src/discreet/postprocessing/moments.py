"""Parts of dates among the groups of a result: extract, date_trunc, dayname, monthname.

They mean what they mean in WHERE, and the same code works them out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from discreet.errors import BadQuestion
from discreet.postprocessing.values import Labels, Levels, Value, joined_origins
from discreet.questions.calendar_texts import day_name, month_name
from discreet.questions.cells.reach import numbers
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.cells.values import Span
from discreet.questions.expressions import (
    DATE_PARTS,
    TRUNCATED,
    Call,
    ColumnValue,
    Constant,
    Expression,
    Type,
)
from discreet.schema.columns.column import OTHER_LABEL
from discreet.schema.columns.values import day_of, days_of, microseconds_of

Work = Callable[[Sequence[Value], Levels], Value]
TRUNCATIONS = {f"date_trunc {unit}": unit for unit in TRUNCATED}
"""The functions of a result that cut a date off, with the unit that they keep."""
_NAMES = {"dayname": day_name, "monthname": month_name}
_EPOCH = datetime(1970, 1, 1)


def _asked(name: str, moment: ColumnValue) -> Expression:
    if name in TRUNCATIONS:
        return Call("date_trunc", (Constant(TRUNCATIONS[name], "text"), moment), moment.type)
    return _NAMES[name](moment) if name in _NAMES else Call(name, (moment,), "integer")


def _of_cell(name: str, value: Any) -> Any:
    """The part of a date, or of all dates of a cell."""
    if value is None or value == OTHER_LABEL:
        return value
    ends = [_read(name, end) for end in _ends(value)]
    type_: Type = "datetime" if isinstance(ends[0], datetime) else "date"
    units = [_units(end) for end in ends]
    found = reach_of(_asked(name, ColumnValue("moment", type_)), {"moment": numbers(*units)})
    if not found.is_one:
        raise BadQuestion(
            f"{name.split()[0]}() of a group that holds several dates: write it into GROUP BY, as in GROUP BY "
            "date_trunc('month', day)."
        )
    if name not in TRUNCATIONS or not isinstance(found.only, int):
        return found.only
    return day_of(found.only) if type_ == "date" else _EPOCH + timedelta(microseconds=found.only)


def _ends(value: Any) -> tuple[Any, Any]:
    return (value.first, value.last) if isinstance(value, Span) else (value, value)


def _read(name: str, value: Any) -> date:
    """A date or a moment, also where it is written as a text."""
    moment = microseconds_of(value) if isinstance(value, str) else None
    if moment is not None:
        value = _EPOCH + timedelta(microseconds=moment)
    if not isinstance(value, date):
        raise BadQuestion(f"{name.split()[0]}() takes dates, and a value here is {str(value)!r}.")
    return value


def _units(value: date) -> int:
    """Days of a date, microseconds of a moment, since 1970."""
    if isinstance(value, datetime):
        return (value - _EPOCH) // timedelta(microseconds=1)
    return days_of(value)


def _work(name: str) -> Work:
    def applied(arguments: Sequence[Value], levels: Levels) -> Value:
        (only,) = arguments
        if not isinstance(only, Labels):
            raise BadQuestion(f"{name.split()[0]}() takes dates, and no numbers.")
        values = [_of_cell(name, each) for each in only.values]
        return Labels(Labels.of(values).values, None, joined_origins(only))

    return applied


MOMENT_FUNCTIONS: dict[str, Work] = {
    name: _work(name) for name in (*DATE_PARTS, *TRUNCATIONS, *_NAMES)
}
