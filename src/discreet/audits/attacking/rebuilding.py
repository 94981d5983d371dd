"""Rows rebuilt from tables before and after: small blocks of people, published by all pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from discreet.attacks.microdata import PublishedTable, certain, rebuilt
from discreet.attacks.outcome import Outcome, Progress, quiet
from discreet.audits.attacking.own_tables import mean_line, own_table
from discreet.custodian.disclosure.publications import swapped
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.privacy.exact import Exactable, exact

SHAPE = (2, 8, 4, 3)
NAMES = ("sex", "age", "origin", "household")
SWAPPED = 0.1
Counts = npt.NDArray[np.int64]


def block(people: int, *, seed: int = 0) -> Counts:
    """A block of a census: rows of sex, age band, origin and kind of household."""
    draws = generator(seed)
    origin = draws.choice(SHAPE[2], people, p=[0.6, 0.2, 0.15, 0.05])
    age = np.clip(draws.normal(3.5 - origin, 2, people).round(), 0, SHAPE[1] - 1).astype(int)
    home = np.clip((age // 3) + draws.integers(-1, 2, people), 0, SHAPE[3] - 1)
    return np.stack([draws.integers(0, 2, people), age, origin, home], axis=1)


def pair_tables(rows: Counts) -> list[PublishedTable]:
    """Every table of two columns, exact."""
    found = []
    for columns in combinations(range(len(SHAPE)), 2):
        counts = np.zeros([SHAPE[at] for at in columns])
        np.add.at(counts, tuple(rows[:, at] for at in columns), 1.0)
        found.append(PublishedTable(columns, counts))
    return found


def overlap(found: Counts, rows: Counts) -> float:
    """The share of people whose whole row was rebuilt."""
    truth = np.zeros(SHAPE, dtype=np.int64)
    np.add.at(truth, tuple(rows.T), 1)
    return float(np.minimum(found, truth).sum()) / len(rows)


def microdata(
    *,
    people: int = 30,
    blocks: int = 4,
    epsilon: Exactable = 1,
    seed: int = 0,
    progress: Progress = quiet,
) -> Outcome:
    """Rebuild the rows of blocks from all their tables of two columns, by integer programming.

    Published exactly, after a tenth of the rows were swapped, and by our release of the same tables.
    """
    if not 2 <= people <= 500 or blocks < 1:
        raise BadInput(f"A block has 2 to 500 people, not {people}.")
    budget = Budget(epsilon=exact(epsilon, name="epsilon"))
    before, sure, swaps, after, chance = [], [], [], [], []
    for number in range(blocks):
        progress("blocks", number / blocks)
        rows = block(people, seed=seed + number)
        tables = pair_tables(rows)
        found = rebuilt(SHAPE, tables)
        before.append(overlap(found, rows))
        sure.append(float(certain(SHAPE, tables, found).sum()) / people)
        swaps.append(overlap(rebuilt(SHAPE, pair_tables(_swapped(rows, seed + number))), rows))
        noisy = _ours(rows, budget)
        after.append(overlap(rebuilt(SHAPE, noisy, exact=False), rows))
        chance.append(overlap(_counted(block(people, seed=seed + 10_000 + number)), rows))
    return Outcome(
        attack="microdata",
        title=f"Rows of {blocks} blocks of {people} people, rebuilt from their tables of two columns",
        measure="share of rows rebuilt entirely",
        chance=float(np.mean(chance)),
        lines=[
            mean_line(
                "exact tables", before, note=f"{np.mean(sure):.0%} of the rows follow for certain"
            ),
            mean_line(f"exact tables after {SWAPPED:.0%} of the rows were swapped", swaps),
            mean_line(
                f"our release of the same tables, epsilon {float(budget.epsilon):g}",
                after,
                ours=True,
            ),
        ],
        findings=[
            "The tables of two columns leave an integer program little choice. Another block of the same "
            f"population shares {np.mean(chance):.0%} of its rows by chance."
        ],
        details={"certain": float(np.mean(sure))},
    )


def _counted(rows: Counts) -> Counts:
    found = np.zeros(SHAPE, dtype=np.int64)
    np.add.at(found, tuple(rows.T), 1)
    return found


def _swapped(rows: Counts, seed: int) -> Counts:
    table = {name: [str(value) for value in rows[:, at]] for at, name in enumerate(NAMES)}
    made = swapped(table, ["age", "origin"], share=SWAPPED, seed=seed)
    return np.array([[int(value) for value in made[name]] for name in NAMES], dtype=np.int64).T


def _ours(rows: Counts, budget: Budget) -> list[PublishedTable]:
    """The same tables as our release answers them."""
    lines = [f'dataset = "block"\npeople = {len(rows)}\n']
    for name, size in zip(NAMES, SHAPE, strict=True):
        lines.append(
            f'[columns.{name}]\nkind = "integer"\nrange = [0, {size - 1}]\nnulls = "exclude"\n'
        )
    columns = {name: rows[:, at].tolist() for at, name in enumerate(NAMES)}
    with own_table(columns, "".join(lines)) as table:
        reader = table.released(["marginals(2)"], budget)
        return [_answered(reader, columns) for columns in combinations(range(len(SHAPE)), 2)]


def _answered(reader: object, columns: Sequence[int]) -> PublishedTable:
    listed = ", ".join(NAMES[at] for at in columns)
    told = reader.ask(f"SELECT {listed}, count(*) FROM block GROUP BY {listed}")  # type: ignore[attr-defined]
    shape = [SHAPE[at] for at in columns]
    return PublishedTable(tuple(columns), told.columns[0].estimate.reshape(shape))
