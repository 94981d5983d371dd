"""Random workloads over a table's columns: classes of every family, with every algorithm that takes them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from random import Random

from discreet.errors import DiscreetError
from discreet.privacy.budget import Budget
from discreet.queries.classes import parse_class
from discreet.questions.spelling import conditions, quoted
from discreet.releases.algorithms import algorithms_of
from discreet.schema import Schema

SLOW = frozenset({"net", "general", "mwem"})
"""Algorithms of the books, for which a huge epsilon has no meaning, or which take long."""
MOST_CELLS = 30_000


@dataclass(frozen=True)
class Wanted:
    """What a release is asked for."""

    workload: tuple[str, ...]
    algorithms: dict[str, str]
    budget: Budget
    columns: tuple[frozenset[str], ...]
    """Those of each class."""


def whole_table(random: Random, schema: Schema, *, is_noisy: bool = False) -> Wanted:
    """Everything, with noise on every cell."""
    text = f"marginals({', '.join(map(quoted, schema.names))})"
    return Wanted((text,), {text: "direct"}, _budget(random, is_noisy), (frozenset(schema.names),))


def some_classes(random: Random, schema: Schema, *, is_noisy: bool = False) -> Wanted:
    texts = list(_texts(random, schema))
    if random.random() < 0.5:
        texts = [each for each in texts if each.startswith(("marginals", "histogram"))]
    chosen = random.sample(texts, min(len(texts), random.choice([1, 1, 2, 3])))
    chosen = list(dict.fromkeys(chosen))
    algorithms: dict[str, str] = {}
    for text in chosen:
        try:
            read = parse_class(text)
            named = [each.name for each in algorithms_of(read.name) if each.name not in SLOW]
        except DiscreetError:
            continue
        if named and random.random() < 0.6:
            algorithms[text] = random.choice(named)
    columns = tuple(each for text in chosen for each in _sets(text, schema))
    return Wanted(tuple(chosen), algorithms, _budget(random, is_noisy), columns)


def _sets(text: str, schema: Schema) -> list[frozenset[str]]:
    """The columns that a class has together."""
    degree = text[-2]
    if degree.isdigit() and text[-3] == "(":
        return [frozenset(each) for each in combinations(schema.names, int(degree))]
    return [frozenset(name for name in schema.names if name in text)]


def _budget(random: Random, is_noisy: bool) -> Budget:
    if is_noisy:
        return random.choice([Budget(epsilon=1), Budget(epsilon=2, delta="1e-6")])
    # Gaussian noise that is nearly always 0 takes minutes to put together in ratios.
    return random.choice(
        [Budget(epsilon=150), Budget(epsilon=60), Budget(epsilon=150, delta="1e-6")]
    )


def _texts(random: Random, schema: Schema) -> list[str]:
    names = [quoted(name) for name in schema.names]
    ordered = [quoted(column.name) for column in schema.columns if column.is_ordered]
    small = [quoted(column.name) for column in schema.columns if column.cells <= 200]
    summed = [
        quoted(column.name)
        for column in schema.columns
        if column.kind in ("integer", "number", "boolean")
    ]
    found = ["marginals(1)", *["marginals(2)"] * 4, "parities(2)"]
    if len(names) > 2:
        found += ["marginals(3)"] * 2
    found += (
        [f"marginals({', '.join(random.sample(small, min(len(small), 3)))})"] * 2 if small else []
    )
    found += [f"histogram({name})" for name in small[:2]]
    for one, two in list(combinations(small, 2))[:2]:
        found.append(f"marginals({one}, {two})")
    for name in ordered:
        found += [f"intervals({name})", f"quantiles({name})", f"unions({name}, 2)"]
        found += [f"intervals({name} by {other})" for other in small if other != name][:1]
        found += [f"quantiles({name} by {other})" for other in small if other != name][:1]
    for pair in combinations(ordered, 2):
        found += [f"rectangles({', '.join(pair)})", f"halfspaces({', '.join(pair)})"]
    for name in summed:
        found += [f"means({name})", f"sums({name})"]
        found += [f"means({name} by {other})" for other in small if other != name][:1]
        found += [f"sums({name} by {other})" for other in small if other != name][:1]
    listed = list(conditions(schema))
    found += [
        f"predicates({', '.join(map(quoted, each))})"
        for each in random.sample(listed, min(2, len(listed)))
    ]
    return found
