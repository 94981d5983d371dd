"""Point estimates on a pruned tree: an empirical-Bayes Polya tree.

Top-down, each node hands its count to its two halves. How unevenly real data splits is learnt from
the noisy tree itself, depth by depth: a mixture of "evenly", "all on one side" and normal laws about
either, of several widths, its weights fitted by EM to all splits of that depth, starting from those of the
depth above. In a tree over one column there are also laws about the split that the counts of the neighbours
foretell (`tree_slopes`), and, about it and about an even split, the law of rows that fall on either side
by chance. A half that holds little never holds less than nothing there: its laws are half-normal. The first
depths have too few splits to tell whether little is rows or noise, so a first pass fits the mixtures of all
depths, and the second starts from all their splits together.

The posterior mean of each split is then taken: noise-like splits shrink to even or sloped ones, clear ones
stay, and every count is non-negative. Post-processing, so free; it moves estimates only, intervals come
from least squares.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Self

import numpy as np

from discreet.arrays import Bools, Floats, Integers, Singles
from discreet.families.ranges.estimate.tree_layers import PrunedTree, Upward
from discreet.families.ranges.estimate.tree_slopes import Line
from discreet.families.ranges.queries.ranges import DEEP

WIDTHS = (0.25, 0.1, 0.04, 0.015, 0.006, 0.0025, 0.001, 0.0004)
"""Standard deviations of a half's count about an even split, relative to the whole."""
NEARLY = (0.1, 0.03)
"""The same about all on one side: a half that holds little, but not nothing."""
MOST_NEARLY = 1 << 15
"""In one depth; where there are more splits, few of them tell little from nothing, and time counts."""
ROUNDS = 25
"""Rounds of EM; after these the weights hardly move."""
PSEUDO_COUNT = 2.0
"""How many splits the weights of the depth above count for, or, in the first depth, the first ones."""
POOLED_COUNT = 10.0
"""The same where the first weights are those of all splits of the tree."""
MOST_POOLED = 1 << 15
"""Leaves of a tree of which they are; larger trees have many splits in most depths, and time counts."""
MOST_FITTED = 4096
"""Splits that take part in EM, taken evenly: more would not change the weights to be noticed."""
FEWEST_FITTED = 1024
"""Nodes of a large layer whose splits the weights are fitted to; a node has several splits."""
TINY = np.float32(1e-30)
"""Added to each likelihood, so that none is nothing."""
MOST_EXPONENT = np.float32(120)
LEAST_COUNT = 1e-9
LEAST_SPREAD = 1e-15
"""The least noise, as a part of a count; less counts as this, so that squares stay in range."""
LEAST_WEIGHT = 1e-5
"""A law of less weight is left out."""
LEAST_FITTED = 1e-30
"""A weight is never less while it is fitted, so that single precision holds it."""
LEAST_PLACE = np.float32(-8)
"""A normal law has hardly anything below it, and single precision holds what it has."""
ROOT_OF_TWO_PI = np.float32(math.sqrt(2 * math.pi))
_BLOCK = 1 << 14
"""Splits that are worked on at a time: what is in work stays in a processor's cache."""


AFTER_EVEN = 2 + len(WIDTHS)
AFTER_SIDE = AFTER_EVEN + len(NEARLY)
"""Places of the laws: even, one-sided, widths about even, widths about a side; then those of slopes: by chance
about even and about the slope, and widths about the slope."""


def first_weights(*, sloped: bool) -> Floats:
    """All laws alike, but even counts double; with slopes, an empty half is the most likely, and few rows are less so."""
    weights = np.ones(AFTER_SIDE + sloped * (2 + len(WIDTHS)))
    weights[0] = 2.0
    if sloped:
        weights[1] = 8.0
        weights[AFTER_EVEN:AFTER_SIDE] = 0.3
    return np.asarray(weights / weights.sum())


def smoothed(
    tree: PrunedTree, upward: Upward | None = None, *, sloped: bool = True
) -> list[Floats]:
    """A non-negative estimate of every node of every layer; a parent is the sum of its children.

    `sloped`: over one column of at most 2^`DEEP` cells, splits may follow the slope between neighbours.
    """
    sloped = sloped and len(tree.bits) == 1 and tree.bits[0] <= DEEP
    up = tree.upward() if upward is None else upward
    prior = PSEUDO_COUNT * first_weights(sloped=sloped)
    if sloped and sum(int(layer.stopped.sum()) for layer in tree.layers) <= MOST_POOLED:
        _, pooled = _top_down(tree, up, prior, line=Line(tree))
        prior = POOLED_COUNT / pooled.sum() * pooled
    return _top_down(tree, up, prior, line=Line(tree) if sloped else None)[0]


