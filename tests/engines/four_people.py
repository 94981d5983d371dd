"""Four people, one of whom no declared cell fits, and what any engine counts of them."""

from __future__ import annotations

import threading

import pyarrow as pa

from discreet.engines import open_engine
from discreet.schema import CategoryColumn, IntegerColumn, Schema

CANARY = "CANARY-5521"
SCHEMA = Schema(
    dataset="people", columns=(IntegerColumn("age", 0, 9), CategoryColumn("sex", ("F", "M")))
)
TABLE = pa.table({"age": [1, 2, None, 40], "sex": ["F", "M", None, CANARY]})
AGES, SEXES = [0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1], [1, 1, 1, 1]


def counted(source: object, schema: Schema = SCHEMA) -> list[list[int]]:
    with open_engine(source, schema) as engine:
        return [counts.tolist() for counts in engine.marginals([("age",), ("sex",)])]


def wrong_in_threads(source: object, *, times: int) -> list[list[int]]:
    """What four threads were told by one engine, each asking so often, that is not so."""
    wrong: list[list[int]] = []
    with open_engine(source, SCHEMA) as engine:

        def work(name: str, right: list[int]) -> None:
            for _ in range(times):
                found = engine.marginals([(name,)])[0].tolist()
                if found != right:
                    wrong.append(found)

        pairs = (("age", AGES), ("sex", SEXES)) * 2
        threads = [threading.Thread(target=work, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return wrong
