"""Which algorithms release a query class, the preferred one first: read from the families' registry."""

from __future__ import annotations

from discreet.errors import BadInput, did_you_mean
from discreet.families.shared.release.protocol import Algorithm
from discreet.queries.class_tables import algorithm_places, released_classes
from discreet.queries.classes import NamesTables, QueryClass
from discreet.queries.places import loaded
from discreet.queries.registry import merged
from discreet.schema import Schema, keeps_every_row

UNTOUCHED = "Nothing was read or charged."


def algorithms_of(class_name: str) -> tuple[Algorithm, ...]:
    """What releases a class, the preferred one first."""
    return tuple(map(_made, algorithm_places(class_name)))


def _made(place: str) -> Algorithm:
    name, _, flag = place.removesuffix(")").partition("(")
    made: Algorithm = loaded(name)(**({flag: True} if flag else {}))
    return made


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


NAMED = 3
"""So many columns are named."""


def left_out_note(query_class: QueryClass, schema: Schema) -> str:
    """A sentence about what was too large to be released with the rest; nothing where all is there."""
    return _said(query_class, schema)[0]


def remarks(query_class: QueryClass, schema: Schema, algorithm: str) -> list[str]:
    """All that is said of a class that was, or would be, released by an algorithm."""
    said = (*_said(query_class, schema), _of_different_rows(query_class, schema, algorithm))
    return [each for each in said if each]


def _of_different_rows(query_class: QueryClass, schema: Schema, algorithm: str) -> str:
    """A sentence about tables whose cells do not add up to smaller tables; nothing where they do."""
    if algorithm != "direct" or not isinstance(query_class, NamesTables):
        return ""
    tables = [each for each in query_class.sets(schema) if len(each) > 1]
    losing = [
        name
        for name in dict.fromkeys(name for each in tables for name in each)
        if not keeps_every_row(schema.column(name))
    ]
    if not losing:
        return ""
    named = ", ".join(losing[:NAMED]) + (" and more" if len(losing) > NAMED else "")
    return (
        f"Rows without a cell in {named} are in no count of such a table, so it cannot answer questions about fewer of its columns. For such questions, give nulls and other values cells in the schema, name the smaller tables too, or "
        f"say --algorithm '{query_class.text}=residuals'."
    )


def _said(query_class: QueryClass, schema: Schema) -> tuple[str, str]:
    place = merged("remarks").get(query_class.name)
    return ("", "") if place is None else loaded(place)(query_class, schema)
