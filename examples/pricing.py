"""The textbook's pricing example: find a good price without giving any bidder away.

Three bidders value a thing at 1.00, 1.01 and 3.01 (after McSherry and Talwar 2007). A price of 3.01
sells one, for 3.01; a price of 1.00 sells three, for 3.00; a price of 1.01 sells two, for 2.02, and
3.02 sells none at all: a small change of the price ruins the revenue, so noise must not be added to
the price. The exponential mechanism chooses among prices, the likelier the better their revenue.

    python examples/pricing.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pandas as pd

import discreet as dc

SCHEMA = """
dataset = "bids"
[columns.valuation]
kind = "number"
bounds = [0, 4]
bits = 9
nulls = "exclude"
"""
PRICES = ("1.00", "1.01", "3.01")


def revenue(valuations: list[float], price: str) -> float:
    return float(price) * sum(value >= float(price) for value in valuations)


def main(copies: int = 100) -> dict[str, int]:
    """How often each price is chosen in 20 choices, with `copies` times the textbook's bidders."""
    valuations = [1.00, 1.01, 3.01] * copies
    chosen = dict.fromkeys(PRICES, 0)
    with tempfile.TemporaryDirectory() as folder:
        for run in range(20):
            with dc.Curator(
                pd.DataFrame({"valuation": valuations}),
                dc.Schema.loads(SCHEMA),
                ledger=Path(folder) / "ledger.db",
                cap=dc.Budget(epsilon=20),
                data_version=str(run),
            ) as curator:
                choice = curator.choose(
                    {
                        price: (
                            f"SELECT count(*) FROM bids WHERE valuation >= {price}",
                            round(100 * float(price)),  # cents, so that the score is whole
                        )
                        for price in PRICES
                    },
                    budget=dc.Budget(epsilon=1),
                )
            chosen[choice.name] += 1
    lines = [f"bidders: {len(valuations)}, one choice costs epsilon 1"]
    lines += [
        f"price {price}: revenue {revenue(valuations, price):8.2f}, chosen {chosen[price]:2} of 20 times"
        for price in PRICES
    ]
    lines.append(
        f"with probability .95 the revenue is at most {choice.behind / 100:.2f} below the best one"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return chosen


if __name__ == "__main__":
    main()
