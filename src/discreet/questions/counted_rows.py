"""The note about rows that are left out because of `max_rows` or `max_groups`."""

from __future__ import annotations

from discreet.schema import Schema


def counted_rows_note(schema: Schema, *, in_groups: bool = False) -> tuple[str, ...]:
    """The sentence, where a person may have several rows; `in_groups`: where groups are bounded too."""
    unit = schema.unit
    if unit.identifier is None:
        return ()
    rows = "1 row" if unit.max_rows == 1 else f"{unit.max_rows} rows"
    are = "is" if unit.max_rows == 1 else "are"
    note = f"At most {rows} of each {unit.identifier} {are} counted"
    if in_groups and unit.groups < unit.max_rows:
        note += f", in at most {unit.groups} of the groups"
    which = "that one" if unit.max_rows == 1 else "those"
    return (f"{note}: the answer and its interval are about {which}.",)
