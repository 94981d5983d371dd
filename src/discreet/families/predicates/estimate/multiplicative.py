"""Multiplicative weights over parts: a table that agrees with the noisy answers seen so far."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.arrays import Bools, Floats, Integers
from discreet.artifacts.measurement import Measurement, Selection
from discreet.errors import BadInput
from discreet.families.halfspaces.estimate.reference import BIAS
from discreet.families.shared.estimate.public_random import generator

PASSES = 20
"""Times that all answers seen so far are gone through after each new one."""
TABLES = 12
"""Public tables on which a run is simulated: on a single one a first guess may be right by luck."""


def reweighted(
    weights: Floats, rows: Sequence[Bools], answers: Sequence[float], total: float
) -> Floats:
    """`weights` (which add to `total`) moved towards the answers, as in Hardt, Ligett, McSherry 2012."""
    if total <= 0:
        return np.zeros(len(weights))
    for _ in range(PASSES):
        for row, answer in zip(rows, answers, strict=True):
            gap = (answer - float(weights[row].sum())) / total
            weights = np.where(row, weights * np.exp(np.clip(gap, -4, 4) / 2), weights)
            mass = float(weights.sum())
            weights = (
                weights * (total / mass)
                if mass > 0
                else np.full(len(weights), total / len(weights))
            )
    return weights


def foreseen_error(
    workload: Bools,
    part: Integers,
    shape: Sequence[tuple[int, int]],
    *,
    rows: float,
    rounds: int,
    selecting: float,
    noise: float,
) -> float:
    """The mean absolute error to expect over the predicates, in rows: of runs on `TABLES` public tables.

    In such a table columns are independent, and each is a cascade: every halving of its values gives one
    half `BIAS` of the rows. `shape` is each column's cells, and how many of them are values. `selecting`
    is the epsilon of one selection, for scores that one row moves by 1; `noise` the standard deviation
    of one measured number. All draws are public ones.
    """
    cells = np.bincount(part, minlength=workload.shape[1]).astype(np.float64)
    errors = []
    for table in range(TABLES):
        truth = rows * _public_table(workload.shape[1], part, shape, table)
        errors.append(_simulated(workload, cells, truth, rows, rounds, selecting, noise, table))
    return float(np.mean(errors))


def _public_table(
    parts: int, part: Integers, shape: Sequence[tuple[int, int]], table: int
) -> Floats:
    """The share of the rows that each part holds, in one public table."""
    mass: Floats = np.ones(1)
    for place, (all_cells, values) in enumerate(shape):
        own = np.zeros(all_cells)
        own[:values] = _cascade(values, table * len(shape) + place)
        mass = np.multiply.outer(mass, own).reshape(-1)
    return np.asarray(np.bincount(part, mass, parts), dtype=np.float64)


def _simulated(
    workload: Bools,
    cells: Floats,
    truth: Floats,
    rows: float,
    rounds: int,
    selecting: float,
    noise: float,
    seed: int,
) -> float:
    """The mean absolute error over the predicates of one run."""
    draw = generator(seed)
    scale = noise / math.sqrt(2)
    total = max(0.0, rows + scale * float(draw.laplace()))  # it is measured, too
    weights = cells * (total / cells.sum())
    seen: list[Bools] = []
    answers: list[float] = []
    exact = workload @ truth
    for _ in range(rounds):
        score = selecting / 2 * np.abs(exact - workload @ weights)
        chosen = int(np.argmax(score + draw.gumbel(size=len(score))))
        seen.append(workload[chosen])
        answers.append(float(exact[chosen]) + scale * float(draw.laplace()))
        weights = reweighted(weights, seen, answers, total)
    return float(np.abs(exact - workload @ weights).mean())


def _cascade(cells: int, seed: int) -> Floats:
    """Shares of so many cells, which add to 1."""
    draw = generator(seed)
    mass = np.ones(1)
    while len(mass) < cells:
        heavy = draw.random(len(mass)) < 0.5
        left = np.where(heavy, BIAS, 1 - BIAS)
        mass = np.stack([mass * left, mass * (1 - left)], axis=1).reshape(-1)
    kept = mass[:cells]
    return np.asarray(kept / kept.sum())


def model_bound(
    chosen: Selection, noisy: Measurement, model_answer: int, confidence: float
) -> float:
    """A bound that holds for all predicates at once, with probability `confidence`.

    The score of the chosen predicate, its model's error, is at most |noisy answer - model's| plus the
    noise; the largest score of all exceeds that by at most (2 s / epsilon) ln(candidates / beta).
    Each of the two fails with half of 1 - confidence.
    """
    epsilon = chosen.cost.epsilon
    if epsilon is None or epsilon <= 0:
        raise BadInput("The selection states no epsilon.")
    beta = (1 - confidence) / 2
    shortfall = 2 * chosen.sensitivity / float(epsilon) * math.log(chosen.candidates / beta)
    seen = abs(int(noisy.values[0]) - model_answer)
    return float(seen + noisy.law.half_width(1 - beta) + math.ceil(shortfall))
