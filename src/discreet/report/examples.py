"""Questions that a release answers, as they are typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.artifacts.measurement import Measurement
from discreet.queries.measurable import Marginal
from discreet.queries.places import loaded
from discreet.queries.registry import merged
from discreet.questions.spelling import sql_name as quoted

if TYPE_CHECKING:
    from discreet.artifacts.release import Part, Release
    from discreet.schema import Schema


def questions_of(part: Part, schema: Schema) -> list[str]:
    """SQL that the part's family shows for it."""
    place = merged("questions").get(part.query_class.name)
    found: list[str] = [] if place is None else loaded(place)(part, schema)
    return found


def sql_examples(release: Release) -> list[str]:
    """Questions that this release answers, in the order of its parts."""
    schema = release.schema
    table = quoted(schema.dataset)
    examples = []
    for part in release.parts:
        examples += questions_of(part, schema)
        first = part.measurements[0] if part.measurements else None
        if isinstance(first, Measurement) and isinstance(first.query, Marginal):
            by = ", ".join(map(quoted, first.query.columns[-1:]))
            examples += [f"SELECT {by}, count(*) FROM {table} GROUP BY {by}"] if by else []
    return list(dict.fromkeys(examples))[:3] or [f"SELECT count(*) FROM {table}"]


def commands(release: Release, file_name: str) -> list[str]:
    return [
        f"discreet ask {shell_word(file_name)} {shell_word(example)}"
        for example in sql_examples(release)
    ]


def shell_word(text: str) -> str:
    from shlex import quote

    return quote(text)
