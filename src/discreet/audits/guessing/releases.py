"""The audit of a whole release, for any schema and workload, on neighbouring tables made here.

The custodian's rows are never opened: a few rows are invented that lie at the ends of the declared
domains, and one unit is added, or changed from one end to the other. The release's own code then
runs on both tables. A player who knows everything but the secret coin scores each output by its
log-likelihood ratio: recorded on one table and replayed on the other, it shows both tables' exact numbers, and
the noise laws do the rest. The score depends on the outputs alone, so the certificate needs no assumption.

No power is claimed: a release of many numbers reaches its epsilon only in a tiny tail. What a
guessing game cannot see, the replay and the test of each recorded noise law do.
"""

from __future__ import annotations

import copy
import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.artifacts.release import Release
from discreet.audits.guessing.game import (
    FALSE_POSITIVE_RATE,
    Finding,
    certified_from_scores,
    fair_coins,
    log_ratio,
)
from discreet.audits.guessing.laws import LawCheck, NoisePool
from discreet.audits.guessing.tables import neighbouring_tables, written_to
from discreet.audits.losses import step_losses, tree_levels
from discreet.audits.observing import Divergence, Step, Tape, recording, replaying
from discreet.core.noise import NoiseSource
from discreet.engines import open_engine
from discreet.engines.protocol import Engine
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.guidance import epsilon_at
from discreet.privacy.laws import NoiseLaw
from discreet.queries.measurable import Counts
from discreet.releases.preparing import Workload

# The loop that makes every release; only the ledger and the engine around it are replaced.
from discreet.releases.run import Run
from discreet.schema import CsvOptions, Schema

RUNS = 5_000
"""Enough to see noise a fifth too small even where a run draws one number only."""
FAST_RUNS = 1_000
RHO_DELTA = Fraction(1, 10**6)
"""A budget in rho is audited as the epsilon that it gives at this delta."""
IMPOSSIBLE = -1e6
"""Instead of ln 0, so that what both tables rule out stays comparable."""
PILOT, LEAST = 20, 100
"""Runs after which the pace is known, and the fewest runs that are made at any pace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFinding:
    """The game on a whole release, the noise laws, and whether a replay went astray."""

    finding: Finding
    laws: tuple[LawCheck, ...]
    diverged: str = ""

    @property
    def failing_laws(self) -> tuple[LawCheck, ...]:
        rate = self.finding.false_positive_rate / 2 / max(1, len(self.laws))
        return tuple(check for check in self.laws if check.refuted(rate))

    @property
    def refuted(self) -> bool:
        return self.finding.refuted or bool(self.failing_laws) or bool(self.diverged)

    @property
    def verdict(self) -> str:
        if self.diverged:
            return f"refuted: {self.diverged}"
        if self.failing_laws:
            check = self.failing_laws[0]
            return f"refuted: noise of {check.law.kind} is not as recorded ({check.worst})"
        return self.finding.verdict

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.finding.to_dict(),
            "verdict": self.verdict,
            "noise_laws": [check.to_dict() for check in self.laws],
            "power": "not claimed for whole releases",
        }


def audit_release(
    schema: Schema,
    *,
    budget: Budget,
    workload: Workload,
    algorithms: Mapping[str, str] | None = None,
    runs: int = RUNS,
    seconds: float | None = None,
    false_positive_rate: float = FALSE_POSITIVE_RATE,
    drawn: NoiseSource | None = None,
) -> ReleaseFinding:
    """Audit what `release` would do for this schema, budget and workload.

    With `seconds`, fewer runs than `runs` where the first ones show that these would take longer;
    how long a run takes says nothing of how well it is guessed, so the certificate stays valid.
    Half of the false-positive rate goes to the game, half to all the law tests together.
    `drawn` puts another source of noise in place of the real one: for tests of the audit itself.
    """
    plain = replace(schema, csv=CsvOptions())
    run = Run(plain, budget, workload, 0.95, algorithms, None)
    with ExitStack() as stack:
        engines, diverged = _worst_neighbours(plain, run, stack)
        if diverged:
            return _diverged(run, diverged, runs, false_positive_rate)
        bits = fair_coins(runs)
        scores = np.empty(runs)
        pool = NoisePool()
        pace = Pace(runs, seconds)
        for place, bit in enumerate(bits):
            if pace.is_over(place):
                break
            try:
                scores[place], recorded = scored_run(run, engines, int(bit), drawn)
            except Divergence as error:
                return _diverged(run, str(error), runs, false_positive_rate)
            pool.add(recorded)
    runs = pace.runs
    epsilon, delta = _claim(run)
    certified = certified_from_scores(
        scores[:runs], bits[:runs], delta=float(delta), false_positive_rate=false_positive_rate / 2
    )
    finding = _finding(run, certified, runs, false_positive_rate, epsilon, delta)
    return ReleaseFinding(finding=finding, laws=tuple(pool.checks()))


class Pace:
    """How many runs fit: decided once, after a few, by the processor's clock alone."""

    def __init__(self, runs: int, seconds: float | None) -> None:
        self.runs, self._seconds = runs, seconds
        self._started = time.process_time()

    def is_over(self, done: int) -> bool:
        if done == PILOT and self._seconds is not None:
            each = max(1e-9, time.process_time() - self._started) / PILOT
            self.runs = min(self.runs, max(LEAST, int(self._seconds / each)))
        return done >= self.runs


