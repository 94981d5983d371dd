"""`postgresql://host/db#schema.table`: where a table of a PostgreSQL database is, without a password.

The part before # is an address of `postgres_addresses`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from discreet.engines.sources import Source
from discreet.errors import BadSource
from discreet.postgres_addresses import SCHEMES, Address, has_password

_NAME = r'"(?:[^"]|"")+"|[^".]+'


@dataclass(frozen=True, slots=True)
class TableName:
    """A name as it was written: `schema.table`, each part perhaps in double quotes, which keep its case."""

    parts: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> TableName:
        if not re.fullmatch(rf"({_NAME})(\.({_NAME}))?", text):
            raise BadSource(
                f"{text!r} does not name a table. Nothing was read. Write postgresql://host/db#schema.table, "
                'with names that hold a dot in double quotes: #"my.schema"."table".'
            )
        return cls(tuple(re.findall(_NAME, text)))

    def __str__(self) -> str:
        return ".".join(self.parts)


def recognise(source: object) -> Source | None:
    """The source of an address; `None` for anything else."""
    if not isinstance(source, str) or not source.startswith(SCHEMES):
        return None
    uri, _, fragment = source.partition("#")
    try:
        parts, refused = urlsplit(uri), has_password(uri)
    except ValueError:
        raise BadSource(
            "The address of the database cannot be read. Nothing was read. Write it as "
            "postgresql://user@host:5432/db#schema.table."
        ) from None
    if refused:
        raise BadSource(
            "The address of the database holds a password, which others can see there. Nothing was read. "
            "Take it out, and give it in the variable PGPASSWORD, in a password file, or when asked."
        )
    if not fragment:
        raise BadSource(
            f"The address of the database {parts.path!r} names no table. Nothing was read. Add one at its "
            "end, as in postgresql://host/db#schema.table."
        )
    table = str(TableName.read(unquote(fragment)))
    return Source("postgres", table=table, value=Address(uri))
