"""Attacks before and after, and the local model: what works on unprotected publications and fails on ours.

    python benchmarks/attacks.py                           generated tables
    python benchmarks/attacks.py --data FOLDER             also the census table tables/adult-raw.data in FOLDER
    python benchmarks/attacks.py --only local              one part

Prints one JSON line a bar. Parts: decoding, ours, membership, unique, local.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import discreet as dc
from benchmarks.support.bars import bar
from discreet.attacks.reconstruction import decoded, random_subsets
from discreet.audits.attacking import match, reconstruct_all_subsets, unique
from discreet.audits.attacking.own_tables import own_table
from discreet.audits.attacking.reconstructing import (
    balanced_secret,
    from_curator,
    from_release,
    hashed_subsets,
    schema_of,
    share,
)
from discreet.local.clients.drawing import randomised
from discreet.local.collector.collecting import estimate
from discreet.local.collector.frequencies import Frequencies
from discreet.local.protocols.protocol import lower_exp, variance_of_share
from discreet.local.protocols.randomised_response import RandomisedResponse
from discreet.local.question import PROTOCOLS, Question
from tests.harness.suite import ShrunkNoise

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
PARTS = ("decoding", "ours", "membership", "unique", "local")


def subsets_from_release(
    table, bits: np.ndarray, budget: dc.Budget, workload: str, questions: int, seed: int
) -> float:
    """The same subset counts, asked of a release; the share recovered."""
    conditions, subsets = hashed_subsets(len(bits), questions, seed)
    reader = table.released([workload], budget)
    asked = [f"SELECT count(*) FROM people WHERE secret = 1 AND {each}" for each in conditions]
    told = reader.ask_many(asked, whole=False)
    answers = np.array([float(each.columns[0].estimate[0]) for each in told])
    return share(decoded(subsets, answers), bits)


def decoding() -> bool:
    """Nearly exact answers give a column away."""
    draws = np.random.default_rng(18)
    people, questions = 2_048, 8_192
    secret = draws.integers(0, 2, people)
    subsets = random_subsets(people, questions, seed=18)
    counts = (subsets @ secret.astype(np.float32)).astype(np.float64)
    noisy = counts + draws.uniform(-1, 1, questions) * 0.25 * math.sqrt(people)
    started = time.perf_counter()
    found = decoded(subsets, noisy)
    took = time.perf_counter() - started
    met = bar(
        "least squares, 2,048 people, error .25 sqrt(n), 4n counts: recovered",
        float((found == secret).mean()),
        0.99,
        at_least=True,
    )
    met &= bar("least squares, 2,048 people: seconds", took, 5.0)
    for name, error, least in (("exact", 0.0, 1.0), ("within .1 sqrt(n)", 0.1, 0.9995)):
        wrong = draws.random(questions) < 0.2
        answers = counts + draws.uniform(-1, 1, questions) * error * math.sqrt(people)
        answers[wrong] = draws.uniform(0, people, int(wrong.sum()))
        started = time.perf_counter()
        found = decoded(subsets, answers, method="l1")
        took = time.perf_counter() - started
        met &= bar(
            f"l1, 2,048 people, 20% of the answers arbitrary, the others {name}: recovered",
            float((found == secret).mean()),
            least,
            at_least=True,
        )
        bar(f"l1, 2,048 people, the others {name}: seconds", took, None)
    for people, error in ((10, 1.0), (12, 1.0), (12, 2.0)):
        outcome = reconstruct_all_subsets(people=people, error=error, draws=100)
        worst = max(line.value for line in outcome.lines)
        met &= bar(
            f"all subsets of {people} people, error {error:g}, 200 runs: bits wrong / 4E",
            worst / (4 * error),
            1.0,
        )
    return met


def ours(draws: int) -> bool:
    """Our curator and releases at a total epsilon of 1: random subset counts, and the very cells.

    No subset count may give away more than .58 of balanced bits. Whoever reads every person's own cell plays another game: no
    adversary guesses a bit with more than e/(1 + e) = .731, and noise on single cells comes near it.
    """
    people, asked = 512, 128
    answered, ranges, cells = [], [], []
    counted: list[float] = []
    for draw in range(draws):
        bits = balanced_secret(people, seed=draw)
        columns = {"id": list(range(people)), "secret": bits.tolist()}
        with own_table(columns, schema_of(people)) as table:
            budget = dc.Budget(epsilon=1)
            answered.append(from_curator(table, bits, Fraction(1), asked, draw))
            counted.append(
                subsets_from_release(table, bits, budget, "marginals(id, secret)", asked, draw)
            )
            ranges.append(from_release(table, bits, budget, "rectangles(id, secret)"))
            cells.append(from_release(table, bits, budget, "marginals(id, secret)"))
    met = True
    for name, found in (
        (f"curator, {asked} subset counts", answered),
        (f"release with a cell for every person, {asked} subset counts", counted),
        ("release for ranges, the cells of all people", ranges),
    ):
        mean = float(np.mean(found))
        met &= bar(
            f"our {name}, epsilon 1 in all, {people} people, mean of {draws}: recovered",
            mean,
            0.58,
            met=abs(mean - 0.5) <= 0.08,
        )
    bound = 1 / (1 + math.exp(-1))
    met &= bar(
        f"our release with a cell for every person, the cells of all people, epsilon 1, mean of {draws}: recovered",
        float(np.mean(cells)),
        round(bound, 4),
    )
    return met


def membership() -> bool:
    """The matching game: the most that epsilon allows, and no more; less noise is noticed."""
    met = True
    schema = dc.Schema.loads(
        'dataset = "t"\npeople = 40\n'
        '[columns.sex]\nkind = "category"\nvalues = ["F", "M"]\nother = false\nnulls = "exclude"\n'
        '[columns.age]\nkind = "integer"\nrange = [0, 9]\nnulls = "exclude"\n'
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_text("sex,age\n" + "".join(f"{'FM'[n % 2]},{n % 10}\n" for n in range(40)))
        for budget in (
            dc.Budget(epsilon=1),
            dc.Budget(epsilon=1, delta="1e-6"),
            dc.Budget(rho="1/10"),
        ):
            for workload in ("histogram(sex)", "marginals(sex, age)"):
                found = match(path, schema, budget=budget, workload=[workload], games=2_000)
                told = found.details
                met &= bar(
                    f"membership, {workload}, {budget}: lower end of the advantage",
                    told["lower"],
                    round(told["bound"], 4),
                    met=not told["broken"],
                )
                bar(f"membership, {workload}, {budget}: advantage", told["advantage"], None)
        bug = match(
            path,
            schema,
            budget=dc.Budget(epsilon=1),
            workload=["histogram(sex)"],
            games=2_000,
            drawn=ShrunkNoise(Fraction(2)),
        )
        met &= bar(
            "membership, noise for twice the epsilon: lower end, which must exceed the bound",
            bug.details["lower"],
            round(bug.details["bound"], 4),
            met=bug.details["broken"],
        )
    return met


def uniqueness(folder: Path | None) -> bool:
    """How many columns single people out of a census table."""
    if folder is None:
        return True
    started = time.perf_counter()
    path = folder / "tables" / "adult-raw.data"
    outcome = unique(path, header=ADULT, largest=4)
    took = time.perf_counter() - started
    known = [name for name in ADULT if name not in ("fnlwgt", "income")]
    without = unique(path, header=ADULT, columns=known, largest=4)
    for which, found in (("", outcome), (", without the sampling weight and income", without)):
        for line in found.lines:
            bar(f"adult{which}: unique on {line.publication}", line.value, None)
    return bar(f"adult, all {outcome.details['sets']:,} sets of <= 4 columns: seconds", took, 30.0)


def local_model() -> bool:
    """A million clients, a thousand values; variance and coverage of every protocol."""
    values, people = 1_000, 1_000_000
    names = [str(number) for number in range(values)]
    weights = 1 / np.arange(1, values + 1)
    true = np.random.default_rng(1).choice(values, people, p=weights / weights.sum())
    question = Question.category("x", names, epsilon=1)
    shares = np.bincount(true, minlength=values) / people
    expected = np.array([variance_of_share(question.value_protocol, people, s) for s in shares])
    ratios, slowest = [], 0.0
    for _ in range(20):
        reports = randomised(question.value_protocol, true)
        started = time.perf_counter()
        found = estimate(question, reports)
        slowest = max(slowest, time.perf_counter() - started)
        assert isinstance(found, Frequencies)
        ratios.append(np.square(found.shares - shares) / expected)
    met = bar(
        f"local, {question.protocol}, 1M clients, 1,000 values: seconds to estimate", slowest, 5.0
    )
    ratio = float(np.mean(ratios))
    met &= bar("local, variance / theory over 20 collections, off from 1 by", abs(ratio - 1), 0.05)
    for protocol, size, rounds in (
        ("randomised-response", 100, 1_000),
        ("unary-encoding", 200, 500),
        ("local-hashing", 1_000, 100),
    ):
        met &= _coverage(protocol, size, rounds)
    met &= _mean_coverage()
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(4)):
        for kind in PROTOCOLS:
            asked = Question.category("x", names, epsilon=epsilon, protocol=kind)
            odds = _largest_ratio(asked)
            met &= bar(
                f"local, {kind}, epsilon {float(epsilon):g}: largest likelihood ratio / e^epsilon",
                float(odds / lower_exp(epsilon)),
                1.0,
                met=odds <= lower_exp(epsilon),
            )
    return met


def _largest_ratio(question: Question) -> Fraction:
    protocol = question.value_protocol
    if question.protocol == "unary-encoding":
        stray = protocol.speaks_other
        return (1 - stray) / stray
    response = getattr(protocol, "response", protocol)
    assert isinstance(response, RandomisedResponse)
    return response.truth * (response.answers - 1) / (1 - response.truth)


def _coverage(protocol: str, values: int, rounds: int) -> bool:
    """100,000 intervals of shares among 5,000 people."""
    people = 5_000
    question = Question.category("x", [str(n) for n in range(values)], epsilon=1, protocol=protocol)
    weights = 1 / np.arange(1, values + 1)
    true = np.random.default_rng(2).choice(values, people, p=weights / weights.sum())
    shares = np.bincount(true, minlength=values) / people
    held = 0
    for _ in range(rounds):
        found = estimate(question, randomised(question.value_protocol, true))
        held += int(((found.lower <= shares) & (shares <= found.upper)).sum())
    share = held / (rounds * values)
    return bar(
        f"local, {protocol}: intervals hold, of {rounds * values:,}",
        share,
        0.945,
        met=0.945 <= share <= 0.97,
    )


def _mean_coverage() -> bool:
    """20,000 intervals of means among 500 people."""
    question = Question.number("y", 0, 1, epsilon=1)
    protocol = question.number_protocol
    points = np.random.default_rng(3).integers(0, protocol.cells + 1, 500)
    mean = points.mean() / protocol.cells
    rounds, held = 20_000, 0
    reports = randomised(protocol, np.tile(points, rounds)).reshape(rounds, 500)
    for each in reports:
        found = estimate(question, each)
        held += int(found.lower <= mean <= found.upper)
    share = held / rounds
    return bar(
        f"local, piecewise: intervals of means hold, of {rounds:,}",
        share,
        0.945,
        met=0.945 <= share <= 0.97,
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--only", choices=PARTS, default=None)
    given = parser.parse_args(arguments)
    parts = {
        "decoding": decoding,
        "ours": lambda: ours(given.draws),
        "membership": membership,
        "unique": lambda: uniqueness(given.data),
        "local": local_model,
    }
    met = True
    for name in PARTS:
        if given.only in (None, name):
            met &= parts[name]()
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
