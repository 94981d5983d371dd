"""Drills of the engine, on each form of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.engines.protocol import SumRequest
from discreet.errors import (
    EngineFailed,
)
from discreet.queries.tallies import Cells, Tally
from discreet.questions.expressions import TRUE
from tests.harness.threads.drills import Drill, only
from tests.harness.threads.interleaving import Outcome
from tests.harness.threads.shared_world import (
    BANDS,
    World,
)
from tests.harness.threads.vault_drills import rows_by_band


def _engine(form: int) -> Callable[[World], Any]:
    return lambda world: world.engine(form)


def engine_drills() -> Iterator[Drill]:
    nodes = np.arange(BANDS, dtype=np.uint64).reshape(-1, 1)
    calls: dict[str, Callable[[Any, int], Any]] = {
        "marginals": lambda engine, n: engine.marginals([("band", "kind"), ("kind",)][: n % 2 + 1]),
        "node_counts": lambda engine, n: (
            engine.node_counts(("band",), (0,), nodes[: n + 1]).tolist(),
            engine.node_counts(("band", "score"), (0, 9), np.array([[n, 1]], np.uint64)).tolist(),
        ),
        "sums": lambda engine, n: engine.sums(
            [SumRequest("band", n + 1, Fraction(0), Fraction(BANDS))]
        ),
        "tally": lambda engine, n: engine.tally([Tally(Cells(("band", "kind")[n % 2]), ())]),
        "held_keys": lambda engine, _: engine.held_keys(("town",), TRUE),
        "row_count": lambda engine, _: engine.row_count(),
    }
    for form in range(3):
        what, opened = ("Parquet", "CSV", "in memory")[form], _engine(form)
        for member, call in calls.items():
            yield Drill("DuckDBEngine", member, opened, call, variant=what, twin=World.model_engine)

    def count_or_close(engine: Any, number: int) -> Any:
        return engine.close() if number == 5 else engine.marginals([("band",)])[0].tolist()

    def closed(world: World, engine: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        for each in outcomes:
            if each.is_well and each.thread != 5 and each.result[:BANDS] != rows_by_band():
                yield f"thread {each.thread} counted {each.result}"
        yield from only(outcomes, EngineFailed)

    yield Drill("DuckDBEngine", "close", lambda world: world.engine(0), count_or_close, closed)
