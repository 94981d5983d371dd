"""AIM (McKenna, Mullins, Sheldon, Miklau 2022): the opponent in the benchmark of marginals.

The published selection rule, noise schedule, annealing and limit on the model's size, on a junction
tree in numpy that is warm-started and run to convergence after each measurement. It
draws its noise in floats, which the product may not do and which only helps it here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from benchmarks.baselines.junction_tree import Columns, JunctionTree, megabytes

MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
SHARE = 0.9
"""The measurement's part of a round's budget; the rest selects."""


def aim(
    codes: np.ndarray,
    sizes: Sequence[int],
    workload: Sequence[Columns],
    *,
    rho: float,
    generator: np.random.Generator,
    largest: float = 1.0,
    steps: int = 300,
    last_steps: int = 3000,
) -> np.ndarray:
    """Synthetic rows for `workload` under rho-zCDP; `largest` is the model's size in megabytes."""
    return _Run(codes, sizes, workload, rho, generator, largest, steps, last_steps).rows()


def marginal(codes: np.ndarray, sizes: Sequence[int], columns: Columns) -> np.ndarray:
    shape = [int(sizes[column]) for column in columns]
    place = np.zeros(len(codes), dtype=np.int64)
    for column in columns:
        place = place * int(sizes[column]) + codes[:, column]
    return np.bincount(place, minlength=math.prod(shape)).astype(float).reshape(shape)


class _Run:
    def __init__(
        self,
        codes: np.ndarray,
        sizes: Sequence[int],
        workload: Sequence[Columns],
        rho: float,
        generator: np.random.Generator,
        largest: float,
        steps: int,
        last_steps: int,
    ) -> None:
        self.sizes, self.rho, self.generator = [int(s) for s in sizes], rho, generator
        self.largest, self.steps, self.last_steps = largest, steps, last_steps
        below = {c for w in workload for n in range(1, len(w) + 1) for c in combinations(w, n)}
        self.weights = {
            c: sum(len(set(c) & set(w)) for w in workload)
            for c in sorted(below, key=lambda c: (len(c), c))
        }
        self.exact = {c: marginal(codes, sizes, c) for c in self.weights}
        rounds = 16 * len(self.sizes)
        self.sigma = math.sqrt(rounds / (2 * SHARE * rho))
        self.epsilon = math.sqrt(8 * (1 - SHARE) * rho / rounds)
        self.measured: dict[Columns, tuple[np.ndarray, float]] = {}

    def rows(self) -> np.ndarray:
        single = [columns for columns in self.weights if len(columns) == 1]
        for columns in single:
            self._measure(columns)
        used = len(single) * 0.5 / self.sigma**2
        self.tree = JunctionTree(self.sizes, single)
        self.rate = self.sigma**2 / self._total()
        tables = self._fitted(100)
        last = False
        while not last:
            cost = self.epsilon**2 / 8 + 0.5 / self.sigma**2
            if self.rho - used < 2 * cost:
                left = self.rho - used
                self.sigma = math.sqrt(1 / (2 * SHARE * left))
                self.epsilon = math.sqrt(8 * (1 - SHARE) * left)
                last = True
            used += self.epsilon**2 / 8 + 0.5 / self.sigma**2
            chosen, before = self._select(tables, self.largest * used / self.rho)
            self._measure(chosen)
            self._extend(chosen)
            tables = self._fitted(self.last_steps if last else self.steps)
            after = self.tree.marginal(tables, chosen)
            assert after is not None
            if np.abs(after - before).sum() <= self.sigma * MEAN_ABSOLUTE * after.size:
                self.sigma, self.epsilon = self.sigma / 2, self.epsilon * 2
        return self.tree.sample(tables, round(self._total()), self.generator)

    def _measure(self, columns: Columns) -> None:
        exact = self.exact[columns]
        noisy = exact + self.sigma * self.generator.standard_normal(exact.shape)
        weight = 1 / self.sigma**2
        if columns in self.measured:
            old, had = self.measured[columns]
            noisy, weight = (old * had + noisy * weight) / (had + weight), had + weight
        self.measured[columns] = noisy, weight

    def _total(self) -> float:
        sums = [(noisy.sum(), weight / noisy.size) for noisy, weight in self.measured.values()]
        return max(1.0, sum(s * w for s, w in sums) / sum(w for _, w in sums))

    def _select(self, tables: list[np.ndarray], limit: float) -> tuple[Columns, np.ndarray]:
        """The exponential mechanism on weighted errors beyond the noise, among models small enough."""
        allowed = [
            c
            for c in self.weights
            if self.tree.home(c) is not None
            or megabytes(self.sizes, [*self.tree.cliques, c]) <= limit
        ]
        known = self.tree.pairs(tables, [c for c in allowed if len(c) == 2])
        for columns in allowed:
            if columns not in known:
                table = self.tree.marginal(tables, columns)
                assert table is not None
                known[columns] = table
        noise = MEAN_ABSOLUTE * self.sigma
        scores = np.array(
            [
                self.weights[c] * (np.abs(self.exact[c] - known[c]).sum() - noise * known[c].size)
                for c in allowed
            ]
        )
        most = max(self.weights[c] for c in allowed)
        odds = np.exp(0.5 * self.epsilon / most * (scores - scores.max()))
        chosen = allowed[self.generator.choice(len(allowed), p=odds / odds.sum())]
        return chosen, known[chosen]

    def _extend(self, columns: Columns) -> None:
        """A tree that holds the new columns too, with the old potentials in it."""
        if self.tree.home(columns) is not None:
            return
        tree = JunctionTree(self.sizes, [*self.tree.cliques, columns])
        for clique, potential in zip(self.tree.cliques, self.tree.potentials, strict=True):
            home = tree.home(clique)
            assert home is not None
            tree.potentials[home] += tree.widened(potential, home, clique)
        self.tree = tree

    def _fitted(self, steps: int) -> list[np.ndarray]:
        """Mirror descent on the weighted squared errors, with a step size that adapts."""
        tree, total = self.tree, self._total()
        tables = tree.beliefs(tree.potentials, total)
        errors, loss = self._errors(tables)
        for _ in range(steps):
            trial = [potential.copy() for potential in tree.potentials]
            for columns, error in errors.items():
                home = tree.home(columns)
                assert home is not None
                step = self.rate * self.measured[columns][1] * error
                trial[home] -= tree.widened(step, home, columns)
            found = tree.beliefs(trial, total)
            errors_then, loss_then = self._errors(found)
            moved = sum(
                float((self.measured[c][1] * errors[c] * (errors[c] - errors_then[c])).sum())
                for c in errors
            )
            if loss - loss_then < 0.5 * self.rate * moved:
                self.rate *= 0.5
                continue
            settled = (loss - loss_then) / loss < 1e-6
            tree.potentials, tables = trial, found
            errors, loss, self.rate = errors_then, loss_then, self.rate * 1.25
            if settled:
                break
        return tables

    def _errors(self, tables: list[np.ndarray]) -> tuple[dict[Columns, np.ndarray], float]:
        errors, loss = {}, 0.0
        for columns, (noisy, weight) in self.measured.items():
            table = self.tree.marginal(tables, columns)
            assert table is not None
            errors[columns] = table - noisy
            loss += 0.5 * weight * float((errors[columns] ** 2).sum())
        return errors, loss
