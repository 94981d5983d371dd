"""Arithmetic and functions of numbers: round, trunc, roots, logarithms, powers, width_bucket."""

from __future__ import annotations

import math
from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.cells.halving import reach_of_cells
from discreet.questions.cells.reach import Reach, one
from discreet.questions.cells.reaching.expressions import reach_of
from discreet.questions.conditions import anywhere
from discreet.questions.dialects.statement import bare
from discreet.questions.expressions import (
    LARGEST_INTEGER,
    NUMERIC,
    TEMPORAL,
    Call,
    Constant,
    Expression,
    columns_of,
)
from discreet.questions.literals import described, folded_constant
from discreet.questions.reading.comparisons import ComparisonReader
from discreet.questions.reading.moments import MomentReader
from discreet.schema import CategoryColumn, OrderedColumn

ARITHMETIC = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%"}
"""By the parser's names of them."""
POWERS = range(1, 9)
"""Whole powers that are written out as products."""
LONGEST_ROUNDING = 15
"""Digits after the point that `round` keeps, or before it."""


def _quotient_of(left: Constant, right: Constant) -> Constant:
    if not isinstance(left.value, int) or not isinstance(right.value, int) or right.value == 0:
        return Constant(None, "null")
    size = abs(left.value) // abs(right.value)
    value = size if (left.value < 0) == (right.value < 0) else -size
    return Constant(value if value <= LARGEST_INTEGER else None, "integer")


