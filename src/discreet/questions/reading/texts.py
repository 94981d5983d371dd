"""Functions of texts: trim, substr, concat, and those that are worked out on declared values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.dialects.statement import unrolled
from discreet.questions.expressions import Call, Constant, Expression
from discreet.questions.literals import folded_constant
from discreet.questions.reading.walk import TreeReader
from discreet.questions.text_functions import of_declared_values

MOST_JOINED, LEAST_JOINED = 1 << 13, 64
"""Letters of a joined text, shared out among its parts, and of each part at least: without an end, a thousand
copies of one person's long text would fill an engine's memory."""


class TextReader(TreeReader):
    """Reads texts."""

    def _trim(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "position", "expression")
        value = self.read(node.this, depth)
        position = str(node.args.get("position") or "BOTH").upper()
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(position, "trim")
        if node.args.get("expression") is not None:
            return self._of_declared(name, value, [self.read(node.expression, depth)])
        self._check(name, value, ("text",))
        return Call(name, (value,), "text")

    def _substring(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "start", "length")
        value = self.read(node.this, depth)
        start = node.args.get("start")
        length = node.args.get("length")
        return self._cut_text(
            value,
            self.read(start, depth) if start is not None else Constant(1, "integer"),
            self.read(length, depth) if length is not None else Constant(2**31 - 1, "integer"),
        )

    def _left(self, node: Any, depth: int) -> Expression:
        value, length = self.read(node.this, depth), self.read(node.expression, depth)
        if not _is_from(length, 0):  # letters are left out at the end, or as many as the text says
            return self._of_declared("left", value, [length])
        return self._cut_text(value, Constant(1, "integer"), length)

    def _declared(self, name: str, node: Any, depth: int) -> Expression:
        """A function that is worked out on declared values."""
        places = ("expression", "substr", "delimiter", "part_index", "replacement")
        self._plain(node, "this", *places)
        more = [self.read(node.args[each], depth) for each in places if node.args.get(each)]
        return self._of_declared(name, self.read(node.this, depth), more)

    def _padded(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "expression", "fill_pattern", "is_left")
        fill = node.args.get("fill_pattern")
        more = [
            self.read(node.expression, depth),
            Constant(" ", "text") if fill is None else self.read(fill, depth),
        ]
        name = "lpad" if node.args.get("is_left") else "rpad"
        return self._of_declared(name, self.read(node.this, depth), more)

    def _of_declared(self, name: str, value: Expression, more: list[Expression]) -> Expression:
        made = of_declared_values(name, value, more, self.schema)
        if isinstance(made, Call):  # every declared value is listed in it
            self.terms += sum(len(getattr(each, "arguments", ())) for each in made.arguments)
        return made

    def _cut_text(self, value: Expression, start: Expression, length: Expression) -> Expression:
        self._check("substr", value, ("text",))
        if _is_from(start, 1) and _is_from(length, 0):
            return Call("substr", (value, start, length), "text")
        return self._of_declared("substr", value, [start, length])

    def _concat(self, node: Any, depth: int) -> Expression:
        """CONCAT leaves nulls out."""
        self._plain(node, "expressions", "safe", "coalesce")
        parts = [self.read(one, depth) for one in node.expressions]
        empty = Constant("", "text")
        filled = [Call("coalesce", (self._as_text(one), empty), "text") for one in parts]
        return _concatenated([folded_constant(one) for one in filled])

    def _concat_with(self, node: Any, depth: int) -> Expression:
        """CONCAT_WS(separator, a, b, ...): nulls are left out, with their separator."""
        self._plain(node, "expressions", "safe", "coalesce")
        between, *parts = [self.read(one, depth) for one in node.expressions]
        if not isinstance(between, Constant) or between.type != "text" or not parts:
            raise BadQuestion("concat_ws() takes a separator in quotes, and then what it joins.")
        empty = Constant("", "text")
        led = [
            Call("coalesce", (_concatenated([between, self._as_text(one)]), empty), "text")
            for one in parts
        ]
        whole = _concatenated([folded_constant(one) for one in led])
        start = Constant(len(str(between.value)) + 1, "integer")
        return self._cut_text(whole, start, Constant(2**31 - 1, "integer"))

    def _joined(self, node: Any, depth: int) -> Expression:
        return _concatenated([self._as_text(self.read(one, depth)) for one in unrolled(node)])

    def _as_text(self, value: Expression) -> Expression:
        if value.type in ("integer", "boolean", "date"):
            return folded_constant(Call("cast", (value,), "text"))
        self._check("concat", value, ("text",))
        return value


def _is_from(part: Expression, least: int) -> bool:
    """Whether it is a whole number that every engine cuts texts by alike."""
    value = part.value if isinstance(part, Constant) else None
    return isinstance(value, int) and least <= value < 2**31


def _concatenated(parts: Sequence[Expression]) -> Expression:
    """The texts as one: of each as many letters as leave room for the others."""
    ends = Constant(1, "integer"), Constant(longest_part(len(parts)), "integer")
    cut = (folded_constant(Call("substr", (part, *ends), "text")) for part in parts)
    return Call("concat", tuple(cut), "text")


def longest_part(parts: int) -> int:
    """How many letters are taken of each text, if this many are joined."""
    return max(LEAST_JOINED, MOST_JOINED // parts)
