"""Values that nobody declared: how many people a value needs to be named, and how many values a release names.

    python benchmarks/keys.py [--people 3000]

Each number is relative to optimal partition selection, where every value of a person pays its part of the budget. A person has 1 to 100
values, at an epsilon of 0.5 to 4 for the names. The bars: never more people, and at most .75 of them from 10 values on. Then releases of
generated people, each with 10 words whose frequencies follow Zipf's law: how many words are named, relative to how many the optimal
selection would name, which is known from its law and the true counts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import polars

import discreet as dc
from benchmarks.support.bars import bar
from discreet.core.mechanisms.partition_selection import PartitionSelection

DELTAS = ("1e-6", "1e-9")
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(4))
HELD = (1, 2, 5, 10, 20, 50, 100)
MANY = 10
"""Values of one person from which the noise of all counts together is clearly smaller."""
FEWER = 0.75
WORDS, OWN, RELEASES, SEED = 3_000, 10, 3, 20_261_118
SCHEMA = """
dataset = "searches"
[unit]
identifier = "person"
max_rows = 10
[columns.word]
kind = "category"
undeclared = true
"""


def needed(epsilon: Fraction, delta: str, held: int) -> float:
    """The people that give a value an even chance, by the way that is taken and by the optimal selection."""
    finder = PartitionSelection(epsilon=epsilon, delta=Fraction(delta))
    return finder.law(held).even / finder.each(held).even


def searches(people: int, draw: np.random.Generator) -> polars.DataFrame:
    """Different words for each person: the k-th most frequent is drawn with a weight of 1 / k."""
    weights = -np.log(np.arange(1, WORDS + 1))
    drawn = weights + draw.gumbel(size=(people, WORDS))  # the largest of these: without replacement
    words = np.argpartition(-drawn, OWN, axis=1)[:, :OWN]
    return polars.DataFrame(
        {
            "person": np.repeat(np.arange(people), OWN),
            "word": [f"word {each}" for each in words.ravel().tolist()],
        }
    )


def named(table: polars.DataFrame, budget: dc.Budget) -> int:
    with tempfile.TemporaryDirectory() as folder:
        reader = dc.release(
            table,
            dc.Schema.loads(SCHEMA),
            budget=budget,
            workload=["keys(word)"],
            ledger=Path(folder) / "ledger.db",
        )
    return int(reader.ask("SELECT count(DISTINCT word) FROM searches").only.estimate)


def expected(table: polars.DataFrame, finder: PartitionSelection) -> float:
    """How many words the optimal selection would name, on average."""
    law = finder.each(OWN)
    return float(sum(law.chance(many) for many in table["word"].value_counts()["count"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=3_000)
    asked = parser.parse_args()
    met = True
    for delta in DELTAS:
        for held in HELD:
            name = f"people that a value needs, of {held} values a person, delta {delta}, worst epsilon"
            worst = max(needed(epsilon, delta, held) for epsilon in EPSILONS)
            met &= bar(name, worst, FEWER if held >= MANY else 1.0)
    draw = np.random.default_rng(SEED)
    budget = dc.Budget(epsilon=2, delta="1e-9")
    finder = PartitionSelection(epsilon=budget.epsilon / 2, delta=budget.delta)
    tables = [searches(asked.people, draw) for _ in range(RELEASES)]
    ours = sum(named(each, budget) for each in tables)
    theirs = sum(expected(each, finder) for each in tables)
    print(f"  {RELEASES} releases named {ours} words; the optimal selection: {theirs:.1f}")
    name = f"words that {RELEASES} releases name, of the optimal selection's"
    met &= bar(name, ours / theirs, 1.0, at_least=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
