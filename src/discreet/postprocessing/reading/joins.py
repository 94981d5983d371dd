"""JOIN between results: groups of one beside the groups of another, by their keys.

What is joined is published already, so a join reads no row and costs nothing. The dataset itself is not joined: a row
that meets several others would count several times.
"""

from __future__ import annotations

from typing import Any

from discreet.errors import BadQuestion
from discreet.postprocessing.plan import Expression, Field, Join, OneRow, Table
from discreet.postprocessing.reading.row_selects import RowSelectReader
from discreet.postprocessing.reading.scope import Columns, Rows, Scope
from discreet.questions.dialects.statement import bare
from discreet.schema.columns.column import folded

Source = tuple[Table | Rows | OneRow, Columns]

NOT_OF_ROWS = (
    "JOIN is answered between results, not with the dataset's rows: a question is about one dataset. Put each side into a "
    "subquery with GROUP BY, or, to join tables, declare a view over them in the schema."
)
ON_IS = (
    "ON takes equalities between the two sides, joined by AND, such as a.region = b.region. Put other conditions "
    "into WHERE."
)


class JoinReader(RowSelectReader):
    """Reads what stands in FROM."""

    def _one_source(self, table: Any, known: dict[str, Any]) -> Source:
        """One table of FROM, and what it shows."""
        raise NotImplementedError

    def _source(self, select: Any, known: dict[str, Any]) -> Source:
        source = select.args.get("from_")
        if source is None:
            return OneRow(), Columns()
        found = self._one_source(source.this, known)
        for each in select.args.get("joins") or ():
            found = self._joined(found, each, known)
        return found

    def _joined(self, left: Source, join: Any, known: dict[str, Any]) -> Source:
        method, kind, side = (
            str(join.args.get(each) or "").upper() for each in ("method", "kind", "side")
        )
        if method or kind not in ("", "INNER", "OUTER", "CROSS"):
            raise BadQuestion(
                f"{' '.join(filter(None, (method, side, kind)))} JOIN is not answered; write JOIN with ON or USING."
            )
        right = self._one_source(join.this, known)
        (first, ours), (second, theirs) = left, right
        if isinstance(first, Rows | OneRow) or isinstance(second, Rows | OneRow):
            raise BadQuestion(NOT_OF_ROWS)
        if not all((*ours.tables, *theirs.tables)):
            raise BadQuestion(
                "A subquery of a JOIN needs a name: FROM (SELECT ...) AS a JOIN (SELECT ...) AS b ON ..."
            )
        keys: list[tuple[Expression, Expression]] = []
        nulls, merged = [], []
        for each in join.args.get("using") or ():
            name = folded(each.name)
            pair = [side.places(name) for side in (ours, theirs)]
            if any(len(places) != 1 for places in pair):
                raise BadQuestion(f"USING ({each.name}): both sides need one column of that name.")
            merged.append((pair[0][0], pair[1][0]))
            keys.append((Field(pair[0][0]), Field(pair[1][0])))
            nulls.append(False)
        for each in self._terms(join.args.get("on")):
            keys.append(self._key_of(each, ours, theirs))
            nulls.append(type(each) is self.exp.NullSafeEQ)
        if not keys and side:
            raise BadQuestion(f"{side} JOIN needs ON or USING.")
        made = Join(
            left=first,
            right=second,
            keys=tuple(keys),
            nulls_meet=tuple(nulls),
            merged=tuple(merged),
            keeps_left=side in ("LEFT", "FULL"),
            keeps_right=side in ("RIGHT", "FULL"),
        )
        return made, ours.beside(theirs, [place for _, place in merged])

    def _terms(self, node: Any) -> list[Any]:
        """What AND joins; nothing of ON TRUE."""
        if node is None:
            return []
        node = bare(node)
        if type(node) is self.exp.And:
            return [*self._terms(node.this), *self._terms(node.expression)]
        return [] if type(node) is self.exp.Boolean and node.this else [node]

    def _key_of(self, node: Any, ours: Columns, theirs: Columns) -> tuple[Expression, Expression]:
        if type(node) not in (self.exp.EQ, self.exp.NullSafeEQ):
            raise BadQuestion(ON_IS)
        sides = [
            [self._belongs(each, columns) for columns in (ours, theirs)]
            for each in (node.this, node.expression)
        ]
        for one, other in ((0, 1), (1, 0)):
            if sides[one][0] and sides[other][1]:
                pair = (node.this, node.expression)
                mine, others = (
                    Scope({}, {}, fields=each, is_grouped=False) for each in (ours, theirs)
                )
                return self._value(pair[one], mine), self._value(pair[other], others)
        raise BadQuestion(ON_IS)

    def _belongs(self, node: Any, columns: Columns) -> bool:
        """Whether all columns of an expression are among these."""
        return all(
            columns.places(folded(each.name), folded(each.table) if each.table else None)
            for each in node.find_all(self.exp.Column)
        )
