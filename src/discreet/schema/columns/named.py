"""Columns without an order: categories with declared values, and booleans."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from discreet.errors import BadQuestion
from discreet.schema.columns.column import (
    OTHER_LABEL,
    CodeSelection,
    Column,
    Nulls,
    merged,
    text_mistakes,
)
from discreet.schema.columns.values import boolean_of, category_text_of, double_of


@dataclass(frozen=True, slots=True)
class CategoryColumn(Column):
    """One of the declared texts; anything else goes to `other`, or with `other=False` to no cell.

    An `undeclared` column lists no texts: to a release every one of them is `other`; a curator
    finds those that many people hold, for a price.
    """

    kind: ClassVar[str] = "category"
    is_ordered: ClassVar[bool] = False

    name: str
    values: tuple[str, ...]
    other: bool = True
    nulls: Nulls = "cell"
    undeclared: bool = False
    _codes: dict[str | float, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Column.__post_init__(self)
        codes: dict[str | float, int] = {}
        for code, value in enumerate(self.values):
            codes[value] = code
            number = double_of(value)
            if number is not None:
                codes.setdefault(number, code)
        object.__setattr__(self, "_codes", codes)

    def __hash__(self) -> int:
        return hash((self.name, len(self.values)))  # of which there may be many

    def mistakes(self) -> list[str]:
        found: list[str] = []
        if self.other not in (True, False):
            found.append(f"`other` is {self.other!r}; write true or false.")
        if not isinstance(self.values, tuple) or not all(isinstance(v, str) for v in self.values):
            return [*found, "`values` must be a list of texts."]
        if self.undeclared and (self.values or self.other is not True):
            found.append(
                "`undeclared = true` says that nobody can list the values; take `values` and `other` out."
            )
        if not self.values and not self.undeclared:
            found.append('`values` is empty; list what the column can hold, as in ["F", "M"].')
        for value, times in Counter(self.values).items():
            if times > 1:
                found.append(f"the value {value!r} is declared {times} times; keep one.")
            found += text_mistakes(value, f"the value {value!r}")
        if self.other is True and OTHER_LABEL in self.values:
            found.append(
                f"the value {OTHER_LABEL!r} is also what the cell for undeclared values is called; "
                "rename it, or write `other = false`."
            )
        return found

    @property
    def value_cells(self) -> int:
        return len(self.values)

    @property
    def has_other(self) -> bool:
        return self.other

    @property
    def keeps_outside(self) -> bool:
        return self.other

    def code_of(self, value: object) -> int | None:
        key = category_text_of(value)
        return self.null_cell if key is None else self._codes.get(key, self.other_cell)

    def declares(self, value: object) -> bool:
        """Whether a value is one of those that the schema lists."""
        return category_text_of(value) in self._codes

    def _value_label(self, code: int) -> str:
        return self.values[code]

    def _value_in(self, code: int, fraction: Fraction) -> object:
        return OTHER_LABEL if code == self.other_cell else self.values[code]

    def _compare(self, sign: str, literal: object) -> CodeSelection:
        if sign not in ("=", "!="):
            raise BadQuestion(
                f"{self._described}: categories have no order, so {sign} means nothing; use =, != or in."
            )
        key = category_text_of(literal)
        if key is None:
            shown = repr(self.values[0]) if self.values else "'a'"
            raise BadQuestion(f"{self._described}: compare it with a text such as {shown}.")
        code = self._codes.get(key)
        if code is not None:
            found = CodeSelection(((code, code + 1),), ((code, code + 1),))
        else:  # an undeclared value may be among the others, and no other cell holds it
            unknown = merged([(len(self.values), len(self.values) + self.other)])
            found = CodeSelection((), unknown)
        return found if sign == "=" else found.within(len(self.values) + self.other)


@dataclass(frozen=True, slots=True)
class BooleanColumn(Column):
    """False (cell 0) or true (cell 1); what reads as neither counts as null."""

    kind: ClassVar[str] = "boolean"
    is_ordered: ClassVar[bool] = False

    name: str
    nulls: Nulls = "cell"

    def mistakes(self) -> list[str]:
        return []

    @property
    def value_cells(self) -> int:
        return 2

    @property
    def value_bounds(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(1)

    def code_of(self, value: object) -> int | None:
        truth = boolean_of(value)
        return self.null_cell if truth is None else int(truth)

    def _value_label(self, code: int) -> str:
        return "true" if code else "false"

    def _value_in(self, code: int, fraction: Fraction) -> object:
        return bool(code)

    def _compare(self, sign: str, literal: object) -> CodeSelection:
        truth = boolean_of(literal)
        if sign not in ("=", "!=") or truth is None:
            raise BadQuestion(f"{self._described}: compare it with true or false, by = or !=.")
        code = int(truth) if sign == "=" else 1 - int(truth)
        return CodeSelection(((code, code + 1),), ((code, code + 1),))