class NumberReader(ComparisonReader, MomentReader):
    """Reads numbers; an INTERVAL is moved by + and - too."""

    def _arithmetic(self, node: Any, depth: int) -> Expression:
        name = ARITHMETIC[type(node).__name__]
        if type(bare(node.expression)) is self.exp.Interval and name in ("+", "-"):
            return self._moved(self.read(node.this, depth), bare(node.expression), name)
        left, right = self.read(node.this, depth), self.read(node.expression, depth)
        types = left.type, right.type
        if name in ("+", "-") and types == ("date", "integer"):
            return Call(name, (left, right), "date")
        if name == "-" and types == ("date", "date"):
            return Call(name, (left, right), "integer")
        for part in (left, right):
            if part.type not in (*NUMERIC, "null"):
                days = " The days between two are datediff('day', first, last)."
                hint = days if name == "-" and part.type in TEMPORAL else ""
                raise BadQuestion(f"{name} takes numbers, and {described(part)} is not one.{hint}")
        whole = types == ("integer", "integer") and name != "/"
        return Call(name, (left, right), "integer" if whole else "number")

    def _round(self, node: Any, depth: int) -> Expression:
        value = self.read(node.this, depth)
        self._check("round", value, NUMERIC)
        digits = self._digits("round", node, depth)
        if digits is None:
            return Call("round", (value,), value.type)
        if value.type == "integer":
            if digits >= 0:
                return value
            value = Call("cast", (value,), "number")
        return Call("round", (value, Constant(digits, "integer")), "number")

    def _truncate(self, node: Any, depth: int) -> Expression:
        """trunc(x) and trunc(x, d): the digits after the d-th are cut off, so that a number comes nearer to 0."""
        before = self.terms
        value = self.read(node.this, depth)
        self.terms += 2 * (self.terms - before)  # it is written out so often
        self._check("trunc", value, NUMERIC)
        digits = self._digits("trunc", node, depth) or 0
        if value.type == "integer" and digits >= 0:
            return value
        # Powers of 10 are whole numbers, so that none of them is rounded.
        scale, (scaled, back) = (
            Constant(10 ** abs(digits), "integer"),
            "*/" if digits >= 0 else "/*",
        )
        moved = Call(scaled, (value, scale), "number") if digits else value
        below = self._compared("<", [value, Constant(0, "integer")])
        up, down = Call("ceil", (moved,), "number"), Call("floor", (moved,), "number")
        whole = Call("case", (below, up, down), "number")
        return Call(back, (whole, scale), "number") if digits else whole

    def _sign(self, node: Any, depth: int) -> Expression:
        """-1, 0 or 1; null of a null."""
        before = self.terms
        value = self.read(node.this, depth)
        self.terms += 2 * (self.terms - before)  # it is written out so often
        self._check("sign", value, NUMERIC)
        zero = Constant(0, "integer")
        signs = {">": 1, "<": -1, "=": 0}
        parts = [
            part
            for name, sign in signs.items()
            for part in (self._compared(name, [value, zero]), Constant(sign, "integer"))
        ]
        return Call("case", (*parts, Constant(None, "null")), "integer")

    def _whole_quotient(self, node: Any, depth: int) -> Expression:
        """a // b and a DIV b of whole numbers: the quotient without its fraction."""
        before = self.terms
        left, right = self.read(node.this, depth), self.read(node.expression, depth)
        self.terms += 2 * (self.terms - before)  # it is written out so often
        for part in (left, right):
            if part.type not in ("integer", "null"):
                raise BadQuestion(
                    f"// and DIV divide whole numbers, and {described(part)} is not one. Write floor(a / b)."
                )
        if isinstance(left, Constant) and isinstance(right, Constant):
            return _quotient_of(left, right)
        self._check_exact(left)
        quotient = Call("/", (left, right), "number")
        below = self._compared("<", [quotient, Constant(0, "integer")])
        up, down = Call("ceil", (quotient,), "number"), Call("floor", (quotient,), "number")
        whole = folded_constant(Call("case", (below, up, down), "number"))
        return Call("cast", (whole,), "integer")

    def _check_exact(self, dividend: Expression) -> None:
        """Numbers are divided in doubles, which hold whole numbers up to 2^53."""
        where, texts = anywhere(dividend), list[dict[str, Reach]]()
        for column in map(self.schema.column, columns_of(dividend)):
            if isinstance(column, OrderedColumn):
                where[column.name] = reach_of_cells(column, 0, column.value_cells)
            elif isinstance(column, CategoryColumn):
                texts = [{column.name: one(value)} for value in column.values]
        found = [reach_of(dividend, where | each) for each in texts or [{}]]
        most = max(abs(end or 0) for each in found for end in (each.low, each.high))
        if most >= 2**53:
            raise BadQuestion(
                f"// and DIV divide whole numbers below 2^53 = {2**53:,} exactly, and {described(dividend)} may be "
                f"as large as {int(most):,}. Write floor(a / b), which rounds."
            )

    def _digits(self, name: str, node: Any, depth: int) -> int | None:
        """How many digits after the point are kept; none are said in round(x)."""
        self._plain(node, "this", "decimals")
        if node.args.get("decimals") is None:
            return None
        digits = self.read(node.args["decimals"], depth)
        if (
            not isinstance(digits, Constant)
            or not isinstance(digits.value, int)
            or abs(digits.value) > LONGEST_ROUNDING
        ):
            raise BadQuestion(f"{name}(x, d) takes a whole number d from -15 to 15.")
        return digits.value

    def _real(self, name: str, inside: Any, depth: int) -> Expression:
        value = self.read(inside, depth)
        self._check(name, value, NUMERIC)
        return folded_constant(Call(name, (value,), "number"))

    def _logarithm(self, node: Any, depth: int) -> Expression:
        """log(x) is to base 10, as in most databases; log(b, x) to base b."""
        base: Expression = Constant(10, "integer")
        inside = node.this
        if node.expression is not None:
            base, inside = self.read(node.this, depth), node.expression
        if (
            not isinstance(base, Constant)
            or base.type not in NUMERIC
            or float(base.value or 0) <= 1
        ):
            raise BadQuestion("log(base, x) takes a base above 1, which is a number.")
        divisor = Constant(math.log(float(base.value or 0)), "number")
        return Call("/", (self._real("ln", inside, depth), divisor), "number")

    def _power(self, node: Any, depth: int) -> Expression:
        """A whole power is a product; a power of one half is a root."""
        raised, before = self.read(node.expression, depth), self.terms
        value = self.read(node.this, depth)
        self._check("power", value, NUMERIC)
        known = raised.value if isinstance(raised, Constant) else None
        if known == 0.5:
            return self._real("sqrt", node.this, depth)
        if isinstance(known, bool) or not isinstance(known, (int, float)) or known not in POWERS:
            raise BadQuestion(
                f"{self.clause} takes power(x, p) with p of 0.5 or a whole number from 1 to {POWERS[-1]}."
            )
        self.terms += (int(known) - 1) * (self.terms - before)  # it is written out so often
        made = value
        for _ in range(int(known) - 1):
            made = Call("*", (made, value), value.type)
        return made

    def _bucket(self, node: Any, depth: int) -> Expression:
        """width_bucket(x, low, high, n): 1 to n, 0 below `low`, and n + 1 from `high` on."""
        self._plain(node, "this", "min_value", "max_value", "num_buckets")
        given = [node.args.get(each) for each in ("min_value", "max_value", "num_buckets")]
        if None in given:
            raise BadQuestion("width_bucket(x, low, high, n) takes four values.")
        parts = [self.read(each, depth) for each in given]
        before = self.terms
        value = self.read(node.this, depth)
        self.terms += 3 * (self.terms - before)  # it is written out so often
        self._check("width_bucket", value, NUMERIC)
        low, high, many = parts
        ends = [_number_in(each) for each in parts]
        if not (
            ends[0] < ends[1] and ends[2] >= 1 and isinstance(getattr(many, "value", 0.5), int)
        ):
            raise BadQuestion(
                "width_bucket(x, low, high, n) takes two numbers, low below high, and a whole number n."
            )
        width = Constant((ends[1] - ends[0]) / ends[2], "number")
        steps = Call("/", (Call("-", (value, low), "number"), width), "number")
        place = Call("cast", (Call("floor", (steps,), "number"),), "integer")
        one, beyond = Constant(1, "integer"), Constant(int(ends[2]) + 1, "integer")
        inside = Call("least", (Call("+", (place, one), "integer"), many), "integer")
        below, above = (
            self._compared("<", [value, low]),
            self._compared(">=", [value, high]),
        )
        unknown = Call("is null", (value,), "boolean")
        nothing = Constant(None, "null")
        return Call(
            "case",
            (unknown, nothing, below, Constant(0, "integer"), above, beyond, inside),
            "integer",
        )


def _number_in(part: Expression) -> float:
    """The number that a part is; NaN, which is neither below nor above any, of any other part."""
    if isinstance(part, Constant) and part.type in NUMERIC and isinstance(part.value, (int, float)):
        return float(part.value)
    return math.nan
