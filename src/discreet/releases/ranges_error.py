"""What error to expect of a release of ranges, before any row is read."""

from __future__ import annotations

import math
from statistics import NormalDist

from discreet.queries.tree import Tree
from discreet.releases.protocol import ClassError
from discreet.schema import Schema

ADAPTIVE_NOTE = "as if no node were stopped early; where data is sparse the error is smaller"


def class_error(
    tree: Tree,
    schema: Schema,
    *,
    mean: float,
    worst: float,
    rows: int | None,
    confidence: float,
    note: str = "",
) -> ClassError:
    """From the mean and the worst variance of a range's count.

    `half_width` is that of the worst range with nearly normal noise; `simultaneous` divides the risk
    over all pairs of ends that the domain has, by the normal tail.
    """
    queries = 1
    for name in tree.columns:
        cells = schema.column(name).value_cells
        queries *= cells * (cells + 1) // 2
    alpha = 1 - confidence
    # -log of the normal tail: z^2/2 >= log(2 queries / alpha) is enough.
    everywhere = math.sqrt(2 * (math.log(queries) + math.log(2 / alpha)))
    return ClassError(
        queries=queries,
        unit="rows",
        expected=math.sqrt(2 / math.pi * mean),
        half_width=NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(worst),
        simultaneous=everywhere * math.sqrt(worst),
        scale=None if rows is None else float(rows),
        note=note,
    )
