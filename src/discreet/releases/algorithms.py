"""Which algorithms release a query class, the preferred one first: read from the families' registry."""

from __future__ import annotations

from discreet.errors import BadInput, did_you_mean
from discreet.families.shared.release.protocol import Algorithm, ClassError, Prepared
from discreet.queries.class_tables import algorithm_places, released_classes
from discreet.queries.classes import QueryClass
from discreet.queries.places import loaded
from discreet.schema import Schema

UNTOUCHED = "Nothing was read or charged."


def algorithms_of(class_name: str) -> tuple[Algorithm, ...]:
    """What releases a class, the preferred one first."""
    return tuple(map(_made, algorithm_places(class_name)))


def _made(place: str) -> Algorithm:
    name, _, flag = place.removesuffix(")").partition("(")
    made: Algorithm = loaded(name)(**({flag: True} if flag else {}))
    return made


def all_algorithms() -> dict[str, tuple[Algorithm, ...]]:
    """The algorithms of every class."""
    return {name: algorithms_of(name) for name in released_classes()}


def algorithm_for(
    query_class: QueryClass, schema: Schema, *, named: str | None = None
) -> Algorithm:
    """The first algorithm of the table that serves the class, or the one named, if it does."""
    options = algorithms_of(query_class.name)
    if not options:
        raise BadInput(
            f"No algorithm releases {query_class.text}; there are some for "
            f"{', '.join(sorted(released_classes()))}. Nothing was read or charged."
        )
    if named is not None:
        chosen = [each for each in options if each.name == named]
        if not chosen:
            names = [each.name for each in options]
            raise BadInput(
                f"{query_class.text} has no algorithm {named!r}.{did_you_mean(named, names)} Choose among "
                f"{', '.join(names)}. Nothing was read or charged."
            )
        options = tuple(chosen)
    refusals: list[str] = []
    for each in options:
        refusal = each.refusal(query_class, schema)
        if refusal is None:
            return each
        refusals.append(refusal)
    # One that chooses among the others knows why none of them serves.
    reason = refusals[0] if getattr(options[0], "chooses", False) else refusals[-1]
    refusal = reason.removesuffix(UNTOUCHED).strip()
    raise BadInput(f"{query_class.text}: {refusal} {UNTOUCHED}")


__all__ = [
    "Algorithm",
    "ClassError",
    "Prepared",
    "algorithm_for",
    "algorithms_of",
    "all_algorithms",
]
