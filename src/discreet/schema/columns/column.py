"""`Column`: what every kind of column shares, and `CodeSelection`, what a condition selects.

A column's cells are numbered: first the value cells (in order, where the kind has one), then the
`other` cell if there is one, then the null cell, always last, if there is one. A row has at most
one cell per column. Nothing lists the cells: there may be more than 2^64 of them.
"""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from discreet.errors import BadInput, BadQuestion, BadSchema

Nulls = Literal["cell", "exclude"]
Outside = Literal["edge", "other", "exclude"]
Range = tuple[int, int]
OTHER_LABEL = "(other)"
NULL_LABEL = "null"
PLACEHOLDER = "FILL IN"
"""The placeholder that a drafted schema has where a person must fill in a value."""

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
OPERATORS = (*COMPARISONS, "in", "not in", "between", "is null", "is not null")


def merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Half-open ranges, sorted, without overlaps, gaps of nothing, or empty ones."""
    result: list[Range] = []
    for start, stop in sorted(pair for pair in ranges if pair[0] < pair[1]):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(stop, result[-1][1]))
        else:
            result.append((start, stop))
    return tuple(result)


def _overlap(left: Iterable[Range], right: tuple[Range, ...]) -> tuple[Range, ...]:
    return merged((max(a, c), min(b, d)) for a, b in left for c, d in right)


@dataclass(frozen=True, slots=True)
class CodeSelection:
    """The cells that a condition selects, as half-open code ranges.

    `inner` cells satisfy it whatever the row's value inside the cell; `outer` cells may.
    Where the two are equal, the condition follows the cells and costs no accuracy.

    Thread safe: it never changes.
    """

    inner: tuple[Range, ...]
    outer: tuple[Range, ...]

    @property
    def is_exact(self) -> bool:
        return self.inner == self.outer

    def either(self, other: CodeSelection) -> CodeSelection:
        """Cells of a condition joined with `or`."""
        return CodeSelection(merged(self.inner + other.inner), merged(self.outer + other.outer))

    def both(self, other: CodeSelection) -> CodeSelection:
        """Cells of a condition joined with `and`."""
        return CodeSelection(_overlap(self.inner, other.inner), _overlap(self.outer, other.outer))

    def within(self, stop: int) -> CodeSelection:
        """The cells below `stop` that do NOT satisfy the condition: inside and out change places."""

        def rest(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
            edges = [0, *(edge for pair in ranges for edge in pair), stop]
            return merged(zip(edges[::2], edges[1::2], strict=True))

        return CodeSelection(rest(self.outer), rest(self.inner))


class Column:
    """One declared column. Use the kinds: `CategoryColumn`, `IntegerColumn`, `NumberColumn`, ...

    Thread safe: it never changes.
    """

    __slots__ = ()

    kind: ClassVar[str]
    is_ordered: ClassVar[bool]
    name: str
    nulls: Nulls
    undeclared: bool = False
    """Whether nobody can list its values."""

    @property
    def value_cells(self) -> int:
        """How many cells hold values inside the declared domain."""
        raise NotImplementedError

    @property
    def has_other(self) -> bool:
        """Whether values outside the domain have a cell of their own."""
        return False

    @property
    def keeps_outside(self) -> bool:
        """Whether values outside the domain have a cell, of their own or at an edge."""
        return True

    @property
    def other_cell(self) -> int | None:
        return self.value_cells if self.has_other else None

    @property
    def null_cell(self) -> int | None:
        return self.value_cells + self.has_other if self.nulls == "cell" else None

    @property
    def cells(self) -> int:
        """All cells, with those for other values and for nulls."""
        return self.value_cells + self.has_other + (self.nulls == "cell")

    @property
    def value_bounds(self) -> tuple[Fraction, Fraction] | None:
        """The lowest and highest number that a row can add to a sum; `None` where sums make no sense."""
        return None

    def code_of(self, value: object) -> int | None:
        """The cell of a value, or `None` where the schema excludes it. Never raises."""
        raise NotImplementedError

    def label(self, code: int) -> str:
        """The cell for people to read."""
        code = self._checked(code)
        if code == self.null_cell:
            return NULL_LABEL
        return OTHER_LABEL if code == self.other_cell else self._value_label(code)

    def value_in(self, code: int, fraction: Fraction | float) -> object:
        """A value inside the cell, `fraction` (in [0, 1)) of the way through it; for synthetic rows."""
        code = self._checked(code)
        if not 0 <= fraction < 1:
            raise BadInput(f"A place inside a cell is at least 0 and below 1, not {fraction}.")
        if code == self.null_cell or (self.is_ordered and code == self.other_cell):
            return None  # outside of an order there is no value to draw
        return self._value_in(code, Fraction(fraction))

    def codes_where(self, operator: str, literal: object = None) -> CodeSelection:
        """The cells that satisfy `column operator literal`; see `OPERATORS`.

        The null cell satisfies no comparison, as in SQL. `in` and `not in` take several
        literals, `between` takes two.
        """
        sign = " ".join(operator.lower().split())
        sign = {"==": "=", "<>": "!="}.get(sign, sign)
        if sign in ("is null", "is not null"):
            rest = self.value_cells + self.has_other
            chosen = merged([(rest, self.cells) if sign == "is null" else (0, rest)])
            return CodeSelection(chosen, chosen)
        if sign in ("in", "not in"):
            each = [self._compare("=", one) for one in self._several(sign, literal)]
            found = CodeSelection(
                merged(pair for one in each for pair in one.inner),
                merged(pair for one in each for pair in one.outer),
            )
            return found if sign == "in" else found.within(self.value_cells + self.has_other)
        if sign == "between":
            pair = self._several(sign, literal)
            if len(pair) != 2:
                raise BadQuestion(f"{self._described}: between takes two values, not {len(pair)}.")
            return self._compare(">=", pair[0]).both(self._compare("<=", pair[1]))
        if sign not in COMPARISONS:
            raise BadQuestion(
                f"{self._described}: {operator!r} is not a comparison; use one of {', '.join(OPERATORS)}."
            )
        return self._compare(sign, literal)

    def _several(self, sign: str, literal: object) -> list[object]:
        if not isinstance(literal, (list, tuple, set, frozenset)):
            raise BadQuestion(f"{self._described}: {sign} takes a list of values.")
        return list(literal)

    @property
    def _described(self) -> str:
        return f"Column {self.name!r} ({self.kind})"

    def _checked(self, code: int) -> int:
        code = operator.index(code)
        if not 0 <= code < self.cells:
            raise BadInput(
                f"{self._described} has the cells 0 to {self.cells - 1}; there is no cell {code}."
            )
        return code

    def _value_label(self, code: int) -> str:
        raise NotImplementedError

    def _value_in(self, code: int, fraction: Fraction) -> object:
        raise NotImplementedError

    def _compare(self, sign: str, literal: object) -> CodeSelection:
        raise NotImplementedError

    def mistakes(self) -> list[str]:
        """What is wrong with the declaration, one sentence each, without the column's name."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        """Refuse a declaration that has mistakes."""
        found = name_mistakes(self.name)
        if self.nulls not in ("cell", "exclude"):
            found.append(f'`nulls` is {self.nulls!r}; write "cell" or "exclude".')
        found += self.mistakes()
        if found:
            raise BadSchema([f"Column {self.name!r}: {mistake}" for mistake in found])


def keeps_every_row(column: Column) -> bool:
    """Whether every row has a cell in `column`: nulls and outside values are not left out."""
    return column.nulls == "cell" and column.keeps_outside


def name_mistakes(name: object) -> list[str]:
    """Why a column name cannot be used in any engine; nearly every Unicode text can."""
    if not isinstance(name, str):
        return [f"its name is a {type(name).__name__}; a name is text."]
    if not name:
        return ["its name is empty; give it a name."]
    return text_mistakes(name, "its name")


def text_mistakes(text: str, what: str) -> list[str]:
    """Why a text cannot be stored: NUL ends a string in many engines, lone surrogates are not Unicode."""
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        return [f"{what} holds a NUL or half a surrogate pair; take it out."]
    if text == PLACEHOLDER:
        return [f"{what} is {PLACEHOLDER}, which marks a blank; write something else."]
    return []


def folded(name: str) -> str:
    """Names that fold alike are one name to a SQL engine."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
