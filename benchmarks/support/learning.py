"""What a classifier learns from rows: the area under its ROC curve on rows that it has not seen.

The classifier adds up a table of log odds for each pair of columns, fitted one after the other by
boosting (Newton steps with a ridge). It needs nothing but numpy, and sees dependences of the label with
two columns at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

EPOCHS, RATE, RIDGE = 3, 0.2, 5.0
MOST_CELLS = 1 << 14
"""Of a pair of columns; wider ones are left out."""


def area(
    train: np.ndarray, test: np.ndarray, sizes: Sequence[int], target: int, value: int
) -> float:
    """How well rows with `value` in column `target` are told from others, by all other columns."""
    labels = (train[:, target] == value).astype(np.float64)
    truth = test[:, target] == value
    if labels.all() or not labels.any():
        return 0.5
    odds = np.log(labels.mean() / (1 - labels.mean()))
    fitted, scores = np.full(len(train), odds), np.full(len(test), odds)
    others = [column for column in range(len(sizes)) if column != target]
    pairs = [(a, b) for a, b in combinations(others, 2) if sizes[a] * sizes[b] <= MOST_CELLS]
    generator = np.random.default_rng(0)
    for _ in range(EPOCHS):
        for place in generator.permutation(len(pairs)):
            one, other = pairs[place]
            cells = sizes[one] * sizes[other]
            keys = train[:, one] * sizes[other] + train[:, other]
            chance = 1 / (1 + np.exp(-fitted))
            pull = np.bincount(keys, labels - chance, cells)
            step = RATE * pull / (np.bincount(keys, chance * (1 - chance), cells) + RIDGE)
            fitted += step[keys]
            scores += step[test[:, one] * sizes[other] + test[:, other]]
    order = np.unique(scores, return_inverse=True)[1]
    below = np.cumsum(np.bincount(order)) - (np.bincount(order) - 1) / 2
    ranks = below[order]
    yes, no = int(truth.sum()), int((~truth).sum())
    return float((ranks[truth].sum() - yes * (yes + 1) / 2) / (yes * no))


def targets(codes: np.ndarray, sizes: Sequence[int], most: int = 4) -> list[tuple[int, int]]:
    """Up to `most` columns of 2 to 10 cells, the last first, each with the value that is nearest to half."""
    found = []
    for column in reversed(range(len(sizes))):
        shares = np.bincount(codes[:, column], minlength=sizes[column]) / len(codes)
        value = int(np.argmin(np.abs(shares - 0.5)))
        if 2 <= sizes[column] <= 10 and 0.05 < shares[value] < 0.95:
            found.append((column, value))
    return found[:most]
