"""Claims for answers that are read from a whole table, which lies near the measured cells and not on them."""

from __future__ import annotations

import math
from dataclasses import replace

from discreet.artifacts.release import ErrorClaim
from discreet.families.tables.answer.usefulness import MOVED


def claims_of_a_moved_table(claims: tuple[ErrorClaim, ...], moved: float) -> tuple[ErrorClaim, ...]:
    """Claims about measured cells, made for answers that lie up to `moved` from them.

    |answer - truth| <= |answer - measured| + |measured - truth|, whatever the noise: the second is claimed already.
    """
    return tuple(
        replace(
            each,
            bound=float(math.ceil(each.bound + moved - 1e-9)),
            theorem=each.theorem + MOVED,
        )
        for each in claims
    )
