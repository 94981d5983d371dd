"""Remarks about a class of tables: what it leaves out, and what costs it accuracy."""

from __future__ import annotations

from math import prod
from typing import cast

from discreet.families.tables.queries.marginals import MOST_OF_ALL, Marginals
from discreet.queries.classes import QueryClass
from discreet.schema import Schema

PEOPLE_A_CELL = 4
"""A column whose cells hold fewer people on average makes tables of mostly empty cells."""
NAMED = 3
"""So many of the tables are named."""


def remarks(query_class: QueryClass, schema: Schema) -> tuple[str, str]:
    """What is left out, and what costs accuracy; nothing where there is nothing to say."""
    asked = cast(Marginals, query_class)
    return _left_out(asked, schema), _too_fine(asked, schema)


def _left_out(query_class: Marginals, schema: Schema) -> str:
    """A sentence about tables with too many cells; nothing where all are there."""
    large = query_class.left_out(schema)
    if not large:
        return ""
    first = Marginals(columns=large[0]).text
    named = "; ".join(
        f"{' x '.join(each)} ({prod(schema.sizes(each)):,} cells)" for each in large[:NAMED]
    )
    more = f" and {len(large) - NAMED:,} more" if len(large) > NAMED else ""
    return (
        f"Left out, because a table of {query_class.text} has at most {MOST_OF_ALL:,} cells: {named}{more}. "
        f"Declare wider cells, or ask for one by name, as in {first}."
    )


def _too_fine(query_class: Marginals, schema: Schema) -> str:
    """A sentence about columns with so many cells that their tables hold little but noise."""
    sets = query_class.sets(schema)
    if schema.people is None or len(sets) < 2:
        return ""
    names = dict.fromkeys(name for each in sets if len(each) > 1 for name in each)
    fine = [name for name in names if schema.column(name).cells * PEOPLE_A_CELL > schema.people]
    if not fine:
        return ""
    named = ", ".join(f"{name} ({schema.column(name).cells:,} cells)" for name in fine[:NAMED])
    more = f" and {len(fine) - NAMED:,} more" if len(fine) > NAMED else ""
    return (
        f"{query_class.text} spends most of its budget on tables with columns that have about as many cells as there are people "
        f"or more: {named}{more}. Declare wider cells, or name only the tables that you need; intervals() of such a "
        f"column answers ranges, medians, sums and means."
    )
