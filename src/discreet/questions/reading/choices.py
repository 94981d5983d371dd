"""CASE, IF, COALESCE, NULLIF, GREATEST and LEAST: one of several values, all of one type."""

from __future__ import annotations

from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.expressions import Call, Constant, Expression, Type
from discreet.questions.reading.comparisons import ComparisonReader


class ChoiceReader(ComparisonReader):
    """Reads what is one of several values."""

    def _several(self, node: Any, name: str, depth: int) -> Expression:
        parts = [self.read(one, depth) for one in (node.this, *node.expressions)]
        alike, type_ = self._of_one_type(parts, f"{name}()")
        if name != "coalesce" and type_ == "boolean":
            raise BadQuestion("True and false have no order, so none of them is the greatest.")
        return Call(name, tuple(alike), type_)

    def _nullif(self, node: Any, depth: int) -> Expression:
        parts = self._alike([self.read(node.this, depth), self.read(node.expression, depth)])
        return Call("nullif", tuple(parts), parts[0].type)

    def _case(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "ifs", "default")
        subject = node.args.get("this")
        conditions: list[Expression] = []
        values: list[Expression] = []
        for each in node.args["ifs"]:
            if subject is None:
                conditions.append(self._truth(each.this, depth))
            else:
                sides = [self.read(subject, depth), self.read(each.this, depth)]
                conditions.append(self._compared("=", sides))
            values.append(self.read(each.args["true"], depth))
        default = node.args.get("default")
        values.append(self.read(default, depth) if default is not None else Constant(None, "null"))
        return self._chosen(conditions, values)

    def _if(self, node: Any, depth: int) -> Expression:
        self._plain(node, "this", "true", "false")
        otherwise = node.args.get("false")
        values = [
            self.read(node.args["true"], depth),
            self.read(otherwise, depth) if otherwise is not None else Constant(None, "null"),
        ]
        return self._chosen([self._truth(node.this, depth)], values)

    def _chosen(self, conditions: list[Expression], values: list[Expression]) -> Expression:
        alike, type_ = self._of_one_type(values, "CASE")
        pairs = [part for pair in zip(conditions, alike, strict=False) for part in pair]
        return Call("case", (*pairs, alike[-1]), type_)

    def _of_one_type(self, parts: list[Expression], what: str) -> tuple[list[Expression], Type]:
        alike = self._alike(parts)
        types = {part.type for part in alike} - {"null"}
        if types == {"integer", "number"}:
            return alike, "number"
        if types == {"date", "datetime"}:
            return alike, "datetime"
        if len(types) != 1:
            raise BadQuestion(f"{what} takes values of one type, at least one of them not NULL.")
        return alike, types.pop()
