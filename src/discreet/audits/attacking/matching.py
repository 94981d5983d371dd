"""The matching game: the target's row is in the table or not, nothing else differs, and the release is made.

The adversary knows every other row and the target's. Against a release the score is the likelihood ratio of
all that was published; against synthetic rows it is how much of the target they show.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.answering import ReleaseReader
from discreet.arrays import Floats
from discreet.attacks.membership import (
    Advantage,
    homer_scores,
    most_advantage,
    played,
    synthetic_score,
)
from discreet.attacks.outcome import Line, Outcome, Progress, Series, quiet
from discreet.audits.attacking.own_tables import rows_of
from discreet.audits.guessing.releases import RememberingEngine, scored_run, unpaid_release
from discreet.audits.observing import recording
from discreet.core.noise import DrawnNoise, NoiseSource
from discreet.custodian.comparison import BANNER
from discreet.engines import open_engine
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator
from discreet.plain_tables import write_columns
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.exact import Exactable, exact
from discreet.privacy.guidance import epsilon_at
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.releases.preparing import Workload
from discreet.releases.run import Run
from discreet.schema import CsvOptions, Schema

RHO_DELTA = Fraction(1, 10**6)
SYNTHETIC_ROWS = 300
FALSE_POSITIVE_RATE = 1e-6
"""How often the verdict "the guarantee is broken" may be wrong."""


def match(
    source: object,
    schema: Schema,
    *,
    budget: Budget,
    workload: Workload,
    target: int = 0,
    games: int = 300,
    synthetic: bool = False,
    real: bool = True,
    confidence: float = 0.95,
    drawn: NoiseSource | None = None,
    progress: Progress = quiet,
) -> Outcome:
    """Play the game against releases of `source` with and without its row number `target`.

    `drawn` puts another source of noise in place of the real one: for tests of the attack itself.
    """
    if schema.adjacency is not Adjacency.ADD_REMOVE or schema.unit.identifier is not None:
        raise BadInput(
            "The matching game takes one row out: it needs adjacency add-remove, and one row as the unit."
        )
    columns = rows_of(source, schema)
    rows = len(next(iter(columns.values()), []))
    if not 0 <= target < rows:
        raise BadInput(f"There is no row number {target}; the table has fewer rows.")
    plain = replace(schema, csv=CsvOptions())
    run = Run(plain, budget, workload, 0.95, None, None)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-attack-")))
        engines = []
        for name, kept in (
            ("out", [at for at in range(rows) if at != target]),
            ("in", range(rows)),
        ):
            path = folder / f"{name}.csv"
            write_columns(
                path, {key: [values[at] for at in kept] for key, values in columns.items()}
            )
            engines.append(RememberingEngine(stack.enter_context(open_engine(path, plain))))
        bits = generator().integers(0, 2, games)
        scores = np.empty(games)
        told = _codes_of(columns, target, plain, folder) if synthetic else ()
        for place, bit in enumerate(bits):
            progress("games", place / games)
            if synthetic:
                scores[place] = _seen(run, engines[int(bit)], plain, told, drawn)
            else:
                scores[place] = scored_run(run, (engines[0], engines[1]), int(bit), drawn)[0]
    found = played(scores, bits, confidence=confidence, learn=synthetic)
    return _outcome(found, budget, run, synthetic, real)


def _codes_of(
    columns: Mapping[str, Sequence[str]], target: int, schema: Schema, folder: Path
) -> tuple[int, ...]:
    """The cells of the target's row, -1 where it has none."""
    path = folder / "target.csv"
    write_columns(path, {name: [values[target]] for name, values in columns.items()})
    with open_engine(path, schema) as engine:
        counted = engine.marginals([(column.name,) for column in schema.columns])
    return tuple(int(np.argmax(each)) if each.any() else -1 for each in counted)


def _seen(
    run: Run, engine: Any, schema: Schema, target: tuple[int, ...], drawn: NoiseSource | None
) -> float:
    """How much of the target is seen in synthetic rows of one release."""
    with recording(drawn):
        made = unpaid_release(run, engine)
    rows = ReleaseReader(made).synthesize(rows=SYNTHETIC_ROWS)
    wanted = dict(zip((column.name for column in schema.columns), target, strict=True))
    drawn_rows = [tuple(map(int, row)) for row in rows.codes]
    return synthetic_score(drawn_rows, tuple(wanted[name] for name in rows.names))