def smoothed_last(tree: PrunedTree) -> Floats:
    """The estimates of the last layer, without the work that only others need.

    In each layer above, a node is worked on if it has a child that is alive. Besides, the mixture weights
    are fitted to `FEWEST_FITTED` nodes, taken evenly. A layer of up to `MOST_FITTED` nodes is treated as in
    `smoothed`, without slopes: whether a node is nearly empty hardly depends on them.
    """
    prior = PSEUDO_COUNT * first_weights(sloped=False)
    return _top_down(tree, tree.upward(), prior, only_last=True)[0][-1]


def _top_down(
    tree: PrunedTree,
    up: Upward,
    prior: Floats,
    *,
    only_last: bool = False,
    line: Line | None = None,
) -> tuple[list[Floats], Floats]:
    """The counts of every layer, and how many splits of the tree follow each law, with the first `prior`.

    In each depth the sum of `prior` is how many splits the weights of the depth above count for.
    """
    counts = [np.maximum(up.value[0], 0.0)]
    count, pooled = prior.sum(), prior.copy()
    for place, block in enumerate(tree.blocks):
        alive = tree.layers[place].alive
        rows, in_fit = np.arange(len(alive)), np.ones(len(alive), dtype=np.bool_)
        if only_last and place + 1 < len(tree.blocks) and len(alive) > MOST_FITTED:
            in_fit[:] = False
            in_fit[:: len(alive) // FEWEST_FITTED] = True
            rows = np.union1d(np.flatnonzero(in_fit), block.parents(tree.layers[place + 1].alive))
        whole = counts[-1][alive[rows]][:, np.newaxis]
        if line is not None:
            line.stop(place, counts[-1])
        for level in range(len(block.axes)):
            value, noise, even = (
                each if len(rows) == len(alive) else each[rows]
                for each in (
                    up.inner_value[place][level],
                    up.inner_variance[place][level],
                    block.even(level),
                )
            )
            left, found = _left_halves(
                whole,
                (value[:, 0::2], value[:, 1::2]),
                (noise[:, 0::2], noise[:, 1::2]),
                even,
                in_fit[rows],
                prior,
                None if line is None else line.shifts(place, level, whole),
            )
            pooled += found - prior
            prior = count / found.sum() * found
            halves = np.empty((len(whole), 2 * whole.shape[1]))
            halves[:, 0::2], halves[:, 1::2] = left, whole - left
            whole = halves
        if len(rows) < len(alive):
            some, whole = whole, np.zeros(block.shape)
            whole[rows] = some
        counts.append(block.gathered(whole))
    return counts, pooled


def _left_halves(
    whole: Floats,
    value: tuple[Floats, Floats],
    noise: tuple[Floats, Floats],
    even: Floats,
    in_fit: Bools,
    prior: Floats,
    leaning: Floats | None,
) -> tuple[Floats, Floats]:
    """The left half of each count, and how many splits of this depth follow each law, with those of the `prior`.

    `leaning`: how many rows more than its even part the left half is expected to hold, by the slope.
    """
    left, spread = np.empty(whole.shape), np.empty(whole.shape)
    is_fitted = np.empty(whole.shape, dtype=np.bool_)
    for rows in _blocks(whole.shape):
        total = noise[0][rows] + noise[1][rows]
        share = np.divide(noise[0][rows], total, out=np.ones_like(total), where=total > 0)
        left[rows] = value[0][rows] * (1 - share) + (whole[rows] - value[1][rows]) * share
        apart = np.sqrt(share * noise[1][rows], out=spread[rows])
        known = apart < np.maximum(whole[rows], LEAST_COUNT)
        is_fitted[rows] = known & (apart > 0) & in_fit[rows, np.newaxis]

    def splits(*chosen: slice | Integers) -> Splits:
        return Splits(
            left[chosen] - even[chosen] * whole[chosen],
            spread[chosen],
            np.maximum(whole[chosen], LEAST_COUNT),
            even[chosen],
            None if leaning is None else leaning[chosen],
        )

    many = int(np.count_nonzero(spread))  # the others have one half beyond the domain
    fitted = np.flatnonzero(is_fitted)
    if len(fitted) > MOST_FITTED:
        fitted = fitted[:: -(-len(fitted) // MOST_FITTED)]
    mixture = Mixture.fitted(splits(*np.divmod(fitted, whole.shape[1])), prior, many)
    for rows in _blocks(whole.shape):
        noisy = spread[rows] > 0
        if noisy.all():
            left[rows] = even[rows] * whole[rows] + mixture.shrunk(splits(rows))
        elif noisy.any():
            row, column = np.nonzero(noisy)
            some = (row + rows.start, column)
            left[some] = even[some] * whole[some] + mixture.shrunk(splits(*some))
        np.clip(left[rows], 0.0, whole[rows], out=left[rows])
    return left, mixture.weights


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Rows of arrays of a shape that are worked on at a time."""
    step = max(1, _BLOCK // max(1, shape[1]))
    return (slice(start, start + step) for start in range(0, shape[0], step))


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """Splits of one depth: how far each left half was seen from an even split, in rows."""

    seen: Floats
    spread: Floats
    """The standard deviation of the noise of `seen`."""
    count: Floats
    even: Floats
    """The even part of a count: that of the cells."""
    leaning: Floats | None

    def least_spread(self) -> Floats:
        return np.maximum(self.spread, LEAST_SPREAD * self.count)

    def distances(self) -> Distances:
        """All in units of the noise."""
        per_spread = 1 / self.least_spread()
        middle, whole = self.seen * per_spread, self.count * per_spread
        right = middle + self.even * whole
        slope = chance = None
        if self.leaning is not None:
            slope = (middle - self.leaning * per_spread).astype(np.float32)
            chance = (self.even * (1 - self.even) * whole * per_spread).astype(np.float32)
        return Distances(
            middle.astype(np.float32),
            (right - whole).astype(np.float32),
            right.astype(np.float32),
            slope,
            chance,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """How far what was seen lies from an even split, from all on the left, from all on the right and from the
    sloped split; and the variance of rows that fall on either side by chance."""

    middle: Singles
    left: Singles
    right: Singles
    slope: Singles | None
    chance: Singles | None


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """How splits of one depth are spread."""

    weights: Floats
    """How many splits follow each law, with those of the prior."""
    kept: tuple[bool, ...]
    """Which laws are looked at; the others have hardly any weight."""

    @classmethod
    def fitted(cls, splits: Splits, prior: Floats, many: int) -> Self:
        """Fitted to some of so `many` splits."""
        weights = _fitted_weights(_likelihoods(splits.distances()), prior)
        # The widest law and the one-sided one stay: they account for what no other expects.
        kept = weights > LEAST_WEIGHT * weights.sum()
        kept[:3] = True
        if many > MOST_NEARLY:
            kept[AFTER_EVEN:AFTER_SIDE] = False
        return cls(weights, tuple(kept.tolist()))

    def shrunk(self, splits: Splits) -> Floats:
        """Posterior mean of the shift from an even split, seen with normal noise.

        What is looked for is how far the mean is pulled from what was seen, in units of the noise. That is
        a small number wherever little noise was added, so single precision is enough.
        """
        apart = splits.distances()
        total, mean = np.zeros_like(apart.middle), np.zeros_like(apart.middle)
        weights = self.weights[list(self.kept)].astype(np.float32)
        for weight, (likelihood, pull) in zip(weights, _laws(apart, kept=self.kept), strict=True):
            likelihood *= weight
            total += likelihood
            np.maximum(pull, apart.left, out=pull)
            np.minimum(pull, apart.right, out=pull)
            likelihood *= pull
            mean += likelihood
        mean /= total
        return splits.seen - mean * splits.least_spread()


def _laws(apart: Distances, *, kept: Sequence[bool]) -> Iterator[tuple[Singles, Singles]]:
    """Under each law that is kept: how likely what was seen is, and how far its mean is from that."""
    middle, left, right = apart.middle, apart.left, apart.right
    all_left, all_right = _normal(left), _normal(right)
    sides = all_left + all_right
    one_sided = left * all_left
    one_sided += right * all_right
    one_sided /= sides + TINY
    sides *= np.float32(0.5)
    sides += TINY
    even = _normal(middle)
    even += TINY
    yield even, middle.copy()
    yield sides, one_sided
    squares = (right - left) ** 2
    yield from _normals(middle, squares, compress(WIDTHS, kept[2:AFTER_EVEN]))
    if apart.slope is None or apart.chance is None:
        if any(kept[AFTER_EVEN:]):
            side = np.where(np.abs(left) < np.abs(right), left, right)
            yield from _normals(side, squares, compress(NEARLY, kept[AFTER_EVEN:]))
        return
    yield from _half_normals(left, right, squares, compress(NEARLY, kept[AFTER_EVEN:AFTER_SIDE]))
    by_chance, about_slope = kept[AFTER_SIDE : AFTER_SIDE + 2], kept[AFTER_SIDE + 2 :]
    for centre in compress((middle, apart.slope), by_chance):
        yield from _normals(centre, apart.chance, [1.0])
    yield from _normals(apart.slope, squares, compress(WIDTHS, about_slope))


def _likelihoods(apart: Distances) -> Singles:
    """How likely what was seen is under each law, one row a law: as `_laws` says, without the means."""
    laws = len(first_weights(sloped=apart.slope is not None))
    found = np.zeros((laws, len(apart.middle)), dtype=np.float32)
    found[0] = _normal(apart.middle)
    found[1] = _normal(apart.left)
    found[1] += _normal(apart.right)
    found[1] *= np.float32(0.5)
    squares = (apart.right - apart.left) ** 2
    _fill_normals(found[2:AFTER_EVEN], apart.middle, squares, WIDTHS)
    if apart.slope is None or apart.chance is None:
        side = np.where(np.abs(apart.left) < np.abs(apart.right), apart.left, apart.right)
        _fill_normals(found[AFTER_EVEN:], side, squares, NEARLY)
        found += TINY
        return found
    by_chance = found[AFTER_SIDE : AFTER_SIDE + 2]
    _fill_normals(by_chance[:1], apart.middle, apart.chance, [1.0])
    _fill_normals(by_chance[1:], apart.slope, apart.chance, [1.0])
    _fill_normals(found[AFTER_SIDE + 2 :], apart.slope, squares, WIDTHS)
    found += TINY
    few = _half_normals(apart.left, apart.right, squares, NEARLY)
    found[AFTER_EVEN:AFTER_SIDE] = [likelihood for likelihood, _ in few]
    return found


def _fill_normals(
    likelihood: Singles, distance: Singles, squares: Singles, widths: Sequence[float]
) -> None:
    """The likelihoods of `_normals`, one row a width."""
    precision: Singles = np.multiply.outer(np.float32(np.square(widths)), squares)
    precision += np.float32(1)
    np.reciprocal(precision, out=precision)
    np.multiply(precision, np.float32(-0.5) * distance * distance, out=likelihood)
    np.exp(likelihood, out=likelihood)
    likelihood *= np.sqrt(precision, out=precision)


def _normals(
    distance: Singles, squares: Singles, widths: Iterable[float]
) -> Iterator[tuple[Singles, Singles]]:
    """Under normal laws of some widths, about what was seen at this distance: as `_laws`."""
    exponent = np.float32(-0.5) * distance * distance
    for width in widths:
        precision = squares * np.float32(width**2)
        precision += np.float32(1)
        np.reciprocal(precision, out=precision)
        likelihood = exponent * precision
        np.exp(likelihood, out=likelihood)
        likelihood *= np.sqrt(precision)
        likelihood += TINY
        precision *= distance
        yield likelihood, precision


def _half_normals(
    left: Singles, right: Singles, squares: Singles, scales: Iterable[float]
) -> Iterator[tuple[Singles, Singles]]:
    """Under half-normal laws of the half that holds less, so that it never holds less than nothing: as `_laws`."""
    from scipy.special import ndtr  # slow to import, and few trees need it

    is_left = np.abs(left) < np.abs(right)
    seen = np.where(is_left, -left, right)
    inwards = np.where(is_left, np.float32(-1), np.float32(1))
    for scale in scales:
        precision = 1 / (1 + squares * np.float32(scale**2))
        spread = np.sqrt(1 - precision)
        place = np.maximum(seen * spread, LEAST_PLACE)
        inside = ndtr(place)
        likelihood = inside * np.sqrt(precision)
        likelihood *= np.exp(np.float32(-0.5) * seen * seen * precision)
        likelihood += TINY
        pushed = spread * _normal(place) / (inside * ROOT_OF_TWO_PI)
        yield likelihood, inwards * (seen * precision - pushed)


def _fitted_weights(likelihood: Singles, prior: Floats) -> Floats:
    """EM for the weights of a mixture: how many splits follow each law, with those of the prior. A law's likelihoods stand in a row."""
    many = likelihood.shape[1]
    if not many:
        return prior
    scaled = np.divide(likelihood, likelihood.max(axis=0), out=likelihood)
    prior = np.maximum(prior, LEAST_FITTED)
    weights = prior.copy()
    seen = np.empty(many, dtype=np.float32)
    # Every column of `scaled` holds a one, so all here is finite. But the matrix products of some processors
    # also multiply what lies beside the arrays, and then say "invalid value" of finite numbers.
    with np.errstate(invalid="ignore"):
        for _ in range(ROUNDS):
            # Sum over splits of (scaled * weights / column sum), as two matrix products. A common factor of
            # the weights does not matter here.
            np.dot(weights.astype(np.float32), scaled, out=seen)
            weights *= np.dot(scaled, np.reciprocal(seen, out=seen))
            weights += prior
    return weights


def _normal(distance: Singles) -> Singles:
    exponent = np.minimum(distance * distance, MOST_EXPONENT)
    exponent *= np.float32(-0.5)
    density: Singles = np.exp(exponent, out=exponent)
    return density
