"""Watching a vault: what it asked of the engine, the exact numbers it held, what it published.

A `Tape` is filled on one table and played back on a neighbour. On playback the vault gets
the outputs that were published the first time, whatever its exact numbers are now: a
correct mechanism then takes every step alike, and only the exact numbers differ. (With
frozen noise instead, a correct adaptive mechanism would branch differently.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.mechanisms.partition_selection import NamingLaw
from discreet.core.noise import DrawnNoise, NoiseSource
from discreet.core.test_door import observed_vaults
from discreet.engines.protocol import Engine
from discreet.privacy.laws import DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.measurable import Counts
from discreet.queries.scores import Score
from discreet.queries.tallies import Key


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One passage from exact numbers to published ones."""

    name: str
    exact: Counts
    laws: tuple[NoiseLaw, ...]
    """The noise; finest first where several numbers share it, empty for a choice."""
    unit: Fraction | None
    """A choice's log-weight for one point of score."""
    output: Counts
    """What was published; for a choice, its index; for an alert, 1 or 0."""
    keys: tuple[Key, ...] = ()
    """Where keys are named: all keys that exist, one for each exact number."""
    named: tuple[Key, ...] = ()
    """Where keys are named: those that were published."""
    keeping: NamingLaw | None = None
    """Where keys are named: the chance of each."""


@dataclass(slots=True)
class Tape:
    """All that a run did, in order."""

    steps: list[Step] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    """What the engine was asked, in words that hold every argument."""


class Divergence(Exception):
    """A replay took a step that the recorded run did not take: something depends on the rows."""


class WatchedEngine:
    """Passes every verb on, and notes what was asked."""

    def __init__(self, engine: Engine, questions: list[str]) -> None:
        self._engine, self._questions = engine, questions

    def __getattr__(self, verb: str) -> Any:
        method = getattr(self._engine, verb)
        if verb.startswith("_") or verb == "close" or not callable(method):
            return method

        def noted(*arguments: object, **named: object) -> Any:
            self._questions.append(f"{verb} {_spelled(arguments)} {_spelled(named)}")
            return method(*arguments, **named)

        return noted


class RecordingNoise:
    """Draws in earnest, and keeps exact and published numbers side by side."""

    def __init__(self, steps: list[Step], drawn: NoiseSource | None = None) -> None:
        self._steps, self._drawn = steps, drawn or DrawnNoise()

    def add(self, exact: Counts, law: NoiseLaw, *, step: str) -> Counts:
        output = self._drawn.add(exact, law, step=step)
        self._keep(step, exact, (law,), None, output)
        return output

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts:
        output = self._drawn.chain(exact, laws, step=step)
        self._keep(step, exact, tuple(laws), None, output)
        return output

    def choose(
        self, scores: Counts, unit: Fraction, *, step: str, among: Score | None = None
    ) -> int:
        chosen = self._drawn.choose(scores, unit, step=step, among=among)
        self._keep(step, scores, (), unit, np.array([chosen]))
        return chosen

    def is_above(
        self, exact: int, threshold_with_noise: int, law: DiscreteLaplaceLaw, *, step: str
    ) -> bool:
        above = self._drawn.is_above(exact, threshold_with_noise, law, step=step)
        self._keep(step, np.array([exact]), (law,), None, np.array([int(above)]))
        return above

    def keep(
        self, keys: Sequence[Key], exact: Counts, law: NamingLaw, *, step: str
    ) -> tuple[Key, ...]:
        named = self._drawn.keep(keys, exact, law, step=step)
        self._steps.append(_named(step, keys, exact, law, named))
        return named

    def _keep(
        self,
        name: str,
        exact: Counts,
        laws: tuple[NoiseLaw, ...],
        unit: Fraction | None,
        output: Counts,
    ) -> None:
        self._steps.append(
            Step(name=name, exact=exact.copy(), laws=laws, unit=unit, output=output.copy())
        )


class ReplayingNoise:
    """Publishes what the tape published, and keeps the exact numbers of this run."""

    def __init__(self, tape: Tape, steps: list[Step]) -> None:
        self._left: Iterator[Step] = iter(tape.steps)
        self._steps = steps

    def add(self, exact: Counts, law: NoiseLaw, *, step: str) -> Counts:
        return self._play(step, exact, (law,), None).copy()

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts:
        return self._play(step, exact, tuple(laws), None).copy()

    def choose(
        self, scores: Counts, unit: Fraction, *, step: str, among: Score | None = None
    ) -> int:
        return int(self._play(step, scores, (), unit)[0])

    def is_above(
        self, exact: int, threshold_with_noise: int, law: DiscreteLaplaceLaw, *, step: str
    ) -> bool:
        return bool(self._play(step, np.array([exact]), (law,), None)[0])

    def keep(
        self, keys: Sequence[Key], exact: Counts, law: NamingLaw, *, step: str
    ) -> tuple[Key, ...]:
        recorded = next(self._left, None)
        if recorded is None or (recorded.name, recorded.keeping) != (step, law):
            raise Divergence(f"step {step} was never taken in the recorded run, or otherwise")
        self._steps.append(_named(step, keys, exact, law, recorded.named))
        return recorded.named

    def _play(
        self, name: str, exact: Counts, laws: tuple[NoiseLaw, ...], unit: Fraction | None
    ) -> Counts:
        recorded = next(self._left, None)
        if recorded is None:
            raise Divergence(f"step {name} was never taken in the recorded run")
        if (recorded.name, recorded.laws, recorded.unit) != (name, laws, unit):
            raise Divergence(
                f"step {name} was {recorded.name} in the recorded run, or its noise differs"
            )
        if recorded.exact.shape != exact.shape:
            raise Divergence(f"step {name} has another shape than in the recorded run")
        self._steps.append(
            Step(name=name, exact=exact.copy(), laws=laws, unit=unit, output=recorded.output)
        )
        return recorded.output


def _named(
    step: str, keys: Sequence[Key], exact: Counts, law: NamingLaw, named: tuple[Key, ...]
) -> Step:
    return Step(
        name=step,
        exact=exact.copy(),
        laws=(),
        unit=None,
        output=np.zeros(0, dtype=np.int64),
        keys=tuple(keys),
        named=named,
        keeping=law,
    )


@contextmanager
def recording(drawn: NoiseSource | None = None) -> Iterator[Tape]:
    """Vaults opened inside are recorded."""
    tape = Tape()
    with _watching(tape, lambda: RecordingNoise(tape.steps, drawn)):
        yield tape


@contextmanager
def replaying(recorded: Tape) -> Iterator[Tape]:
    """Vaults opened inside publish what `recorded` published; their own exact numbers are kept."""
    tape = Tape()
    source = ReplayingNoise(recorded, tape.steps)
    with _watching(tape, lambda: source):
        yield tape


@contextmanager
def _watching(tape: Tape, source: Callable[[], NoiseSource]) -> Iterator[None]:
    def observer(engine: Engine) -> tuple[Engine, NoiseSource]:
        watched: Any = WatchedEngine(engine, tape.questions)
        return watched, source()

    with observed_vaults(observer):
        yield


def _spelled(value: object) -> str:
    """Every argument in full: arrays too, so that two questions are equal only if all of them are."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tolist()}"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_spelled(each)}" for key, each in value.items()) + "}"
    return repr(value)
