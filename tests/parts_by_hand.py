"""Parts of releases of every class about the same people, with real noise, put together by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet import samplers
from discreet.answering import ReleaseReader
from discreet.artifacts.measurement import TreeLevel, TreeMeasurement
from discreet.artifacts.release import Part
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.numbers.queries.one_number import Sums
from discreet.families.predicates.queries.predicates import Predicates, partition
from discreet.families.predicates.queries.strategy import StrategyCounts
from discreet.families.ranges.queries.ranges import Intervals, Rectangles
from discreet.families.tables.queries.marginals import Marginals
from discreet.families.tables.queries.parities import Parities, Parity
from discreet.families.tables.queries.residuals import Residual
from discreet.families.tables.release.parities_splits import parity_of_splits
from discreet.privacy.cost import Cost
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.blocks import BlockCounts, GridCounts
from discreet.queries.measurable import ClampedSum, Marginal, PresentCount
from discreet.queries.tree import Tree
from discreet.schema import CategoryColumn, IntegerColumn, Schema
from tests.releases_by_hand import measured, part_of, release_of_tables, table_of

CELLS = 16
SCHEMA = Schema(
    dataset="people",
    columns=(
        IntegerColumn("age", 0, CELLS - 1, 1),
        IntegerColumn("kids", 0, 3, 1),
        CategoryColumn("sex", ("F", "M"), other=True),
    ),
)
ROWS = [
    {"age": None if k % 13 == 0 else (k * k) % 23 % CELLS, "kids": k % 4, "sex": "FM"[k % 2]}
    for k in range(400)
]
AGES = table_of(SCHEMA, ["age"], ROWS)[:CELLS]
WIDE, NARROW = DiscreteGaussianLaw(Fraction(400)), DiscreteGaussianLaw(Fraction(100))
LAPLACE = DiscreteLaplaceLaw(Fraction(8))
EVERY = [(low, high) for low in range(CELLS) for high in range(low, CELLS)]


def noise(law: NoiseLaw, count: int) -> np.ndarray:
    if isinstance(law, DiscreteLaplaceLaw):
        return samplers.discrete_laplace(law.scale, count)
    assert isinstance(law, DiscreteGaussianLaw)
    return samplers.discrete_gaussian(law.sigma_squared, count)


def whole_tree(law: NoiseLaw, columns=("age",), shifts=((4,), (2,), (0,))) -> Part:
    """A tree of which whole levels are measured: no row decided its shape."""
    sizes = tuple(SCHEMA.column(name).value_cells for name in columns)
    exact = table_of(SCHEMA, columns, ROWS)[tuple(slice(0, size) for size in sizes)]
    found = []
    for shift in shifts:
        query = BlockCounts(columns, shift, sizes)
        blocks = exact
        for axis, each in enumerate(shift):
            starts = np.arange(0, blocks.shape[axis], 1 << each)
            blocks = np.add.reduceat(blocks, starts, axis=axis)
        values = blocks.reshape(-1) + noise(law, blocks.size)
        found.append(measured(SCHEMA, query, values, law))
    kind = Intervals(*columns) if len(columns) == 1 else Rectangles(*columns)
    estimates = {"leaves": found[-1].values.astype(np.float64)}
    return part_of(kind, *found, kind="ranges", estimates=estimates)


def pruned_tree() -> Part:
    """Four blocks of four cells under a root; the second and the fourth are leaves."""
    halved = np.array([True, False, True, False])
    blocks, fine = AGES.reshape(4, 4).sum(axis=1), AGES.reshape(4, 4)[halved].reshape(-1)
    stopped, refined, last = (
        DiscreteLaplaceLaw(1 / Fraction(each)) for each in ("3/4", "1/4", "1/2")
    )
    middle = blocks + np.where(halved, noise(refined, 4), noise(stopped, 4))

    def level(number, nodes, values, stops, first, stop, refine) -> TreeLevel:
        return TreeLevel(
            level=number,
            nodes=np.asarray(nodes, dtype=np.uint64).reshape(-1, 1),
            first=np.asarray(values),
            values=np.asarray(values),
            stopped=np.asarray(stops),
            first_epsilon=Fraction(first),
            stopped_epsilon=Fraction(stop),
            refined_epsilon=Fraction(refine),
        )

    ends = np.concatenate([np.arange(4), np.arange(8, 12)])
    leaves = fine + noise(last, 8)
    root = int(AGES.sum()) + noise(DiscreteLaplaceLaw(Fraction(4)), 1)
    tree = TreeMeasurement(
        tree=Tree(columns=("age",), depths=((0,), (2,), (4,))),
        levels=(
            level(0, [0], root, [False], "1/8", 1, "1/4"),
            level(1, range(4), middle, ~halved, "1/8", "3/4", "1/4"),
            level(2, ends, leaves, np.ones(8, np.bool_), "1/2", "1/2", 0),
        ),
        path_epsilon=Fraction(1),
        cost=Cost.pure(Fraction(1)),
    )
    estimates = {"leaves": np.concatenate([middle[~halved], leaves]).astype(np.float64)}
    return part_of(Intervals("age"), tree, kind="ranges", estimates=estimates)


def table(law: NoiseLaw, columns=("age",)) -> Part:
    exact = table_of(SCHEMA, columns, ROWS).reshape(-1)
    own = measured(SCHEMA, Marginal(tuple(columns)), exact + noise(law, exact.size), law)
    return part_of(Marginals(columns=list(columns)), own)


def residuals(law: NoiseLaw, columns=("age",)) -> Part:
    found = []
    for own in ((), *((name,) for name in columns)):
        query = Residual(own)
        exact = _residual(own)
        found.append(measured(SCHEMA, query, exact + noise(law, exact.size), law))
    return part_of(Marginals(columns=list(columns)), *found, kind="residuals")


def _residual(own: tuple[str, ...]) -> np.ndarray:
    counts = table_of(SCHEMA, own, ROWS).reshape(-1) if own else np.array([len(ROWS)])
    return counts * counts.size - counts.sum() if own else counts


def predicates(law: NoiseLaw) -> Part:
    """Both halves of the ages, counted by predicates that all rows satisfy one of."""
    conditions = ("age >= 8", "age < 8 OR age IS NULL")
    query = StrategyCounts.of(SCHEMA, conditions, np.eye(2, dtype=np.int64))
    exact = np.array([AGES[8:].sum(), len(ROWS) - AGES[8:].sum()])
    assert partition(SCHEMA, conditions).workload.shape == (2, 2)
    exact = query.array(SCHEMA) @ (
        exact if partition(SCHEMA, conditions).workload[0, 0] else exact[::-1]
    )
    own = measured(SCHEMA, query, exact + noise(law, 2), law)
    return part_of(Predicates(conditions), own, kind="predicates")


def splits(law: NoiseLaw) -> Part:
    """The number of rows, and the parity of one split of them."""
    own = parity_of_splits(SCHEMA, ("age >= 8",))
    total = measured(SCHEMA, Parity(()), [len(ROWS) + noise(law, 1)[0]], law)
    signed = len(ROWS) - 2 * AGES[8:].sum() + noise(law, 1)[0]
    return part_of(
        Parities(1, splits=("age >= 8",)), total, measured(SCHEMA, own, [signed], law),
        kind="split-parities",
    )  # fmt: skip


def grid(law: NoiseLaw) -> Part:
    query = GridCounts(("age", "kids"), (1, 1), (CELLS, 4))
    exact = table_of(SCHEMA, ["age", "kids"], ROWS).reshape(-1)
    own = measured(SCHEMA, query, exact + noise(law, exact.size), law)
    return part_of(Halfspaces("age", "kids"), own, kind="halfspaces")


def opened(*parts: Part, public_rows: int | None = None) -> ReleaseReader:
    return ReleaseReader(release_of_tables(SCHEMA, [], [], parts=parts, public_rows=public_rows))


def sums(law: NoiseLaw, column: str = "kids") -> Part:
    values: list[Any] = [row[column] for row in ROWS if row[column] is not None]
    total = measured(SCHEMA, ClampedSum(column), [sum(values) + noise(law, 1)[0]], law)
    many = measured(SCHEMA, PresentCount(column), [len(values) + noise(law, 1)[0]], law)
    return part_of(Sums(column), total, many)


def buckets() -> Part:
    """What noisy searches release: starts of stretches, their rows, and how far off any range is."""
    return part_of(
        Intervals("age"),
        kind="buckets",
        estimates={
            "starts 0": np.array([0.0, 4.0, 8.0, 12.0]),
            "counts": AGES.reshape(4, 4).sum(axis=1).astype(np.float64),
        },
        facts={"error": 20.0, "delta": 0.05},
    )
