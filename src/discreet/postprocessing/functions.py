"""The functions that a result may be worked on with, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.artifacts.answer import Covers
from discreet.errors import BadQuestion, DiscreetError
from discreet.postprocessing import arithmetic, logic
from discreet.postprocessing.arithmetic import constant_of, increasing, numbers_of
from discreet.postprocessing.moments import MOMENT_FUNCTIONS
from discreet.postprocessing.values import Labels, Levels, Numbers, Value, joined_origins
from discreet.questions.cells.functions import matches
from discreet.questions.text_functions import LONGEST_RESULT
from discreet.schema.columns.column import OTHER_LABEL

MOST_LETTERS = 1 << 25
"""Letters in a column of texts that is worked out."""
MOST_STEPS = 1 << 25
"""Comparisons of letters that LIKE makes in a column."""

Work = Callable[[Sequence[Value], Levels], Value]


def apply(name: str, arguments: Sequence[Value], levels: Levels) -> Value:
    """The function `name` of some values, row by row."""
    try:
        return FUNCTIONS[name](arguments, levels)
    except DiscreetError:
        raise
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        # A text where a number belongs, or too few values.
        raise BadQuestion(
            f"{name} is not worked out of {len(arguments)} such values. Check how many it takes, and whether they are numbers or texts."
        ) from error


def _of_one(work: Callable[[Numbers], Numbers]) -> Work:
    def applied(arguments: Sequence[Value], levels: Levels) -> Value:
        (value,) = arguments
        return work(numbers_of(value, levels))

    return applied


def _of_two(work: Callable[[Numbers, Numbers, Levels], Numbers]) -> Work:
    def applied(arguments: Sequence[Value], levels: Levels) -> Value:
        left, right = (numbers_of(each, levels) for each in arguments)
        return work(left, right, levels)

    return applied


def _rising(
    function: Callable[[Floats], Floats], slope: Callable[[Floats], Floats] | None = None
) -> Work:
    return _of_one(lambda number: increasing(number, function, slope))


def _comparison(sign: str) -> Work:
    return lambda arguments, levels: logic.compared(arguments[0], sign, arguments[1], levels)


def _rounded(name: str, shift: float) -> Work:
    """round and trunc, to some digits. Halves go away from 0, as in SQL."""

    def applied(arguments: Sequence[Value], levels: Levels) -> Value:
        digits = 0
        if len(arguments) == 2:
            given = constant_of(numbers_of(arguments[1], levels))
            if given is None or given != int(given) or abs(given) > 15:
                raise BadQuestion(f"{name}(x, digits) takes a whole number of digits.")
            digits = int(given)
        scale = 10.0**digits

        def rounded(x: Floats) -> Floats:
            whole = np.copysign(np.floor(np.abs(x) * scale + shift), x)
            return np.where(np.isfinite(x), whole / scale, x)

        return increasing(numbers_of(arguments[0], levels), rounded)

    return applied


def _root(x: Floats) -> Floats:
    return np.sqrt(np.maximum(x, 0.0))


def _log(base: float) -> Work:
    def log(x: Floats) -> Floats:
        return np.where(x > 0, np.log(np.where(x > 0, x, 1.0)) / math.log(base), -np.inf)

    def applied(arguments: Sequence[Value], levels: Levels) -> Value:
        if len(arguments) == 2:  # log(base, x)
            given = constant_of(numbers_of(arguments[0], levels))
            if given is None or given <= 1:
                raise BadQuestion("log(base, x) takes a base above 1.")
            return _log(given)([arguments[1]], levels)
        (only,) = arguments
        value = numbers_of(only, levels)
        made = increasing(value, log, lambda x: 1 / (x * math.log(base)))
        none = made.estimate == -np.inf
        if not none.any():
            return made
        return arithmetic.chosen(none, None, _each(np.nan, made, levels), made, levels)

    return applied


def _within(function: Callable[[Floats], Floats], low: float, high: float) -> Work:
    """A rising function that only numbers from `low` to `high` have a value of; of others it is null."""

    def inside(x: Floats) -> Floats:
        return function(np.clip(x, low, high))

    def applied(arguments: Sequence[Value], levels: Levels) -> Value:
        value = numbers_of(arguments[0], levels)
        made = increasing(value, inside)
        outside = (value.estimate < low) | (value.estimate > high)
        if not outside.any():
            return made
        return arithmetic.chosen(outside, None, _each(np.nan, made, levels), made, levels)

    return applied


def _wave(shift: float) -> Work:
    """sin(x + shift): its ends are at the ends of the interval, or at a crest or trough between them."""

    def applied(arguments: Sequence[Value], levels: Levels) -> Value:
        value = numbers_of(arguments[0], levels)
        estimate, low, high = (each + shift for each in (value.estimate, value.lower, value.upper))

        def passes(place: float) -> npt.NDArray[np.bool_]:
            turns = np.floor((high - place) / math.tau) >= np.ceil((low - place) / math.tau)
            return turns | ~np.isfinite(high - low)

        ends = np.sin(low), np.sin(high)
        lower = np.where(passes(-math.pi / 2), -1.0, np.minimum(*ends))
        upper = np.where(passes(math.pi / 2), 1.0, np.maximum(*ends))
        return replace(
            increasing(value, lambda x: x),
            estimate=np.sin(estimate),
            lower=np.where(np.isnan(low), np.nan, lower),
            upper=np.where(np.isnan(low), np.nan, upper),
            std=np.minimum(value.std, 1.0),
        )

    return applied


def _tangent(arguments: Sequence[Value], levels: Levels) -> Value:
    return arithmetic.divide(
        numbers_of(_wave(0.0)(arguments, levels), levels),
        numbers_of(_wave(math.pi / 2)(arguments, levels), levels),
        levels,
    )


def _present(arguments: Sequence[Value], levels: Levels) -> Value:
    """1 where a noisy count is above 0, else 0; between them where its interval leaves it open.

    The estimate is 1 where the count is above 0 by more than a standard deviation of its noise.
    """
    value = numbers_of(arguments[0], levels)
    lower, upper = (value.lower > 0).astype(float), (value.upper > 0).astype(float)
    likely = value.estimate > np.where(np.isfinite(value.std), value.std, 0.0)
    return replace(
        increasing(value, lambda x: x),
        estimate=np.clip(likely.astype(float), lower[0], upper[0]),
        lower=lower,
        upper=upper,
        std=(upper[0] - lower[0]) / 4,
    )


def _coalesced(arguments: Sequence[Value], levels: Levels) -> Value:
    """The first that is not null. Where one may be null, or another than the estimates say, the interval covers both.

    The interval of a mean of rows of which there may be none is all that its bounds allow: no wider than its noise.
    """
    found = arguments[-1]
    for each in reversed(arguments[:-1]):
        unsure = None
        if isinstance(each, Numbers):
            of_nobody = (each.std > 0) & (each.std >= each.upper - each.lower)
            unsure = _null_by_the_estimates(each) | of_nobody
        found = arithmetic.chosen(~each.is_null, unsure, each, found, levels)
    return found


def _or_zero(arguments: Sequence[Value], levels: Levels) -> Value:
    """A number of values, and 0 for groups that have none."""
    (counted,) = arguments
    zero = _each(0.0, counted, levels)
    unsure = _null_by_the_estimates(counted) if isinstance(counted, Numbers) else None
    return arithmetic.chosen(~counted.is_null, unsure, counted, zero, levels)


def _each(value: float, beside: Value, levels: Levels) -> Numbers:
    """The same number in every row."""
    return Numbers.exact(np.full(len(beside), value), len(levels))


def _null_by_the_estimates(value: Numbers) -> npt.NDArray[np.bool_]:
    """Null, with an interval all the same."""
    return value.is_null & ~np.isnan(value.lower)


def _nulled(arguments: Sequence[Value], levels: Levels) -> Value:
    left, right = arguments
    same = logic.holds(logic.compared(left, "=", right, levels))
    nothing: Value = logic.literal(None, len(left), levels)
    if isinstance(left, Numbers):
        nothing = _each(np.nan, left, levels)
    return arithmetic.chosen(same, None, nothing, left, levels)


def _extreme(greatest: bool) -> Work:
    def applied(arguments: Sequence[Value], levels: Levels) -> Value:
        values = [numbers_of(each, levels) for each in arguments]
        return arithmetic.extreme(values, greatest=greatest, levels=levels)

    return applied


def _kept_within(arguments: Sequence[Value], levels: Levels) -> Value:
    """A number kept between two bounds. Null stays null: greatest and least would give a bound instead."""
    number, low, high = (numbers_of(each, levels) for each in arguments)
    below = arithmetic.extreme([number, high], greatest=False, levels=levels)
    found = arithmetic.extreme([below, low], greatest=True, levels=levels)
    return replace(
        found,
        estimate=np.where(np.isnan(number.estimate), np.nan, found.estimate),
        lower=np.where(np.isnan(number.lower), np.nan, found.lower),
        upper=np.where(np.isnan(number.upper), np.nan, found.upper),
    )


def _meeting(arguments: Sequence[Value], levels: Levels) -> Value:
    """One number that was worked out in several ways: all their intervals hold it, so their intersection does."""
    numbers = [numbers_of(each, levels) for each in arguments]
    lower = np.fmax.reduce([each.lower for each in numbers])
    upper = np.fmin.reduce([each.upper for each in numbers])
    widths = np.array([each.upper[0] - each.lower[0] for each in numbers])
    narrowest = np.argmin(np.where(np.isnan(widths), np.inf, widths), axis=0)
    rows = np.arange(len(narrowest))
    own_lower, own_upper = (
        np.array([getattr(each, end) for each in numbers])[narrowest, :, rows].T
        for end in ("lower", "upper")
    )
    # Where they have nothing in common, some of them do not hold: the narrowest is as good as any.
    apart = ~(lower <= upper)
    lower, upper = np.where(apart, own_lower, lower), np.where(apart, own_upper, upper)
    estimate = np.array([each.estimate for each in numbers])[narrowest, rows]
    first = numbers[0]
    return replace(
        first,
        estimate=np.clip(estimate, lower[0], upper[0]),
        lower=lower,
        upper=upper,
        std=np.array([each.std for each in numbers])[narrowest, rows],
        covers=reduce(Covers.joined, (each.covers for each in numbers)),
        origins=joined_origins(*numbers),
        noise=None,
    )


def _texts(function: Callable[..., Any], *, of_null: str | None = None) -> Work:
    """A function of texts (and of exact numbers beside them). Of values that no one declared it is unknown.

    It is null where one of them is, unless `of_null` stands for nulls.
    """

    def applied(arguments: Sequence[Value], levels: Levels) -> Value:
        columns = [[of_null if x is None else x for x in _plain(each)] for each in arguments]
        rows = zip(*columns, strict=True)
        values, letters = [], 0
        for each in rows:
            found = None if None in each else OTHER_LABEL
            if found is not None and OTHER_LABEL not in each:
                found = function(*each)
            length = len(found) if isinstance(found, str) else 0
            letters += length
            if length > LONGEST_RESULT or letters > MOST_LETTERS:
                raise BadQuestion(
                    f"A text of the result has more than {LONGEST_RESULT:,} letters, or all together more than {MOST_LETTERS:,}."
                )
            values.append(found)
        return Labels(Labels.of(values).values, None, joined_origins(*arguments))

    return applied


def _plain(value: Value) -> list[Any]:
    if isinstance(value, Labels):
        return [each if each is None else _shown(each) for each in value.values]
    if not value.is_exact:
        raise BadQuestion(
            "A noisy number cannot be made into a text, which would lose its interval. Take the number."
        )
    return [None if math.isnan(each) else each for each in value.estimate.tolist()]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)


def _part_of_text(text: str, start: float, length: float | None = None) -> str:
    """The text from `start` on. `start` counts from 1, or from the end if it is below 0."""
    first = len(text) + int(start) if start < 0 else int(start) - 1
    stop = len(text) if length is None else first + int(length)
    return text[max(first, 0) : max(stop, 0)]


def _end_of_text(text: str, length: float) -> str:
    """The last `length` letters; if `length` is below 0, all but that many at the beginning."""
    return text[-int(length) :] if length < 0 else text[max(0, len(text) - int(length)) :]


def _joined(*texts: object) -> str:
    return "".join(
        str(int(each)) if isinstance(each, float) and each.is_integer() else str(each)
        for each in texts
    )


def _like(ignores_case: bool) -> Work:
    def applied(arguments: Sequence[Value], levels: Levels) -> Value:
        sizes = [[len(x) for x in _plain(each) if isinstance(x, str)] for each in arguments]
        text, pattern = (max(each, default=0) for each in sizes)
        if text * pattern * len(arguments[0]) > MOST_STEPS:
            raise BadQuestion(
                f"LIKE would compare more than {MOST_STEPS:,} letters. Take a shorter pattern."
            )
        found = _texts(lambda text, pattern: matches(pattern, text, ignores_case))(
            arguments, levels
        )
        assert isinstance(found, Labels)
        known = [None if each == OTHER_LABEL else each for each in found.values]
        return Labels(Labels.of(known).values, None, found.origins)

    return applied


def _as_text(arguments: Sequence[Value], levels: Levels) -> Value:
    return Labels.of(_plain(arguments[0]))


FUNCTIONS: dict[str, Work] = {
    "+": _of_two(arithmetic.add),
    "-": _of_two(arithmetic.subtract),
    "*": _of_two(arithmetic.multiply),
    "/": _of_two(arithmetic.divide),
    "//": lambda arguments, levels: increasing(
        numbers_of(_of_two(arithmetic.divide)(arguments, levels), levels), np.trunc
    ),
    "%": _of_two(arithmetic.remainder),
    "power": _of_two(arithmetic.power),
    "square": lambda arguments, levels: arithmetic.power(
        numbers_of(arguments[0], levels), _each(2.0, arguments[0], levels), levels
    ),
    "negative": _of_one(arithmetic.negative),
    "abs": _of_one(arithmetic.absolute),
    "floor": _rising(np.floor),
    "ceil": _rising(np.ceil),
    "trunc": _rounded("trunc", 0.0),
    "sign": _rising(np.sign),
    "sqrt": _rising(_root, lambda x: 0.5 / np.sqrt(x)),
    "exp": _rising(np.exp, np.exp),
    "cbrt": _rising(np.cbrt),
    "atan": _rising(np.arctan),
    "sinh": _rising(np.sinh),
    "tanh": _rising(np.tanh),
    "degrees": _rising(np.degrees),
    "radians": _rising(np.radians),
    "asin": _within(np.arcsin, -1.0, 1.0),
    "atanh": _within(np.arctanh, -1.0, 1.0),
    "acos": lambda arguments, levels: arithmetic.subtract(
        _each(math.pi / 2, arguments[0], levels),
        numbers_of(_within(np.arcsin, -1.0, 1.0)(arguments, levels), levels),
        levels,
    ),
    "sin": _wave(0.0),
    "cos": _wave(math.pi / 2),
    "tan": _tangent,
    "present": _present,
    "ln": _log(math.e),
    "log10": _log(10.0),
    "log2": _log(2.0),
    "round": _rounded("round", 0.5),
    "number": _of_one(lambda number: number),
    "text": _as_text,
    "coalesce": _coalesced,
    "or zero": _or_zero,
    "nullif": _nulled,
    "greatest": _extreme(True),
    "least": _extreme(False),
    "within": _kept_within,
    "meeting": _meeting,
    "upper": _texts(str.upper),
    "lower": _texts(str.lower),
    "trim": _texts(str.strip),
    "length": _texts(len),
    "concat": _texts(_joined, of_null=""),
    "||": _texts(_joined),
    "substring": _texts(_part_of_text),
    "left": _texts(lambda text, length: text[: int(length)]),
    "right": _texts(_end_of_text),
    "replace": _texts(lambda text, old, new: text.replace(old, new) if old else text),
    "position": _texts(lambda text, part: text.find(part) + 1),
    "like": _like(False),
    "ilike": _like(True),
    "and": lambda arguments, levels: logic.every([logic.truths(each) for each in arguments]),
    "or": lambda arguments, levels: logic.either([logic.truths(each) for each in arguments]),
    "not": lambda arguments, levels: logic.opposite(logic.truths(arguments[0])),
    "is null": lambda arguments, levels: logic.is_null(arguments[0]),
    **MOMENT_FUNCTIONS,
    **{sign: _comparison(sign) for sign in ("=", "!=", "<", "<=", ">", ">=")},
}
