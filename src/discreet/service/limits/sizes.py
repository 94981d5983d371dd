"""How long a question may be. Checked before it is parsed, in a time in proportion to its length."""

from __future__ import annotations

import re

from discreet.service.limits.refusals import TooLarge
from discreet.service.settings import Limits

_TERM = re.compile(r"\w+|[^\w\s]")


def check_sql(sql: str, limits: Limits) -> None:
    """`TooLarge` for a question that is longer than the settings allow."""
    if len(sql) > limits.sql_characters:
        raise TooLarge(
            f"The question has {len(sql):,} characters; at most {limits.sql_characters:,} are read. "
            "Nothing was read or charged."
        )
    terms = sum(1 for _ in _TERM.finditer(sql))
    if terms > limits.sql_terms:
        raise TooLarge(
            f"The question has {terms:,} words and signs; at most {limits.sql_terms:,} are read. "
            "Nothing was read or charged."
        )