def _claim(run: Run) -> tuple[Fraction, Fraction]:
    charge = run.prospect.charge
    if charge.notion is not Notion.EPSILON:
        return epsilon_at(charge, delta=RHO_DELTA), RHO_DELTA
    return charge.epsilon, charge.delta


def _finding(
    run: Run, certified: float, runs: int, rate: float, epsilon: Fraction, delta: Fraction
) -> Finding:
    parts = run.prospect.parts
    return Finding(
        subject=", ".join(f"{part.query_class.text} by {part.algorithm}" for part in parts),
        claimed=float(epsilon),
        delta=float(delta),
        certified=certified,
        runs=runs,
        false_positive_rate=rate,
        game="guessing by likelihood ratio; no assumption, no claim of power",
    )


def _diverged(run: Run, why: str, runs: int, rate: float) -> ReleaseFinding:
    finding = _finding(run, float("inf"), runs, rate, *_claim(run))
    return ReleaseFinding(finding=finding, laws=(), diverged=why)


# --- one run ------------------------------------------------------------------------------


class _FreeLedger:
    """Grants every charge: the tables are invented, and nobody is in them."""

    def cap(self, dataset: str) -> None:
        return None

    known_cap = cap

    def declare(self, dataset: str, cap: Budget, **named: object) -> None:
        pass

    def charge(self, dataset: str, cost: Budget, **named: object) -> object:
        return object()

    def begin_reading(self, entry: object) -> None:
        pass

    def publish(self, entry: object, digest: str) -> None:
        pass


class RememberingEngine:
    """Asks the real engine once; a table that does not change has the same answer every time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._answers: dict[str, Any] = {}

    def __getattr__(self, verb: str) -> Any:
        method = getattr(self._engine, verb)

        def asked(*arguments: Any) -> Any:
            key = f"{verb} {_spelled(arguments)}"
            if key not in self._answers:
                self._answers[key] = method(*arguments)
            return copy.deepcopy(self._answers[key])

        return asked


def _spelled(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    return repr(value)


def unpaid_release(run: Run, engine: Any) -> Release:
    """One run of the release's own code, charged to nobody: what it makes is never published."""
    ledger: Any = _FreeLedger()
    return run.with_engine(engine, ledger, lambda release: "")


def scored_run(
    run: Run, engines: tuple[Any, Any], bit: int, drawn: NoiseSource | None
) -> tuple[float, list[Step]]:
    """Record on the coin's table, replay on the other: the output's score, and what was recorded."""
    with recording(drawn) as tape:
        release = unpaid_release(run, engines[bit])
    with replaying(tape) as other:
        unpaid_release(run, engines[1 - bit])
    zero, one = (tape, other) if bit == 0 else (other, tape)
    return llr(zero, one, release), tape.steps


