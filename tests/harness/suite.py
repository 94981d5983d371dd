"""Every registered mechanism and release, audited in one go, each beside its 1.2x mutant.

Nothing is listed by name: what the tables of mechanisms and algorithms hold is audited.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path

from discreet.audits.guessing import releases as empirical_releases
from discreet.audits.guessing import subjects
from discreet.audits.guessing.game import FALSE_POSITIVE_RATE, Finding
from discreet.audits.guessing.laws import LawCheck, NoisePool
from discreet.audits.guessing.releases import Pace, RememberingEngine, audit_release, unpaid_release
from discreet.audits.guessing.subjects import Subject, subjects_of
from discreet.audits.guessing.tables import neighbouring_tables, written_to
from discreet.audits.observing import recording
from discreet.core.mechanisms.partition_selection import NamingLaw
from discreet.core.mechanisms.registry import MECHANISMS
from discreet.core.noise import DrawnNoise, NoiseSource
from discreet.engines import open_engine
from discreet.errors import DiscreetError
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw, NoiseLaw
from discreet.queries.measurable import Counts
from discreet.queries.scores import Score
from discreet.queries.tallies import Key
from discreet.releases.preparing import Workload, prepare
from discreet.releases.run import Run
from discreet.schema import CsvOptions, Schema
from tests.harness.material.tables import Job, all_algorithms, possible, random_table


@dataclass(frozen=True, slots=True)
class ShrunkNoise:
    """Draws for `factor` times the epsilon (the root of rho) that the recorded laws pay for."""

    factor: Fraction

    def add(self, exact: Counts, law: NoiseLaw, *, step: str) -> Counts:
        return DrawnNoise().add(exact, law.scaled(1 / self.factor), step=step)

    def chain(self, exact: Counts, laws: Sequence[DiscreteLaplaceLaw], *, step: str) -> Counts:
        smaller = [law.scaled(1 / self.factor) for law in laws]
        return DrawnNoise().chain(exact, smaller, step=step)

    def choose(
        self, scores: Counts, unit: Fraction, *, step: str, among: Score | None = None
    ) -> int:
        return DrawnNoise().choose(scores, unit * self.factor, step=step, among=among)

    def is_above(
        self, exact: int, threshold_with_noise: int, law: DiscreteLaplaceLaw, *, step: str
    ) -> bool:
        smaller = law.scaled(1 / self.factor)
        return DrawnNoise().is_above(exact, threshold_with_noise, smaller, step=step)

    def keep(
        self, keys: Sequence[Key], exact: Counts, law: NamingLaw, *, step: str
    ) -> tuple[Key, ...]:
        steeper = replace(law, epsilon=law.epsilon * self.factor)
        return DrawnNoise().keep(keys, exact, steeper, step=step)


SCHEMA = """
dataset = "audit"
people = 100
adjacency = "{adjacency}"
{unit}
[columns.sex]
kind = "category"
values = ["F", "M"]
other = false
[columns.age]
kind = "integer"
range = [0, 15]
[columns.income]
kind = "number"
bounds = [0, 64]
bits = 4
nulls = "exclude"
"""
SCHEMAS = tuple(
    Schema.loads(SCHEMA.format(adjacency=adjacency, unit=unit))
    for adjacency, unit in (
        ("add-remove", ""),
        ("change-one", ""),
        ("add-remove", '[unit]\nidentifier = "person"\nmax_rows = 2'),
    )
)

OPEN_SCHEMAS = tuple(
    Schema.loads(
        f'dataset = "audit"\npeople = 100\nadjacency = "{adjacency}"\n{unit}\n'
        '[columns.town]\nkind = "category"\nundeclared = true\n'
    )
    for adjacency, unit in (
        ("add-remove", ""),
        ("change-one", '[unit]\nidentifier = "person"\nmax_rows = 3\nmax_groups = 2'),
    )
)
"""For classes about values that nobody declares."""

BUDGETS = (Budget(epsilon=1), Budget(rho="1/10"), Budget(epsilon=1, delta="1e-6"))
RANDOM_SCHEMAS = 60
MUTANT = Fraction(6, 5)
"""How many times its claim a mutant spends."""
PROMISED = 4_500
"""With so many draws of one law, noise a fifth too small is seen."""
SECONDS = 10.0
"""Processor time for each part of a release's audit. Releases that take longer draw many numbers, so fewer runs do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    finding: Finding
    refuted: bool
    verdict: str
    mutant: str
    """How the 1.2x mutant fared."""
    mutant_rejected: bool | None
    """`None` where none was run: a fast pass makes too few draws to promise anything."""

    @property
    def failed(self) -> bool:
        return self.refuted or self.mutant_rejected is False


def mechanism_rows(*, epsilon: Fraction, fast: bool = False) -> Iterator[Row]:
    """Each way of auditing each mechanism."""
    for name in MECHANISMS:
        for subject in subjects_of(name):
            yield _mechanism_row(
                subject, epsilon, subjects.FAST_RUNS if fast else subjects.RUNS, fast
            )


