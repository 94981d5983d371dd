"""What a class does not hold although its words may sound so: said in a plan and after a release."""

from __future__ import annotations

from math import prod

from discreet.families.tables.queries.marginals import MOST_OF_ALL, Marginals
from discreet.queries.classes import QueryClass
from discreet.schema import Schema

NAMED = 3
"""So many of the tables are named."""


def left_out_note(query_class: QueryClass, schema: Schema) -> str:
    """A sentence about tables with too many cells; nothing where all are there."""
    large = query_class.left_out(schema) if isinstance(query_class, Marginals) else ()
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
