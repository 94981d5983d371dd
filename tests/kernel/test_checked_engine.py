"""The core believes nothing that an engine returns: shapes, types and signs are checked first."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.core.checked_engine import CheckedEngine
from discreet.core.mechanisms import DiscreteLaplace
from discreet.core.vault import Request, Vault
from discreet.engines.protocol import SumRequest
from discreet.errors import EngineFailed
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.queries.measurable import Marginal
from discreet.questions.expressions import TRUE
from discreet.schema import Schema
from tests.memory_engine import MemoryEngine

SCHEMA = Schema.loads(
    """
dataset = "people"
[columns.age]
kind = "integer"
range = [0, 9]
nulls = "exclude"
[columns.sex]
kind = "category"
values = ["F", "M"]
"""
)
ROWS = [{"age": number % 10, "sex": "F"} for number in range(30)]
GOOD = np.full(10, 3, dtype=np.int64)


class Answering:
    """An engine that returns whatever it is told to, to every verb."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __getattr__(self, verb: str) -> Any:
        return lambda *_: self.answer


BAD_TABLES = {
    "a cell too few": [GOOD[:9]],
    "another shape": [GOOD.reshape(2, 5)],
    "32 bits": [GOOD.astype(np.int32)],
    "floats": [GOOD.astype(np.float64)],
    "a list": [GOOD.tolist()],
    "a negative count": [np.append(GOOD[:9], -1)],
    "one table too many": [GOOD, GOOD],
    "no table": [],
}


@pytest.mark.parametrize("answer", BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_table_that_cannot_be_one_stops_the_run(answer):
    engine: Any = CheckedEngine(Answering(answer), SCHEMA)
    with pytest.raises(EngineFailed, match="cannot be an answer"):
        engine.marginals([("age",)])


def test_counts_of_nodes_and_keys_fit_what_was_asked():
    nodes = np.zeros((4, 1), dtype=np.uint64)
    for answer in (GOOD[:3], -GOOD[:4], GOOD[:4].astype(np.uint64)):
        engine: Any = CheckedEngine(Answering(answer), SCHEMA)
        with pytest.raises(EngineFailed):
            engine.node_counts(("age",), (2,), nodes)
    held = np.array([3, 4], dtype=np.int64)
    wrong = [("a",)], [("a",), ("a",)], [("a", "b"), ("c",)], [("b",), ("a",)], [("a",), (None,)]
    for keys in wrong:
        engine = CheckedEngine(Answering((keys, held)), SCHEMA)
        with pytest.raises(EngineFailed):
            engine.held_keys(("sex",), TRUE)


@pytest.mark.parametrize("rows", [-1, 3.0, np.int64(3), None, True])
def test_a_number_of_rows_is_a_whole_number(rows):
    engine: Any = CheckedEngine(Answering(rows), SCHEMA)
    with pytest.raises(EngineFailed):
        engine.row_count()


@pytest.mark.parametrize("total", [1.5, np.float64(2), "3", None])
def test_a_sum_is_a_whole_number(total):
    engine: Any = CheckedEngine(Answering([total]), SCHEMA)
    with pytest.raises(EngineFailed):
        engine.sums([SumRequest("age", 1, 0, 9)])


def test_the_sentence_about_a_misfit_is_always_the_same():
    """An error that quoted what came back would be a release."""
    said = set()
    for answer in BAD_TABLES.values():
        engine: Any = CheckedEngine(Answering(answer), SCHEMA)
        with pytest.raises(EngineFailed) as failed:
            engine.marginals([("age",)])
        said.add(str(failed.value))
    assert len(said) == 1


def test_the_vault_checks_every_answer(tmp_path):
    class Negative(MemoryEngine):
        def marginals(self, column_sets):
            return [-table for table in super().marginals(column_sets)]

    request = Request(Marginal(("age",)), DiscreteLaplace(epsilon=Fraction(1)))
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        vault = Vault(Negative(SCHEMA, ROWS), SCHEMA, ledger)
        grant = vault.charge(Budget(epsilon=1), purpose="test", request="one")
        with pytest.raises(EngineFailed, match="cannot be an answer"):
            grant.measure([request])
