"""What ordered columns share: a line of cells, clamped at the edges or not.

Values are compared in units: integers for `integer`, days since 1970-01-01 for `date`,
microseconds since 1970-01-01 UTC for `datetime`, doubles for `number`. In each, a cell is a closed
interval from its first unit to its last (doubles are discrete too), so one argument decides every
comparison: the cells before the one that holds the literal lie below it, those after lie above.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.errors import BadInput, BadQuestion
from discreet.schema.columns.column import CodeSelection, Column, Outside, merged


class OrderedColumn(Column):
    """A column whose cells lie on a line."""

    __slots__ = ()

    is_ordered = True
    outside: Outside
    example: str = ""

    @property
    def has_other(self) -> bool:
        return self.outside == "other"

    @property
    def keeps_outside(self) -> bool:
        return self.outside != "exclude"

    def extent(self, code: int) -> tuple[int | float, int | float]:
        """The first and the last unit of a value cell, both inside it."""
        raise NotImplementedError

    def code_of_unit(self, unit: int | float) -> int:
        """The value cell of a unit; below 0 or from `value_cells` on when it is outside the domain."""
        raise NotImplementedError

    def unit_of(self, value: object) -> int | float | None:
        """The unit that a value of the table counts as; `None` for null. Never raises."""
        raise NotImplementedError

    def code_of(self, value: object) -> int | None:
        unit = self.unit_of(value)
        if unit is None:
            return self.null_cell
        code = self.code_of_unit(unit)
        if 0 <= code < self.value_cells:
            return code
        if self.outside == "edge":
            return 0 if code < 0 else self.value_cells - 1
        return self.other_cell

    def bounds(self, code: int) -> tuple[object, object]:
        """The edges of a value cell: the lower one inside, the upper one outside (see the kind)."""
        raise NotImplementedError

    def _value_code(self, code: int) -> int:
        code = self._checked(code)
        if code >= self.value_cells:
            raise BadInput(f"{self._described}: the cell {self.label(code)} has no edges.")
        return code

    def literal_in_units(self, literal: object) -> int | float | Fraction:
        """The literal in units, exact; refuses one of another type."""
        raise NotImplementedError

    def _wrong(self) -> BadQuestion:
        return BadQuestion(f"{self._described}: compare it with {self.example}.")

    def _compare(self, sign: str, literal: object) -> CodeSelection:
        limit = self.literal_in_units(literal)
        cells = self.value_cells
        low, high = self.extent(0)[0], self.extent(cells - 1)[1]
        if sign in (">=", ">", "!="):
            opposite = {">=": "<", ">": "<=", "!=": "="}[sign]
            return self._below(opposite, limit, low, high).within(cells + self.has_other)
        return self._below(sign, limit, low, high)

    def _below(
        self, sign: str, limit: int | float | Fraction, low: int | float, high: int | float
    ) -> CodeSelection:
        """The cells where a value is `<`, `<=` or `=` the limit."""
        if sign == "=" and isinstance(limit, Fraction) and limit.denominator != 1:
            return CodeSelection((), ())  # no unit equals it, inside the domain or out
        cells = self.value_cells
        # Values outside the domain lie below low or above high, and share the `other` cell: it
        # may satisfy any of these but one that only holds inside, and never surely does.
        other = (cells, cells + self.has_other)
        if limit < low:
            return CodeSelection((), merged([other]))
        if limit > high:
            everything = (0, 0) if sign == "=" else (0, cells)
            return CodeSelection(merged([everything]), merged([everything, other]))
        code = self._holding(limit)
        first, last = self.extent(code)
        if sign == "=":
            here = ((code, code + 1),)
            return CodeSelection(here if first == last else (), here)
        surely = last < limit or (sign == "<=" and last == limit)
        maybe = first < limit or (sign == "<=" and first == limit)
        return CodeSelection(merged([(0, code + surely)]), merged([(0, code + maybe), other]))

    def _holding(self, limit: int | float | Fraction) -> int:
        """The cell that holds the largest unit not above the limit."""
        return self.code_of_unit(limit.__floor__() if isinstance(limit, Fraction) else limit)
