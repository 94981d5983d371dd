"""How wrong a whole class of queries can be, all at once.

The queries of `marginals(...)` are the single cells of each of its tables; those of `parities(...)`
are the rows with an even number of ones less the others; those of `sums` and `means` are one
number each. With probability 1 - delta over the noise, no query of the class is off
by more than the bound: each gets delta divided by how many there are (union bound), and its own
exact noise law says how far it can then be.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.answering.asking import Asking
from discreet.answering.library import Library
from discreet.artifacts.release import ErrorClaim
from discreet.errors import BadInput, NotAnswerable
from discreet.families.numbers.queries.one_number import Means, Sums
from discreet.families.ranges.answer.box_usefulness import THEOREM as BOX_THEOREM
from discreet.families.ranges.answer.box_usefulness import box_bound
from discreet.families.ranges.answer.cell_ranges import THEOREM as CELL_THEOREM
from discreet.families.ranges.answer.cell_ranges import CellRangeSource
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.answer.usefulness import THEOREM as RANGE_THEOREM
from discreet.families.ranges.answer.usefulness import interval_bound
from discreet.families.ranges.queries.ranges import Ranges
from discreet.families.tables.answer.parities import parity_half_width
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.parities import Parities
from discreet.families.tables.queries.residuals import subsets
from discreet.privacy.exact import Exactable, exact
from discreet.queries.classes import QueryClass
from discreet.queries.measurable import Marginal
from discreet.questions.sql import Aggregate, Question

TRIVIAL = "counts lie between 0 and the number of rows, so that none is off by more"
THEOREM = "exact noise laws of the single queries, and the union bound over the class"


def usefulness(
    library: Library, asking: Asking, query_class: QueryClass, *, delta: Exactable
) -> ErrorClaim:
    """The simultaneous error bound of `query_class`, which fails with probability at most delta."""
    share = exact(delta, name="delta")
    if not 0 < share < 1:
        raise BadInput(f"delta is {float(share):g}; it must lie between 0 and 1.")
    query_class.check(library.schema)
    theorem = THEOREM
    match query_class:
        case Marginals():
            bound = _marginals_bound(library, query_class, share)
        case Means() | Sums():
            bound = _one_number_bound(library, asking, query_class, share)
        case Parities():
            bound = _parities_bound(library, query_class, share)
        case Ranges():
            bound, theorem = _ranges_bound(library, query_class, share)
        case _:
            raise NotAnswerable(f"No simultaneous bound is known for {query_class.text}.")
    rows = library.release.public_rows
    if rows is not None and isinstance(query_class, Marginals | Ranges) and bound > rows:
        bound, theorem = float(rows), TRIVIAL
    return ErrorClaim(
        query_class=query_class.text,
        bound=bound,
        confidence=float(1 - share),
        simultaneous=True,
        theorem=theorem,
    )


def _marginals_bound(library: Library, query_class: Marginals, delta: Fraction) -> float:
    sets = query_class.sets(library.schema)
    cells = sum(Marginal(columns).size(library.schema) for columns in sets)
    level = 1 - delta / max(1, cells)
    widths = [library.table(columns).first_cells(1, level)[0][1] for columns in sets]
    # Estimates are rounded to whole counts, which moves the error to a whole number nearby.
    return float(max((math.ceil(width - 1e-9) for width in widths), default=0))


def _parities_bound(library: Library, query_class: Parities, delta: Fraction) -> float:
    """Every parity up to the degree, the number of rows (that of nothing) included."""
    if query_class.splits is not None:
        many = 1 + len(query_class.split_sets())
    else:
        sets = query_class.sets(library.schema)
        many = len({each for columns in sets for each in subsets(columns)})
    return parity_half_width(library, query_class, 1 - delta / many)


def _ranges_bound(library: Library, query_class: Ranges, delta: Fraction) -> tuple[float, str]:
    columns = query_class.named(library.schema)
    found = [source for source in library.ranges if set(source.columns) == set(columns)]
    if not found:
        raise NotAnswerable(library.refusal(columns, also=f" or {query_class.text}"))
    if isinstance(found[0], RangeSource):
        return tree_bound(found[0], query_class.pieces, float(delta))
    bound = found[0].error_at(float(1 - delta))
    if bound == math.inf:
        raise NotAnswerable(
            f"The theorem of {query_class.text} does not reach this confidence: ask with a larger delta."
        )
    return query_class.pieces * bound, str(found[0].part.facts.get("theorem", ""))


def tree_bound(source: RangeSource, pieces: int, delta: float) -> tuple[float, str]:
    """The simultaneous bound of a released tree for unions of `pieces` ranges, and why it holds."""
    if isinstance(source, CellRangeSource):
        return pieces * source.bound(delta), CELL_THEOREM
    if len(source.columns) == 1:
        return pieces * interval_bound(source, delta), RANGE_THEOREM
    return pieces * box_bound(source, delta), BOX_THEOREM


def _one_number_bound(
    library: Library, asking: Asking, query_class: Means | Sums, delta: Fraction
) -> float:
    kind = "avg" if isinstance(query_class, Means) else "sum"
    column = library.schema.column(query_class.column).name
    aggregate = Aggregate("avg" if kind == "avg" else "sum", column, kind)
    question = Question((aggregate,))
    found = asking.answers([question], confidence=float(1 - delta))[0].only
    return max(found.upper - found.estimate, found.estimate - found.lower)
