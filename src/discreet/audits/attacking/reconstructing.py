"""Reconstruction before and after: subset counts published in several ways, and by our curator and releases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.attacks.outcome import Line, Outcome, Progress, Series, quiet
from discreet.attacks.reconstruction import (
    MOST_PEOPLE,
    all_subset_counts,
    consistent_candidate,
    decoded,
    random_subsets,
)
from discreet.audits.attacking.own_tables import OwnTable, mean_line, own_table
from discreet.custodian.comparison import BANNER
from discreet.custodian.disclosure import publications
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.budget import Budget
from discreet.privacy.exact import Exactable, exact

Bits = npt.NDArray[np.int64]
ALPHAS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
QUESTIONS_EACH = 4
"""Questions for each person."""
BATCH = 64
"""Subset counts in one statement to the curator."""
CORRUPTED = 0.2
MEASURE = "share of the secret column recovered"


def balanced_secret(people: int, *, seed: int | None = None) -> Bits:
    """As many ones as zeros, in random order."""
    if people < 8:
        raise BadInput(f"Reconstruction needs at least 8 people, not {people}.")
    bits = np.zeros(people, dtype=np.int64)
    bits[: people // 2] = 1
    return generator(seed).permutation(bits)


def share(found: Bits, secret: Bits) -> float:
    return float((found == secret).mean())


def reconstruct(
    *,
    people: int = 256,
    secret: Sequence[int] | None = None,
    alpha: float = 0.25,
    epsilon: Exactable = 1,
    method: str = "least-squares",
    draws: int = 3,
    own_questions: int | None = None,
    seed: int = 0,
    progress: Progress = quiet,
) -> Outcome:
    """Recover a secret 0/1 column from 4n random subset counts, published in several ways.

    `secret` is the custodian's own column; otherwise `people` balanced bits are generated. `alpha` is the
    size of bounded noise in roots of n, `epsilon` the total budget of our side, `own_questions` how many
    subset counts are asked of our curator (default: n).
    """
    bits = balanced_secret(people, seed=seed) if secret is None else np.asarray(secret, np.int64)
    if set(np.unique(bits)) - {0, 1}:
        raise BadInput("The secret column must hold 0 and 1 alone.")
    people = len(bits)
    budget = exact(epsilon, name="epsilon")
    lines = [*_unprotected(bits, alpha, method, draws, seed, progress)]
    lines += _ours(bits, budget, own_questions or people, draws, seed, progress)
    progress("the curve", 0.9)
    small = _error_line(bits, f"bounded noise of n/500 = {people / 500:.2g}", people / 500, seed)
    lines.insert(4, small)
    return Outcome(
        attack="reconstruct",
        title=f"A secret column of {people:,} people, rebuilt from {QUESTIONS_EACH * people:,} subset counts",
        measure=MEASURE,
        chance=max(float(bits.mean()), 1 - float(bits.mean())),
        lines=lines,
        series=[
            Series("least squares", _curve(bits, "least-squares", seed)),
        ],
        across="alpha: bounded noise of alpha sqrt(n)",
        findings=[
            "Answers that are nearly exact reveal the column. Noise must grow with the number of answers.",
            f"At a total epsilon of {float(budget):g} no adversary guesses one person's bit, if it is as likely 0 as 1, "
            f"with more than {100 / (1 + math.exp(-float(budget))):.1f}% probability, where neighbours differ in that bit.",
        ],
        details={"people": people, "alpha": alpha, "epsilon": str(budget), "method": method},
        banner=BANNER if secret is not None else "",
    )


def _unprotected(
    bits: Bits, alpha: float, method: str, draws: int, seed: int, progress: Progress
) -> Iterator[Line]:
    people = len(bits)
    error = alpha * math.sqrt(people)
    ways = {
        "exact counts": (publications.exact, method),
        "rounded to tens": (publications.rounded(10), method),
        "counts below 5 suppressed": (publications.suppressed_below(5), method),
        f"bounded noise of {alpha:g} sqrt(n) = {error:.1f}": (
            publications.bounded_noise(error),
            method,
        ),
        f"bounded noise, and {CORRUPTED:.0%} of the answers arbitrary": (
            publications.partly_arbitrary(CORRUPTED, 0.1 * math.sqrt(people)),
            "l1",
        ),
    }
    for number, (name, (publish, how)) in enumerate(ways.items()):
        progress("unprotected publications", number / len(ways))
        found = []
        for draw in range(draws):
            subsets = random_subsets(people, QUESTIONS_EACH * people, seed=seed + draw)
            published = publish(_exact_counts(subsets, bits))
            seen = ~np.isnan(published)
            found.append(share(decoded(subsets[seen], published[seen], method=how), bits))
        yield mean_line(name, found, note=f"decoded by {how}")


def _exact_counts(subsets: npt.NDArray[np.float32], bits: Bits) -> npt.NDArray[np.float64]:
    return np.rint(subsets @ bits.astype(np.float32)).astype(np.float64)


def _error_line(bits: Bits, name: str, error: float, seed: int) -> Line:
    subsets = random_subsets(len(bits), QUESTIONS_EACH * len(bits), seed=seed)
    published = publications.bounded_noise(error)(_exact_counts(subsets, bits))
    return Line(name, share(decoded(subsets, published), bits))


def _curve(bits: Bits, method: str, seed: int) -> list[tuple[float, float]]:
    subsets = random_subsets(len(bits), QUESTIONS_EACH * len(bits), seed=seed)
    truth = _exact_counts(subsets, bits)
    found = []
    for alpha in ALPHAS:
        published = publications.bounded_noise(alpha * math.sqrt(len(bits)))(truth)
        found.append((alpha, share(decoded(subsets, published, method=method), bits)))
    return found


# --- ours ---------------------------------------------------------------------------------


def schema_of(people: int) -> str:
    """Everyone is known by a number; how many there are is public."""
    return (
        f'dataset = "people"\nadjacency = "change-one"\npeople = {people}\n'
        f'[columns.id]\nkind = "integer"\nrange = [0, {people - 1}]\nnulls = "exclude"\n'
        '[columns.secret]\nkind = "integer"\nrange = [0, 1]\nnulls = "exclude"\n'
    )


def _ours(
    bits: Bits, epsilon: Fraction, questions: int, draws: int, seed: int, progress: Progress
) -> list[Line]:
    budget = Budget(epsilon=epsilon)
    columns = {"id": list(range(len(bits))), "secret": bits.tolist()}
    answered, ranges, cells = [], [], []
    with own_table(columns, schema_of(len(bits))) as table:
        for draw in range(draws):
            progress("our curator and releases", draw / draws)
            answered.append(from_curator(table, bits, epsilon, questions, seed + draw))
            ranges.append(from_release(table, bits, budget, "rectangles(id, secret)"))
            cells.append(from_release(table, bits, budget, "marginals(id, secret)"))
    bound = 1 / (1 + math.exp(-float(epsilon)))
    name = f"epsilon {float(epsilon):g} in all"
    return [
        mean_line(f"our curator, {questions:,} subset counts, {name}", answered, ours=True),
        mean_line(f"our release for ranges, {name}", ranges, ours=True),
        mean_line(
            f"our release with a cell for every person, {name}",
            cells,
            ours=True,
            note=f"all {2 * len(bits):,} cells are read, not subset counts; epsilon allows {bound:.3f} at most",
        ),
    ]


def from_curator(
    table: OwnTable, bits: Bits, epsilon: Fraction, questions: int, seed: int
) -> float:
    """Subset counts by hashing the public number of each person, asked in SQL; the share recovered."""
    conditions, subsets = hashed_subsets(len(bits), questions, seed)
    answers: list[float] = []
    with table.curator(Budget(epsilon=epsilon)) as curator:
        for start in range(0, questions, BATCH):
            chosen = range(start, min(start + BATCH, questions))
            asked = ", ".join(
                f"count(*) FILTER (WHERE secret = 1 AND {conditions[at]}) AS q{at}" for at in chosen
            )
            part = Budget(epsilon=epsilon * len(chosen) / questions)
            told = curator.ask(f"SELECT {asked} FROM people", budget=part)
            answers += [float(column.estimate[0]) for column in told.columns]
    return share(decoded(subsets, np.array(answers)), bits)


def hashed_subsets(
    people: int, questions: int, seed: int
) -> tuple[list[str], npt.NDArray[np.float32]]:
    """Random halves of the people: as conditions on the number by which each is known, and as a matrix."""
    prime = _prime_above(people)
    draws = generator(seed)
    factors, shifts = draws.integers(1, prime, questions), draws.integers(0, prime, questions)
    ids = np.arange(people)
    subsets = (ids[None, :] * factors[:, None] + shifts[:, None]) % prime < prime // 2
    conditions = [
        f"(id * {factor} + {shift}) % {prime} < {prime // 2}"
        for factor, shift in zip(factors, shifts, strict=True)
    ]
    return conditions, subsets.astype(np.float32)


def from_release(table: OwnTable, bits: Bits, budget: Budget, workload: str) -> float:
    """Everyone's two cells as the release answers them; the share recovered by the larger one."""
    reader = table.released([workload], budget)
    told = reader.ask("SELECT id, secret, count(*) FROM people GROUP BY id, secret", whole=False)
    cells = told.columns[0].estimate.reshape(len(bits), 2)
    lean = cells[:, 1] - cells[:, 0]
    tied = generator().random(len(bits)) < 0.5
    return share(np.where(lean == 0, tied, lean > 0).astype(np.int64), bits)


