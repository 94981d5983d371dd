"""Generated tables: many kinds of dependence, sizes, numbers of rows and budgets, from one seed.

Constants that are tuned to a few tables win on these and on no others. So choices, intervals and synthetic rows are judged here
too. A seed gives a list of tables in which the families take turns; another seed gives others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from discreet import Budget, Schema

MOST_CELLS = 1 << 19
"""Cells of all pairs of columns together."""
FEW = 8
STRENGTHS = (0.0, 0.2, 0.5, 0.9)
EPSILONS = ("0.1", "0.3", "1", "3", "10")


@dataclass(frozen=True)
class Generated:
    """A table of codes, and the budget that it is released for."""

    kind: str
    codes: np.ndarray
    sizes: tuple[int, ...]
    strength: float
    epsilon: str
    delta: str
    nulls: str = "cell"
    """What the schema says of nulls, of which there are none."""

    @property
    def described(self) -> str:
        sizes = f"{len(self.sizes)} columns of {min(self.sizes)} to {max(self.sizes)}"
        return (
            f"{self.kind}: {len(self.codes):,} rows, {sizes}, strength {self.strength:.1f}, "
            f"epsilon {self.epsilon}, delta {self.delta}"
        )

    @cached_property
    def schema(self) -> Schema:
        rows = len(self.codes)
        columns = "".join(
            f'[columns.c{place}]\nkind = "integer"\nrange = [0, {size - 1}]\nnulls = "{self.nulls}"\n'
            for place, size in enumerate(self.sizes)
        )
        return Schema.loads(f'dataset = "t"\npeople = {round(rows, 1 - len(str(rows)))}\n{columns}')

    @property
    def budget(self) -> Budget:
        return Budget(epsilon=self.epsilon, delta=self.delta)

    def sets(self, degree: int) -> list[tuple[int, ...]]:
        return list(combinations(range(len(self.sizes)), degree))

    def table(self, codes: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
        """Counts, with a cell for nulls at the end of each column."""
        shape = [self.sizes[column] + 1 for column in columns]
        keys = np.ravel_multi_index([codes[:, column] for column in columns], shape)
        return np.bincount(keys, minlength=math.prod(shape)).reshape(shape)

    def distance(self, rows: np.ndarray, degree: int, most: int = MOST_CELLS) -> float:
        """The mean total variation between tables of so many columns and those of other rows; larger tables than `most` are left out."""
        found = [
            variation(self.table(rows, each), self.table(self.codes, each))
            for each in self.sets(degree)
            if math.prod(self.sizes[column] for column in each) <= most
        ]
        return float(np.mean(found)) if found else math.nan


def variation(made: np.ndarray, true: np.ndarray) -> float:
    if made.sum() <= 0:  # no rows tell nothing
        return 1.0
    return float(np.abs(made / made.sum() - true / true.sum()).sum() / 2)


@dataclass(frozen=True)
class Shape:
    """How large a table is, before it has rows."""

    rows: int
    sizes: tuple[int, ...]
    strength: float


Family = Callable[[Shape, np.random.Generator], np.ndarray]


def tree(shape: Shape, draw: np.random.Generator) -> np.ndarray:
    """Each column follows an earlier one, by its own random shares for each value of that."""
    rows, sizes, strength = shape.rows, shape.sizes, shape.strength
    codes = np.zeros((rows, len(sizes)), dtype=np.int64)
    for place, size in enumerate(sizes):
        codes[:, place] = draw.choice(size, rows, p=draw.dirichlet(np.full(size, 0.7)))
        if place == 0 or strength == 0:
            continue
        parent = int(draw.integers(place))
        follows = draw.random(rows) < strength
        given = draw.dirichlet(np.full(size, 0.3), size=sizes[parent]).cumsum(axis=1)
        above = codes[follows, parent] + np.minimum(draw.random(int(follows.sum())), 1 - 1e-9)
        flat = (given / given[:, -1:] + np.arange(sizes[parent])[:, None]).ravel()
        found = np.searchsorted(flat, above, side="right") - codes[follows, parent] * size
        codes[follows, place] = np.clip(found, 0, size - 1)
    return codes


def factors(shape: Shape, draw: np.random.Generator) -> np.ndarray:
    """Ordered columns that follow up to three common causes."""
    many = int(draw.integers(1, 4))
    causes = draw.standard_normal((shape.rows, many))
    codes = []
    for size in shape.sizes:
        weights = draw.standard_normal(many)
        weights *= math.sqrt(shape.strength) / np.linalg.norm(weights)
        own = draw.standard_normal(shape.rows) * math.sqrt(1 - shape.strength)
        codes.append(_cut(causes @ weights + own, size, draw))
    return np.stack(codes, axis=1)


def questionnaire(shape: Shape, draw: np.random.Generator) -> np.ndarray:
    """Items that all follow one attitude, each by its own part."""
    attitude = draw.standard_normal(shape.rows)
    codes = []
    for size in shape.sizes:
        load = draw.uniform(0.3, 1) * shape.strength
        own = draw.standard_normal(shape.rows) * math.sqrt(1 - load**2)
        codes.append(_cut(load * attitude + own, size, draw))
    return np.stack(codes, axis=1)


def classes(shape: Shape, draw: np.random.Generator) -> np.ndarray:
    """Latent classes: within one, columns are independent."""
    many = int(draw.integers(2, 9))
    member = draw.choice(many, shape.rows, p=draw.dirichlet(np.full(many, 1.0)))
    codes = []
    for size in shape.sizes:
        usual = draw.dirichlet(np.full(size, 0.7))
        own = draw.dirichlet(np.full(size, 0.5), size=many)
        shares = (1 - shape.strength) * usual + shape.strength * own
        codes.append(_drawn(shares, member, draw))
    return np.stack(codes, axis=1)


def skewed(shape: Shape, draw: np.random.Generator) -> np.ndarray:
    """Columns with one frequent value, which rows of a common kind leave together."""
    unusual = draw.random(shape.rows) < draw.uniform(0.05, 0.3)
    codes = []
    for size in shape.sizes:
        law = np.arange(1, size + 1) ** -draw.uniform(1, 2.5)
        flat = np.full(size, 1 / size)
        mixed = np.stack([law / law.sum(), flat])
        kind = (unusual & (draw.random(shape.rows) < shape.strength)).astype(np.int64)
        codes.append(draw.permutation(size)[_drawn(mixed, kind, draw)])
    return np.stack(codes, axis=1)


def functions(shape: Shape, draw: np.random.Generator) -> np.ndarray:
    """Columns that are functions of one or two earlier ones, but for some rows."""
    codes: list[np.ndarray] = []
    for place, size in enumerate(shape.sizes):
        own = draw.choice(size, shape.rows, p=draw.dirichlet(np.full(size, 1.0)))
        if place and draw.random() < 0.7:
            causes = draw.choice(place, min(place, int(draw.integers(1, 3))), replace=False)
            keys = np.ravel_multi_index(
                [codes[cause] for cause in causes], [shape.sizes[cause] for cause in causes]
            )
            rule = draw.integers(0, size, math.prod(shape.sizes[cause] for cause in causes))
            own = np.where(draw.random(shape.rows) < shape.strength, rule[keys], own)
        codes.append(own)
    return np.stack(codes, axis=1)


def chain(shape: Shape, draw: np.random.Generator) -> np.ndarray:
    """Ordered columns, each near the one before it: most rows lie along a diagonal."""
    level = draw.random(shape.rows)
    codes = []
    for size in shape.sizes:
        moved = draw.random(shape.rows) > shape.strength
        step = 0.05 * draw.standard_normal(shape.rows)
        level = np.where(moved, draw.random(shape.rows), np.clip(level + step, 0, 1 - 1e-9))
        codes.append(np.floor(level ** draw.uniform(0.5, 3) * size).astype(np.int64))
    return np.stack(codes, axis=1)


def _cut(values: np.ndarray, size: int, draw: np.random.Generator) -> np.ndarray:
    """Codes of normal values, cut where a random law has its steps."""
    law = draw.dirichlet(np.full(size, draw.choice([0.7, 2.0, 10.0])))
    edges = np.quantile(values, np.clip(np.cumsum(law)[:-1], 0, 1))
    return np.searchsorted(edges, values)


def _drawn(shares: np.ndarray, kind: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """A code for each row, by the shares of its kind."""
    sums = shares.cumsum(axis=1)
    flat = (sums / sums[:, -1:] + np.arange(len(shares))[:, None]).ravel()
    above = kind + np.minimum(draw.random(len(kind)), 1 - 1e-9)
    size = shares.shape[1]
    return np.clip(np.searchsorted(flat, above, side="right") - kind * size, 0, size - 1)


FAMILIES: tuple[Family, ...] = (
    tree, factors, questionnaire, classes, skewed, functions, chain,
)  # fmt: skip


def shaped(draw: np.random.Generator, most_rows: int, most_columns: int, most_values: int) -> Shape:
    """200 rows or more, and 3 columns or more, of 2 values or more; columns of one table have sizes of all kinds up to its widest."""
    rows = round(10 ** draw.uniform(2.3, math.log10(most_rows)))
    widest = 10 ** draw.uniform(0.5, math.log10(most_values))
    many = int(draw.integers(3, most_columns + 1))
    sizes: list[int] = []
    for _ in range(many):
        size = max(2, round(2 * (widest / 2) ** draw.random()))
        if sum(each * other for each, other in combinations([*sizes, size], 2)) <= MOST_CELLS:
            sizes.append(size)
    return Shape(rows, tuple(sizes), float(draw.choice(STRENGTHS)))


def generated(
    many: int,
    seed: int,
    *,
    most_rows: int = 1_000_000,
    most_columns: int = 30,
    most_values: int = 1_000,
    delta: str | None = None,
    nulls: str = "cell",
    families: tuple[Family, ...] = FAMILIES,
) -> Iterator[Generated]:
    """So many tables, the families in turn; every third one of columns of few cells. By turns without a delta and with 1e-9, if none is given."""
    for place in range(many):
        draw = np.random.default_rng([seed, place])
        family = families[place % len(families)]
        values = FEW if place % 3 == 2 else most_values
        shape = shaped(draw, most_rows, most_columns, values)
        yield Generated(
            family.__name__,
            family(shape, draw),
            shape.sizes,
            shape.strength,
            epsilon=str(draw.choice(EPSILONS)),
            delta=delta or ("0", "1e-9")[place // len(families) % 2],
            nulls=nulls,
        )
