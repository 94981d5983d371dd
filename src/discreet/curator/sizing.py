"""What a question costs and how large its answer is: known from public facts, without a look into the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from discreet.privacy.budget import Budget
from discreet.questions.keys import key_size
from discreet.schema import Schema

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.planning import Planned
    from discreet.postprocessing.plan import QueryPlan


def size_of(curator: Curator, sql: str, **arguments: Any) -> tuple[Budget, int | None]:
    """The cost of a question and the number of its answer's rows, as `Curator.preview` says them."""
    plan, parts, _ = curator._planned(sql, **arguments)
    if not parts:
        return Budget.nothing(curator.cap.notion), None
    return parts[0].charge, rows_of(plan, parts, curator.schema)


def rows_of(plan: QueryPlan, parts: Sequence[Planned], schema: Schema) -> int | None:
    """How many rows an answer has; None where that is not known beforehand."""
    first = parts[0].question
    if not plan.is_plain or first.unlisted:
        return None
    return prod(key_size(key, schema) for key in first.groups)
