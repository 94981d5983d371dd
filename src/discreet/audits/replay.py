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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from discreet.artifacts.files import release_bytes
from discreet.artifacts.release import Release
from discreet.audits.losses import StepLoss, step_losses, tree_levels
from discreet.audits.observing import Divergence, Tape, recording, replaying
from discreet.audits.tables import GeneratedTable, written
from discreet.errors import DiscreetError
from discreet.kernel.ledger import Ledger
from discreet.kernel.noise import NoiseSource
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.conversion import discrete_gaussian_delta_one_coordinate, gaussian_delta
from discreet.privacy.cost import Accounting, allowance
from discreet.privacy.laws import DiscreteGaussianLaw, RoundedGaussianLaw

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


def check_pair(table: GeneratedTable, neighbour: GeneratedTable, run: Runner) -> list[StepLoss]:
    """Record on `table`, replay on `neighbour`, and raise `Divergence` at the first thing that gives them away."""
    one = traced(table, run)
    other = traced(neighbour, run, recorded=one.tape)
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
    if accounting is Accounting.CONCENTRATED:
        allowed = allowance(budget, accounting)
        total = sum((loss.rho for loss in losses), Fraction(0))
        if total > allowed.rho:
            raise Divergence(f"a neighbour is told apart by rho {total}, charged {allowed.rho}")
        return
    assert budget.notion is Notion.EPSILON
    pure = sum((loss.epsilon for loss in losses if loss.epsilon is not None), Fraction(0))
    if pure > budget.epsilon:
        raise Divergence(f"a neighbour is told apart by epsilon {pure}, charged {budget.epsilon}")
    gaussian = [loss for loss in losses if loss.epsilon is None]
    if not gaussian:
        return
    if len(gaussian) == 1 and isinstance(gaussian[0].law, DiscreteGaussianLaw):
        (loss,) = gaussian
        shift = int(loss.l2_squared**0.5)
        delta = discrete_gaussian_delta_one_coordinate(
            sigma_squared=gaussian[0].law.sigma_squared, shift=shift, epsilon=budget.epsilon - pure
        )
    else:
        # Rounded Gaussians are post-processing of continuous ones, whose squared shifts add.
        assert all(isinstance(loss.law, RoundedGaussianLaw) for loss in gaussian)
        squares = sum((2 * loss.rho for loss in gaussian), Fraction(0))
        delta = gaussian_delta(
            sigma_squared=1 / squares, l2_squared=1, epsilon=budget.epsilon - pure
        )
    if delta > budget.delta:
        raise Divergence(f"a neighbour is told apart with delta {float(delta)}")
