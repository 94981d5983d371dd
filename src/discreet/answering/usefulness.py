"""How wrong a whole class of queries can be, all at once.

With probability 1 - delta over the noise, no query of the class is off by more than the bound. How the
bound follows from the noise is the family's own: see `Family.usefulness`.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.answering.asking import Asking
from discreet.artifacts.release import ErrorClaim
from discreet.errors import BadInput, NotAnswerable
from discreet.families.shared.answer.library import Library
from discreet.privacy.exact import Exactable, exact
from discreet.queries.class_tables import counts_rows
from discreet.queries.classes import QueryClass
from discreet.queries.places import loaded
from discreet.queries.registry import families, merged

TRIVIAL = "counts lie between 0 and the number of rows, so that none is off by more"
MOVED = "; and how far the whole counts that answers are read from lie from the measured cells"
UNION = "exact noise laws of the single queries, and the union bound over the class"


def margin_of(gamma: Exactable) -> Fraction:
    """A distance from a plane, in the unit ball."""
    margin = exact(gamma, name="gamma")
    if not 0 < margin < 1:
        raise BadInput(f"gamma is {float(margin):g}; it must lie between 0 and 1.")
    return margin


def usefulness(
    library: Library,
    asking: Asking,
    query_class: QueryClass,
    *,
    delta: Exactable,
    gamma: Exactable | None = None,
) -> ErrorClaim:
    """The simultaneous error bound of `query_class`, which fails with probability at most delta.

    With `gamma`, of some query that is gamma-close to each. What is useful for the queries themselves is so for
    close ones, so other classes than those of `Family.margins` state the same bound.
    """
    share = exact(delta, name="delta")
    if not 0 < share < 1:
        raise BadInput(f"delta is {float(share):g}; it must lie between 0 and 1.")
    query_class.check(library.schema)
    place = merged("usefulness").get(query_class.name)
    if place is None:
        raise NotAnswerable(f"No simultaneous bound is known for {query_class.text}.")
    close: dict[str, Fraction] = {}
    if gamma is not None:
        margin = margin_of(gamma)
        if any(query_class.name in family.margins for family in families()):
            close["gamma"] = margin
    bound, theorem, *among = loaded(place)(library, asking, query_class, share, **close)
    rows = library.release.public_rows
    is_cut = counts_rows(query_class.name) and not any(
        part.is_answered_as_measured for part in library.release.parts
    )
    if rows is not None and is_cut and bound >= rows:
        bound, theorem = float(rows), TRIVIAL
    return ErrorClaim(
        query_class=query_class.text,
        bound=bound,
        confidence=float(1 - share),
        simultaneous=True,
        theorem=theorem,
        among="".join(among),
    )