def _mechanism_row(subject: Subject, epsilon: Fraction, runs: int, fast: bool) -> Row:
    honest = subject.audit(epsilon=epsilon, runs=runs)
    mutant = subject.audit(epsilon=epsilon, runs=runs, factor=MUTANT)
    return Row(
        finding=honest,
        refuted=honest.refuted,
        verdict=honest.verdict,
        mutant=f"{'rejected' if mutant.refuted else 'MISSED'}, {mutant.certified:.3f}",
        mutant_rejected=True if mutant.refuted else (None if fast else False),
    )


def release_jobs() -> Iterator[tuple[Schema, Job]]:
    """Each algorithm under each adjacency and unit that it serves, with budgets taken in turn.

    One that serves none of the schemas here is looked for among random ones.
    """
    reached: set[str] = set()
    for place, schema in enumerate(SCHEMAS):
        for job in _jobs(schema, BUDGETS[place:] + BUDGETS[:place]):
            reached |= set(job.algorithms.values())
            yield schema, job
    public = generator(0)
    others = (random_table(public).schema for _ in range(RANDOM_SCHEMAS))
    for schema in chain(OPEN_SCHEMAS, others):
        if reached >= registered_algorithms():
            return
        for job in _jobs(schema, BUDGETS):
            if not reached >= set(job.algorithms.values()):
                reached |= set(job.algorithms.values())
                yield schema, job


def _jobs(schema: Schema, budgets: tuple[Budget, ...]) -> Iterator[Job]:
    """One job for each algorithm that serves the schema."""
    seen: set[str] = set()
    for query_class, algorithm in possible(schema):
        if algorithm in seen:
            continue
        for budget in budgets:
            job = Job((query_class,), {query_class.text: algorithm}, budget)
            try:
                prepare(schema, budget=budget, workload=job.classes, algorithms=job.algorithms)
            except DiscreetError:
                continue  # not with this kind of budget
            seen.add(algorithm)
            yield job
            break


def recorded_laws(
    schema: Schema,
    *,
    budget: Budget,
    workload: Workload,
    algorithms: Mapping[str, str] | None = None,
    runs: int = empirical_releases.RUNS,
    seconds: float | None = None,
    drawn: NoiseSource | None = None,
) -> list[LawCheck]:
    """Only the test of each recorded noise law: runs on one table, without replays."""
    plain = replace(schema, csv=CsvOptions())
    run = Run(plain, budget, workload, 0.95, algorithms, None)
    pool = NoisePool()
    table, _ = next(neighbouring_tables(plain))
    with (
        tempfile.TemporaryDirectory(prefix="discreet-audit-") as folder,
        open_engine(written_to(table, Path(folder) / "table.csv"), plain) as engine,
    ):
        remembering = RememberingEngine(engine)
        pace = Pace(runs, seconds)
        for place in range(runs):
            if pace.is_over(place):
                break
            with recording(drawn) as tape:
                unpaid_release(run, remembering)
            pool.add(tape.steps)
    return pool.checks()


def release_rows(*, fast: bool = False) -> Iterator[Row]:
    """Each registered release algorithm; its mutant must fail the test of the noise laws."""
    runs = empirical_releases.FAST_RUNS if fast else empirical_releases.RUNS
    shrunk = ShrunkNoise(MUTANT)
    for schema, job in release_jobs():
        found = audit_release(
            schema,
            budget=job.budget,
            workload=job.classes,
            algorithms=job.algorithms,
            runs=runs,
            seconds=SECONDS,
        )
        checks = recorded_laws(
            schema,
            budget=job.budget,
            workload=job.classes,
            algorithms=job.algorithms,
            runs=runs,
            seconds=SECONDS,
            drawn=shrunk,
        )
        smallest = min((check.p_value for check in checks), default=1.0)
        rejected = smallest < FALSE_POSITIVE_RATE / 2 / max(1, len(checks))
        promised = max((check.draws for check in checks), default=0) >= PROMISED
        words = "rejected" if rejected else "MISSED" if promised else "too few draws"
        unit = ", unit of rows" if schema.unit.identifier else ""
        yield Row(
            finding=_titled(found.finding, f"{schema.adjacency}{unit}"),
            refuted=found.refuted,
            verdict=found.verdict,
            mutant=f"{words}, p {smallest:.0e}",
            mutant_rejected=True if rejected else False if promised else None,
        )


def _titled(finding: Finding, note: str) -> Finding:
    return replace(finding, subject=f"{finding.subject} ({note})")


def registered_algorithms() -> set[str]:
    return {each.name for options in all_algorithms().values() for each in options}


def unreached_algorithms() -> set[str]:
    """Registered algorithms that no audit here reaches: none, or the suite fails."""
    return registered_algorithms() - {
        name for _, job in release_jobs() for name in job.algorithms.values()
    }
