"""The sparse vector compares with the threshold that was noised, once, and with counts noised each time."""

from __future__ import annotations

from fractions import Fraction

from discreet.core.mechanisms import AboveThreshold
from discreet.core.noise import DrawnNoise
from discreet.core.vault import Vault
from discreet.families.tables.queries.cell_count import CellCount
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.schema import Schema
from tests.memory_engine import MemoryEngine

SCHEMA = Schema.loads(
    'dataset = "d"\nadjacency = "add-remove"\n[columns.x]\nkind = "integer"\nrange = [0, 9]\n'
)


class Watched(DrawnNoise):
    """Adds 5 to the threshold and notes what each count is compared with, and under which law."""

    def __init__(self):
        super().__init__()
        self.laws, self.bars = [], []

    def add(self, exact, law, *, step):
        self.laws.append(law.scale)
        return exact + 5

    def is_above(self, exact, threshold_with_noise, law, *, step):
        self.laws.append(law.scale)
        self.bars.append(threshold_with_noise)
        return False


def test_counts_are_compared_with_the_one_noisy_threshold(tmp_path):
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        vault = Vault(MemoryEngine(SCHEMA, [{"x": 3}] * 4), SCHEMA, ledger)
        vault._noise = noise = Watched()
        grant = vault.charge(Budget(epsilon=1), purpose="t", request="t")
        alert = grant.above_threshold(100, AboveThreshold(epsilon=Fraction(1)), sensitivity=1)
        for _ in range(3):
            alert.is_above(CellCount(("x",), (3,)))
    assert noise.bars == [105] * 3
    assert noise.laws == [2, 4, 4, 4]