def _outcome(found: Advantage, budget: Budget, run: Run, synthetic: bool, real: bool) -> Outcome:
    charge = run.prospect.charge
    if charge.notion is not Notion.EPSILON:
        epsilon = float(epsilon_at(charge, delta=RHO_DELTA))
        delta = float(RHO_DELTA)
    else:
        epsilon, delta = float(charge.epsilon), float(charge.delta)
    bound = most_advantage(epsilon, delta)
    sure = Advantage(found.right, found.games, confidence=1 - 2 * FALSE_POSITIVE_RATE)
    broken = sure.lower > bound
    what = "synthetic rows of our release" if synthetic else "our release"
    return Outcome(
        attack="member",
        title="Membership in a release: the target's row is in or out, nothing else differs",
        measure="advantage over a coin",
        chance=0.0,
        lines=[
            Line("the exact tables of the same classes", 1.0, note="one count tells"),
            Line(
                f"{what}, {budget}",
                found.value,
                lower=found.lower,
                upper=found.upper,
                ours=True,
                note=f"at most {bound:.3f} for any adversary"
                + ("; BROKEN: the advantage is above it" if broken else ""),
            ),
        ],
        findings=[
            "The guarantee is broken." if broken else "The advantage is within what epsilon allows."
        ],
        details={**found.to_dict(), "bound": bound, "broken": broken},
        banner=BANNER if real else "",
    )


SIZES = (10, 30, 100, 300, 1_000, 3_000)


def member(
    *,
    people: int = 100,
    columns: int = 2_000,
    epsilon: Exactable = 1,
    games: int = 400,
    seed: int = 0,
    progress: Progress = quiet,
) -> Outcome:
    """Was this person in the table whose column means were published?

    In every game a coin decides whether the target is one of the `people` or a stranger of the same
    population. The adversary knows the target's row, the population's means and the published means.
    """
    if people < 2 or columns < 1:
        raise BadInput("The attack needs at least 2 people and 1 column.")
    budget = exact(epsilon, name="epsilon")
    # One row of 0/1 moves every column's count by 1: the noise pays for all of them together.
    law = DiscreteLaplaceLaw(columns / budget)
    ways: dict[str, Callable[[Floats], Floats]] = {
        "exact means": lambda counts: counts,
        "means rounded to whole percents": lambda counts: (
            np.rint(counts / people * 100) * people / 100
        ),
        f"our means of all columns, epsilon {float(budget):g} in all": lambda counts: (
            DrawnNoise().add(counts.astype(np.int64), law, step="attack").astype(np.float64)
        ),
    }
    lines = []
    for number, (name, publish) in enumerate(ways.items()):
        progress(name, number / len(ways))
        found = _game(people, columns, publish, games, seed)
        ours = number == len(ways) - 1
        note = f"at most {most_advantage(float(budget)):.3f} for any adversary" if ours else ""
        lines.append(
            Line(name, found.value, lower=found.lower, upper=found.upper, ours=ours, note=note)
        )
    curve: list[tuple[float, float]] = []
    for size in SIZES:
        progress("the curve", len(curve) / len(SIZES))
        curve.append((float(size), _game(people, size, lambda counts: counts, 150, seed).value))
    return Outcome(
        attack="member",
        title=f"Membership among {people:,} people, from the means of {columns:,} columns",
        measure="advantage over a coin",
        chance=0.0,
        lines=lines,
        series=[Series("exact means", curve)],
        across="columns published",
        findings=[
            "Every exact mean depends a little on each of its people. Over many columns that adds up."
        ],
        details={"games": games, "bound": most_advantage(float(budget))},
    )


def _game(
    people: int, columns: int, publish: Callable[[Floats], Floats], games: int, seed: int
) -> Advantage:
    draws = generator(seed)
    bits = draws.integers(0, 2, games)
    scores = np.empty(games)
    for place, bit in enumerate(bits):
        population = draws.uniform(0.1, 0.9, columns)
        rows = draws.random((people, columns)) < population
        target = rows[:1] if bit else draws.random((1, columns)) < population
        means = publish(rows.sum(axis=0).astype(np.float64)) / people
        scores[place] = homer_scores(target.astype(np.float64), means, population, people)[0]
    return played(scores, bits)
