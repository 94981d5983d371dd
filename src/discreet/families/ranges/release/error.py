"""What error to expect of a release of ranges, before any row is read."""

from __future__ import annotations

import math
from statistics import NormalDist

from discreet.families.ranges.queries.ranges import Ranges
from discreet.families.shared.release.protocol import ClassError
from discreet.schema import Schema

_STOPPED = "as if no node were stopped early; where data is sparse the error is smaller"
ADAPTIVE_NOTE = (
    f"{_STOPPED}. The release's bound of all at once also allows for how far smoothing moves counts and for what "
    "stopped nodes hide; only the noisy numbers tell both"
)
_INVENTED = "bound of all at once is the claim of a release of an invented table: as many rows, in the shape of a bell"
FORESEEN_NOTE = f"{_STOPPED}. The {_INVENTED}"
INVENTED_NOTE = f"the {_INVENTED}"


def range_queries(query_class: Ranges, schema: Schema) -> int:
    """How many queries a class holds; of unions, how many ways to pick their ranges, in order."""
    ranges = 1
    for name in query_class.columns:
        cells = schema.column(name).value_cells
        ranges *= cells * (cells + 1) // 2
    return int(ranges**query_class.pieces)


def class_error(
    query_class: Ranges,
    schema: Schema,
    *,
    mean: float,
    worst: float,
    rows: int | None,
    confidence: float,
    together: float | None,
    note: str = "",
) -> ClassError:
    """From the mean and the worst variance of a range's count, and the bound `together` of all ranges.

    `half_width` is that of the worst range with nearly normal noise. The errors of a union's ranges may
    all go the same way, so they are added.
    """
    pieces = query_class.pieces
    return ClassError.in_rows(
        rows,
        queries=range_queries(query_class, schema),
        expected=pieces * math.sqrt(2 / math.pi * mean),
        half_width=pieces * NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(worst),
        simultaneous=None if together is None else pieces * together,
        note=note,
    )
