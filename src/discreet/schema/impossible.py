"""Combinations of values that no row can have, declared: structural zeros of a contingency table.

    [[impossible]]
    age = { "<" = 15 }
    status = { in = ["married", "widowed"] }

A declaration holds where all of its tests do. It is a public fact like the rest of the schema: the
cells that it names are empty by declaration, whatever the rows say. Tests follow the edges of cells,
so that a cell is impossible or it is not; a null passes no test but `is null`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from discreet.errors import BadQuestion, BadSchema
from discreet.schema.columns.column import OPERATORS, Column, Range, merged
from discreet.schema.columns.named import CategoryColumn

Scalar = str | bool | int | float | date
MOST_DECLARATIONS = 1000
_ALONE = ("is null", "is not null")
_LISTS = ("in", "not in", "between")


@dataclass(frozen=True, slots=True)
class CellTest:
    """`column operator literal`: a list for `in`, `not in` and `between`, nothing for `is null`.

    Thread safe: it never changes.
    """

    column: str
    operator: str
    literal: Scalar | tuple[Scalar, ...] | None = None

    @property
    def text(self) -> str:
        name = self.column
        if self.literal is None:
            return f"{name} {self.operator}"
        if isinstance(self.literal, tuple):
            return f"{name} {self.operator} ({', '.join(map(_shown, self.literal))})"
        return f"{name} {self.operator} {_shown(self.literal)}"


@dataclass(frozen=True, slots=True)
class Impossible:
    """No row passes all of these tests. Thread safe: it never changes."""

    tests: tuple[CellTest, ...]

    def __post_init__(self) -> None:
        order = list(dict.fromkeys(test.column for test in self.tests))
        kept = sorted(self.tests, key=lambda test: order.index(test.column))
        object.__setattr__(self, "tests", tuple(kept))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(test.column for test in self.tests))

    @property
    def text(self) -> str:
        return " and ".join(test.text for test in self.tests)

    def cells(self, columns: Mapping[str, Column]) -> dict[str, tuple[Range, ...]]:
        """The cells of each column that pass its tests, as half-open ranges of codes."""
        found: dict[str, tuple[Range, ...]] = {}
        for test in self.tests:
            column = columns[test.column]
            literal = list(test.literal) if isinstance(test.literal, tuple) else test.literal
            own = column.codes_where(test.operator, literal).inner
            held = found.get(test.column, ((0, column.cells),))
            found[test.column] = merged(
                (max(a, c), min(b, d)) for a, b in held for c, d in own if max(a, c) < min(b, d)
            )
        return found


def read_impossible(value: Any, mistakes: list[str]) -> list[Impossible]:
    """The declarations of a TOML array of tables; what is wrong goes to `mistakes`."""
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        mistakes.append(
            "`impossible` is not a list of tables; write [[impossible]], then a line a column, as in "
            '`age = { "<" = 15 }`.'
        )
        return []
    if len(value) > MOST_DECLARATIONS:
        mistakes.append(f"There are more than {MOST_DECLARATIONS} tables [[impossible]].")
        return []
    found: list[Impossible] = []
    for place, table in enumerate(value):
        where = f"[[impossible]] {place + 1}"
        tests = [
            test for name, tested in table.items() for test in _tests(name, tested, where, mistakes)
        ]
        if not table:
            mistakes.append(
                f'{where}: it names no column; write a line such as `age = {{ "<" = 15 }}`.'
            )
        elif tests:
            found.append(Impossible(tuple(tests)))
    return found


def _tests(name: str, tested: Any, where: str, mistakes: list[str]) -> list[CellTest]:
    """`{ operator = literal, ... }`; a literal alone means `=`, and a list `in`."""
    if not isinstance(tested, dict):
        tested = {"in" if isinstance(tested, list) else "=": tested}
    found: list[CellTest] = []
    for operator, literal in tested.items():
        sign = " ".join(operator.lower().split())
        sign = {"==": "=", "<>": "!="}.get(sign, sign)
        if sign not in OPERATORS:
            mistakes.append(
                f"{where}, column {name[:80]!r}: {operator[:80]!r} is not a comparison; use one of "
                f"{', '.join(OPERATORS)}."
            )
            continue
        parts = literal if isinstance(literal, list) else [literal]
        wanted = "a list" if sign in _LISTS else "true" if sign in _ALONE else "one value"
        fits = {
            "a list": isinstance(literal, list),
            "true": literal is True,
            "one value": not isinstance(literal, list),
        }[wanted]
        if not fits or not parts or not all(isinstance(part, Scalar) for part in parts):
            mistakes.append(f"{where}, column {name[:80]!r}: `{sign}` takes {wanted}.")
            continue
        kept = None if sign in _ALONE else tuple(parts) if sign in _LISTS else literal
        found.append(CellTest(name, sign, kept))
    return found


def impossible_mistakes(
    declared: Sequence[Impossible], columns: Mapping[str, Column], unknown: set[str]
) -> list[str]:
    """Columns that are not there, literals that do not fit, cells that a test would cut.

    `unknown` are columns whose own declaration is wrong: nothing is said of them twice.
    """
    found: list[str] = []
    for place, rule in enumerate(declared):
        where = f"[[impossible]] {place + 1}"
        if len(rule.columns) < 2:
            found.append(
                f"{where}: it is about fewer than two columns; narrow a column's values or range instead."
            )
        if len({(test.column, test.operator) for test in rule.tests}) < len(rule.tests):
            found.append(
                f"{where}: it makes one comparison of a column twice; keep the stricter one."
            )
        if any(test.column in unknown for test in rule.tests):
            continue
        wrong = [mistake for test in rule.tests for mistake in _test_mistakes(test, columns)]
        if not wrong and rule.tests and _takes_everything(rule, columns):
            wrong = [f"{rule.text} rules every row out."]
        found += [f"{where}: {mistake}" for mistake in wrong]
    return found


def _test_mistakes(test: CellTest, columns: Mapping[str, Column]) -> list[str]:
    column = columns.get(test.column)
    if column is None:
        return [f"there is no column {test.column[:80]!r}."]
    literal = list(test.literal) if isinstance(test.literal, tuple) else test.literal
    if isinstance(column, CategoryColumn) and literal is not None and test.operator != "between":
        listed = literal if isinstance(literal, list) else [literal]
        strange = [each for each in listed if str(each) not in column.values]
        if strange and test.operator in ("=", "!=", "in", "not in"):
            return [
                f"{_shown(strange[0])[:80]} is none of the values that column {column.name!r} declares."
            ]
    try:
        chosen = column.codes_where(test.operator, literal)
    except (BadQuestion, BadSchema) as error:
        return [str(error)]
    values = ((0, column.value_cells),)
    inner, outer = (
        merged((max(a, c), min(b, d)) for a, b in each for c, d in values)
        for each in (chosen.inner, chosen.outer)
    )
    if inner != outer:
        ends = dict(inner)
        starts = (ends.get(start, start) for start, _ in outer)
        cut = next(at for at, (_, stop) in zip(starts, outer, strict=True) if at < stop)
        return [
            f"{test.text} cuts through a cell of column {column.name!r}, such as {column.label(cut)}; "
            "a declaration follows the edges of cells."
        ]
    return []


def _takes_everything(rule: Impossible, columns: Mapping[str, Column]) -> bool:
    cells = rule.cells(columns)
    return all(own == ((0, columns[name].cells),) for name, own in cells.items())


def _shown(literal: Scalar) -> str:
    if isinstance(literal, bool):
        return "true" if literal else "false"
    return repr(literal) if isinstance(literal, str) else str(literal)
