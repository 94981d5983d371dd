"""What a SELECT selects from, where that is rows of the table: the dataset, or a subquery without aggregates.

Such a subquery only filters and renames. It is folded into the SELECT around it, so that one question
asks the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.errors import BadQuestion, did_you_mean
from discreet.questions.spelling import no_such_table
from discreet.schema.columns.column import folded

MOST_WRITTEN_OUT = 10_000
"""Parts of an expression once the columns of subqueries are written out: a column that is used twice in each of thirty
subqueries would be written out a billion times."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of the dataset that meet some conditions, with columns that may be computed."""

    tables: tuple[str, ...]
    """The names that a column may stand behind."""
    conditions: tuple[Any, ...] = ()
    columns: tuple[tuple[str, Any], ...] | None = None
    """Names and expressions; `None` for the dataset's own columns."""

    def resolved(self, node: Any) -> Any:
        """An expression over the dataset's own columns."""
        from sqlglot import exp

        written_out = 0

        def replaced(each: Any) -> Any:
            nonlocal written_out
            if type(each) is not exp.Column:
                return each
            table = each.args.get("table")
            if table is not None and folded(table.name) not in self.tables:
                raise BadQuestion(no_such_table(table.name))
            if type(each.this) is not exp.Identifier:
                return each
            if self.columns is None:
                return exp.Column(this=each.this.copy())
            known = {folded(name): expression for name, expression in self.columns}
            found = known.get(folded(each.name))
            if found is None:
                names = [name for name, _ in self.columns]
                raise BadQuestion(
                    f"There is no column {each.name!r} in the subquery.{did_you_mean(each.name, names)}"
                )
            if type(found) is exp.Column:
                return found.copy()
            written_out += sum(1 for _ in found.walk())
            if written_out > MOST_WRITTEN_OUT:
                raise BadQuestion(
                    f"An expression has more than {MOST_WRITTEN_OUT:,} parts once the columns of subqueries are written "
                    "out in it. Use each of them less often."
                )
            return exp.Paren(this=found.copy())

        return node.transform(replaced)