def _prime_above(least: int) -> int:
    candidate = max(least, 11)
    while any(candidate % factor == 0 for factor in range(2, math.isqrt(candidate) + 1)):
        candidate += 1
    return candidate


# --- all subsets --------------------------------------------------------------------------


def reconstruct_all_subsets(
    *,
    people: int = 12,
    error: float = 1.0,
    draws: int = 20,
    seed: int = 0,
    progress: Progress = quiet,
) -> Outcome:
    """All 2^n subset counts within `error`, and any secret that agrees: at most 4 error bits are wrong."""
    if not 4 <= people <= MOST_PEOPLE:
        raise BadInput(f"All subsets are asked of 4 to {MOST_PEOPLE} people, not {people}.")
    wrong = {}
    for name in ("uniform noise", "noise by an adversary"):
        found = []
        for draw in range(draws):
            progress(name, draw / draws)
            secret = balanced_secret(max(8, people), seed=seed + draw)[:people]
            truth = all_subset_counts(secret).astype(np.float64)
            if name == "uniform noise":
                answers = publications.bounded_noise(error, seed=seed + draw)(truth)
            else:  # half-way to the counts of a decoy that is as far away as the theorem allows
                answers = (truth + all_subset_counts(_decoy(secret, error))) / 2
            candidate = consistent_candidate(answers, error=error)
            found.append(int((candidate != secret).sum()))
        wrong[name] = found
    return Outcome(
        attack="reconstruct",
        title=f"{people} secret bits from all {1 << people:,} subset counts, each within {error:g}",
        measure="bits wrong, the most of all runs",
        lines=[
            Line(name, float(max(found)), note=f"at most 4E = {4 * error:g}")
            for name, found in wrong.items()
        ],
        findings=[
            "Every column that agrees with all answers is nearly the secret one, whatever the noise."
        ],
        details={"wrong": wrong, "bound": 4 * error, "runs": draws},
    )


def _decoy(secret: Bits, error: float) -> Bits:
    """Differs from the secret in up to 2E ones and 2E zeros: then half-way between both is within E."""
    flipped = secret.copy()
    for value in (0, 1):
        flipped[np.flatnonzero(secret == value)[: int(2 * error)]] = 1 - value
    return flipped


def brief(secret: Sequence[int], *, epsilon: Exactable, questions: int = 32) -> tuple[float, float]:
    """For a demonstration: the share recovered from counts rounded to tens, and from our curator's."""
    bits = np.asarray(secret, dtype=np.int64)
    subsets = random_subsets(len(bits), 2 * QUESTIONS_EACH * len(bits), seed=0)
    published = publications.rounded(10)(_exact_counts(subsets, bits))
    before = share(decoded(subsets, published), bits)
    columns = {"id": list(range(len(bits))), "secret": bits.tolist()}
    with own_table(columns, schema_of(len(bits))) as table:
        after = from_curator(table, bits, exact(epsilon, name="epsilon"), questions, seed=0)
    return before, after