def llr(zero: Tape, one: Tape, release: Release) -> float:
    """ln P(published | one) / P(published | zero): both tapes hold the same published numbers."""
    if len(zero.steps) != len(one.steps):
        raise Divergence(f"{len(zero.steps)} steps on one table and {len(one.steps)} on the other")
    levels = tree_levels(release)
    total = 0.0
    alert: list[tuple[Step, Step]] = []
    for a, b in zip(zero.steps, one.steps, strict=True):
        if a.name.endswith("threshold"):
            total += _alert_ratio(alert)
            alert = [(a, b)]
        elif a.name.endswith("above"):
            alert.append((a, b))
        elif a.keeping is not None:
            total += _naming(b) - _naming(a)
        elif a.unit is not None:
            total += _choice(b) - _choice(a)
        elif len(a.laws) > 1 or a.name.endswith("refine"):
            # Of a node's numbers the finest published one tells everything: the others add noise to it.
            stopped = next(levels).stopped
            finest = np.where(stopped, 0, min(1, len(a.laws) - 1))
            for row, law in enumerate(a.laws[:2]):
                outputs = a.output.reshape(len(a.laws), -1)[row]
                total += _ratio(law, outputs, a.exact, b.exact, finest == row)
        else:
            total += _ratio(a.laws[0], a.output, a.exact, b.exact, True)
    return total + _alert_ratio(alert)


def _ratio(law: NoiseLaw, outputs: Counts, zero: Counts, one: Counts, where: Any) -> float:
    """Numbers that are the same on both tables say nothing."""
    moved = (zero != one) & where
    return float(log_ratio(law, outputs[moved], zero[moved], one[moved]))


def _choice(step: Step) -> float:
    """ln of the probability of the chosen candidate."""
    assert step.unit is not None
    weights = step.exact.astype(np.float64) * float(step.unit)
    return float(weights[int(step.output[0])] - np.logaddexp.reduce(weights))


def _naming(step: Step) -> float:
    """ln of the probability of the published names: a key that no unit holds is never named."""
    assert step.keeping is not None
    held, named = dict(zip(step.keys, step.exact.tolist(), strict=True)), set(step.named)
    chances = [(step.keeping.chance(held.get(key, 0)), key in named) for key in held.keys() | named]
    each = [float(chance if is_named else 1 - chance) for chance, is_named in chances]
    return sum(math.log(one) if one else IMPOSSIBLE for one in each)


def _alert_ratio(pairs: Sequence[tuple[Step, Step]]) -> float:
    """An alert publishes its answers and not its noisy threshold, so that is summed over."""
    if len(pairs) < 2:
        return 0.0
    return _alert([b for _, b in pairs]) - _alert([a for a, _ in pairs])


def _alert(steps: Sequence[Step]) -> float:
    start, *answers = steps
    law = start.laws[0]
    reach = law.half_width(1 - 1e-9)
    bars = int(start.exact[0]) + np.arange(-reach, reach + 1)
    logs = np.log(law.pmf(bars - int(start.exact[0])))
    for step in answers:
        below = np.asarray(step.laws[0].cdf(bars - 1 - int(step.exact[0])))
        with np.errstate(divide="ignore"):
            logs = logs + np.log(1 - below if step.output[0] else below)
    return float(np.logaddexp.reduce(logs))


# --- the worst neighbours -----------------------------------------------------------------


def _worst_neighbours(schema: Schema, run: Run, stack: ExitStack) -> tuple[tuple[Any, Any], str]:
    """The neighbours, among some at the ends of the domains, whose exact numbers differ most for the noise."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-audit-")))
    best: tuple[Any, Any] | None = None
    largest = Fraction(-1)
    asked = [part.query_class for part in run.prospect.parts]
    for number, tables in enumerate(neighbouring_tables(schema, asked)):
        pair = tuple(
            RememberingEngine(
                stack.enter_context(
                    open_engine(written_to(table, folder / f"{number}-{side}.csv"), schema)
                )
            )
            for side, table in enumerate(tables)
        )
        with recording() as tape:
            release = unpaid_release(run, pair[0])
        try:
            with replaying(tape) as other:
                unpaid_release(run, pair[1])
            losses = step_losses(tape.steps, other.steps, tree_levels(release))
        except Divergence as error:
            return (pair[0], pair[1]), str(error)
        loss = sum((each.rho for each in losses), Fraction(0))
        if loss > largest:
            best, largest = (pair[0], pair[1]), loss
    assert best is not None
    return best, ""
