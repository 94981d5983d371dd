"""How much less noise Gaussian differential privacy (mu) needs than zCDP (rho), for the same (epsilon, delta).

    python benchmarks/accounting.py

For each budget: the standard deviation of Gaussian noise, mu against rho (bar: .965). The same for what a plan
expects of two-way tables and of ranges (bar: .97). How much more a cap holds of counts at one error (bar: 1.07
times as many). And that a total in mu is no lower than the exact one of `dp_accounting`, and no more than 1% above
it (bars: 1 and 1.01). One JSON line a bar.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dp_accounting.pld import privacy_loss_distribution

import discreet as dc
from benchmarks.support.bars import bar
from discreet.privacy.cost import Accounting, allowance
from discreet.privacy.guidance import epsilon_at
from discreet.releases.preparing import prepare

BUDGETS = [
    dc.Budget(epsilon=epsilon, delta=delta)
    for epsilon in ("0.1", 1, 3)
    for delta in ("1e-5", "1e-6", "1e-9")
]
WORKLOADS = {
    "two-way tables": ("marginals(2)", {"marginals(2)": "residuals"}),
    "ranges": ("intervals(c0)", {"intervals(c0)": "strategy"}),
}
LEAST_NOISE, LEAST_ERROR, MORE_COUNTS, CLOSE = 0.965, 0.97, 1.07, 1.01


def noise(budget: dc.Budget) -> float:
    """The ratio of the standard deviations of one Gaussian table."""
    rho, mu = (
        allowance(budget, accounting)
        for accounting in (Accounting.CONCENTRATED, Accounting.GAUSSIAN)
    )
    return math.sqrt(2 * rho.rho / mu.mu_squared)


def planned(budget: dc.Budget, workload: str, algorithms: dict[str, str]) -> float:
    """The ratio of the errors that a plan expects."""
    columns = "\n".join(f'[columns.c{k}]\nkind = "integer"\nrange = [0, 63]' for k in range(6))
    schema = dc.Schema.loads(f'dataset = "table"\npeople = 100000\n{columns}')
    rho, mu = (
        prepare(
            schema, budget=budget, workload=workload, algorithms=algorithms, accounting=accounting
        )
        .parts[0]
        .error(rows=100_000, confidence=0.95)
        .expected
        for accounting in (Accounting.CONCENTRATED, Accounting.GAUSSIAN)
    )
    assert rho is not None and mu is not None
    return mu / rho


def counts_held(budget: dc.Budget) -> float:
    """How many times as many counts with noise of one size a cap in mu holds."""
    rho = allowance(budget, Accounting.CONCENTRATED).rho
    return float(allowance(budget, Accounting.GAUSSIAN).mu_squared / (2 * rho))


def against_the_exact_total(budget: dc.Budget, uses: int = 20) -> float:
    """Our epsilon of many Gaussian answers together, by the exact one."""
    square = allowance(budget, Accounting.GAUSSIAN).mu_squared / uses
    one = privacy_loss_distribution.from_gaussian_mechanism(
        1 / math.sqrt(square), value_discretization_interval=1e-4
    )
    exact = one.self_compose(uses).get_epsilon_for_delta(float(budget.delta))
    total = dc.Budget.of_mu_squared(square * uses)
    return float(epsilon_at(total, delta=Fraction(budget.delta))) / exact


def main() -> int:
    met = True
    for budget in BUDGETS:
        met &= bar(f"Gaussian noise, mu against rho, {budget}", noise(budget), LEAST_NOISE)
        met &= bar(
            f"counts of one error under a cap, rho against mu, {budget}",
            1 / counts_held(budget),
            1 / MORE_COUNTS,
        )
    for name, (workload, algorithms) in WORKLOADS.items():
        budget = dc.Budget(epsilon=1, delta="1e-6")
        met &= bar(
            f"expected error of {name}, mu against rho, {budget}",
            planned(budget, workload, algorithms),
            LEAST_ERROR,
        )
    for budget in BUDGETS[3:6]:
        ratio = against_the_exact_total(budget)
        met &= bar(f"epsilon of 20 answers in mu, against the exact one, {budget}", ratio, CLOSE)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
