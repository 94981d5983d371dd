"""The replay oracle: run on a table, replay the same outputs on a neighbour, compare everything.

Three things are required of any release, on any pair of neighbours:
  1. the exact numbers that went into the noise differ by no more than the charge pays for,
     added up over the whole run from the noise really drawn (`losses`);
  2. everything else is identical: questions to the engine, steps, shapes, charges, progress,
     warnings, log lines, error messages;
  3. the published file is identical to the last byte, for it may depend on noisy numbers only.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.artifacts.files import release_bytes
from discreet.artifacts.release import Release
from discreet.audits.guessing.tables import GeneratedTable
from discreet.audits.losses import StepLoss, Use, step_losses, tree_levels
from discreet.audits.observing import Divergence, Tape, recording, replaying
from discreet.core.noise import NoiseSource
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.conversion import gaussian_delta
from discreet.privacy.cost import Accounting, allowance
from discreet.privacy.laws import RoundedGaussianLaw
from discreet.releases.run import release
from discreet.schema import Schema
from tests.harness.material.tables import Job, random_table, written
from tests.harness.random_neighbours import neighbours, random_job

if TYPE_CHECKING:
    from numpy.random import Generator

Runner = Callable[[Path, Ledger, Callable[[str, float], None]], Release]
"""Makes a release of the table at a path, charging a ledger and reporting progress."""


@dataclass(slots=True)
class Trace:
    """What an onlooker could see of one run, beside the release itself."""

    tape: Tape = field(default_factory=Tape)
    release: Release | None = None
    error: str = ""
    log: list[str] = field(default_factory=list)
    steps_shown: list[str] = field(default_factory=list)
    charges: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AuditedPairs:
    """What an audit went through without finding anything."""

    pairs: int
    algorithms: dict[str, int]
    """How many pairs each algorithm took part in."""
    largest_rho: float
    """The most that any pair was told apart by: above 0, or the audit looked at nothing."""


class _LogKeeper(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__(level=logging.NOTSET)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(f"{record.name} {record.levelname} {record.getMessage()}")


def traced(
    table: GeneratedTable,
    run: Runner,
    *,
    recorded: Tape | None = None,
    drawn: NoiseSource | None = None,
) -> Trace:
    """Run on a table that the audit generated, recording, or replaying what was recorded."""
    trace = Trace()
    keeper = _LogKeeper(trace.log)
    root = logging.getLogger()
    root.addHandler(keeper)
    try:
        with tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder:
            path = written(table, Path(folder))
            watch = recording(drawn) if recorded is None else replaying(recorded)
            with (
                watch as trace.tape,
                Ledger.open(Path(folder) / "ledger.db") as ledger,
                warnings.catch_warnings(record=True) as caught,
            ):
                warnings.simplefilter("always")
                try:
                    trace.release = run(
                        path, ledger, lambda step, done: trace.steps_shown.append(step)
                    )
                except DiscreetError as error:
                    trace.error = f"{type(error).__name__}: {error}".replace(folder, "")
                trace.charges = [
                    f"{entry.dataset} {entry.cost} {entry.state}" for entry in ledger.entries()
                ]
            trace.log.extend(str(warning.message) for warning in caught)
    finally:
        root.removeHandler(keeper)
    return trace


def check_neighbours(
    table: GeneratedTable, neighbours: Iterable[GeneratedTable], run: Runner
) -> list[list[StepLoss]]:
    """Record on `table`, replay on each neighbour; `Divergence` at the first thing that gives one away."""
    recorded = traced(table, run)
    return [
        compared(recorded, traced(neighbour, run, recorded=recorded.tape))
        for neighbour in neighbours
    ]


def compared(one: Trace, other: Trace) -> list[StepLoss]:
    """The losses between a recorded run and its replay, once everything else is found alike."""
    for what in ("error", "log", "charges"):
        if getattr(one, what) != getattr(other, what):
            raise Divergence(f"the {what} of two neighbouring tables differ")
    if list(dict.fromkeys(one.steps_shown)) != list(dict.fromkeys(other.steps_shown)):
        raise Divergence("the progress of two neighbouring tables differs")
    if one.tape.questions != other.tape.questions:
        raise Divergence("the engine was asked other questions on a neighbouring table")
    if one.release is None or other.release is None:
        return []
    if release_bytes(one.release) != release_bytes(other.release):
        raise Divergence("with the same noisy numbers, two neighbouring tables give other files")
    losses = step_losses(one.tape.steps, other.tape.steps, tree_levels(one.release))
    check_charged(losses, one.release.budget, one.release.accounting)
    return losses


def check_charged(losses: Sequence[StepLoss], budget: Budget, accounting: Accounting) -> None:
    """The losses of a run against what was charged for it."""
    if accounting is Accounting.GAUSSIAN:
        _check_mu(losses, allowance(budget, accounting).mu_squared)
        return
    if accounting is Accounting.CONCENTRATED:
        allowed = allowance(budget, accounting)
        if any(loss.delta for loss in losses):
            raise Divergence("keys were named under an accounting that has no delta for it")
        total = sum((loss.rho for loss in losses), Fraction(0))
        if total > allowed.rho:
            raise Divergence(f"a neighbour is told apart by rho {total}, charged {allowed.rho}")
        return
    assert budget.notion is Notion.EPSILON
    pure = sum((loss.epsilon for loss in losses if loss.epsilon is not None), Fraction(0))
    if pure > budget.epsilon:
        raise Divergence(f"a neighbour is told apart by epsilon {pure}, charged {budget.epsilon}")
    naming = sum((loss.delta for loss in losses), Fraction(0))
    if naming > budget.delta:
        raise Divergence(f"a neighbour is told apart with delta {float(naming)}")
    uses = [loss.use for loss in losses if loss.epsilon is None and loss.use is not None]
    if not uses:
        return
    delta = joint_delta(uses, epsilon=budget.epsilon - pure)
    if delta + naming > budget.delta:
        raise Divergence(f"a neighbour is told apart with delta {float(delta)}")


def joint_delta(uses: Sequence[Use], *, epsilon: Fraction) -> Fraction:
    """The delta at `epsilon` of several uses, each without an epsilon of its own.

    Those of rounded Gaussian noise are continuous Gaussian mechanisms: their squared shifts, in sigmas, add.
    """
    if len(uses) == 1:
        (use,) = uses
        return use.law.cost(use.sensitivity, size=use.size, epsilon=epsilon).delta
    if any(type(use.law) is not RoundedGaussianLaw for use in uses):
        raise Divergence(f"no joint delta is proved for {len(uses)} uses of these laws")
    rhos = [use.law.cost(use.sensitivity, size=use.size).rho for use in uses]
    squares = sum((2 * rho for rho in rhos if rho is not None), Fraction(0))
    return gaussian_delta(sigma_squared=1 / squares, l2_squared=1, epsilon=epsilon)


def _check_mu(losses: Sequence[StepLoss], allowed: Fraction) -> None:
    if any(loss.delta or loss.mu_squared is None for loss in losses):
        raise Divergence("a step has no mu, under an accounting that adds squares of mu")
    total = sum((loss.mu_squared for loss in losses if loss.mu_squared), Fraction(0))
    if total > allowed:
        raise Divergence(f"a neighbour is told apart by mu^2 {total}, charged {allowed}")


def audit_pairs(pairs: int, generator: Generator, *, per_table: int = 4) -> AuditedPairs:
    """Replay random releases of random tables on `pairs` random neighbours; `Divergence` if one gives itself away."""
    checked, largest = 0, 0.0
    algorithms: dict[str, int] = {}
    while checked < pairs:
        table = random_table(generator)
        job = random_job(table.schema, generator)

        def run(
            path: Path,
            ledger: Ledger,
            progress: Callable[[str, float], None],
            schema: Schema = table.schema,
            job: Job = job,
        ) -> Release:
            return release(
                path,
                schema,
                budget=job.budget,
                workload=job.classes,
                algorithms=job.algorithms,
                ledger=ledger,
                progress=progress,
            ).release

        wanted = min(per_table, pairs - checked)
        for losses in check_neighbours(table, neighbours(table, generator, most=wanted), run):
            checked += 1
            total = sum((loss.rho for loss in losses), Fraction(0))
            largest = max(largest, float(total))
        for name in job.algorithms.values():
            algorithms[name] = algorithms.get(name, 0) + wanted
    return AuditedPairs(pairs=checked, algorithms=algorithms, largest_rho=largest)
