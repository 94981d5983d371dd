"""`attack all`: one table, published in four ways, and what an adversary gets from each. NOT PRIVATE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from discreet.attacks.generalised import homogeneous, intersect
from discreet.attacks.outcome import Line, Outcome, Progress, Series, quiet
from discreet.audits.attacking.linking import unique
from discreet.audits.attacking.matching import match
from discreet.audits.attacking.own_tables import mean_line, rows_of
from discreet.audits.attacking.reconstructing import reconstruct
from discreet.custodian.comparison import BANNER
from discreet.custodian.disclosure.mondrian import anonymised, lost_detail
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.privacy.exact import Exactable, exact
from discreet.schema import Schema

Table = Mapping[str, Sequence[str]]
SIZES = (2, 5, 10, 25)
SHOWN_K = 5
MOST_QUASI = 3
RECONSTRUCTED = 128
LOOKED_AT = 3_000
"""Rows that are generalised: of a larger table, a random sample."""
PLAYED_WITH = 300


def attack_all(
    source: object,
    schema: Schema,
    *,
    epsilon: Exactable = 1,
    columns: Sequence[str] | None = None,
    secret: str | None = None,
    draws: int = 2,
    games: int = 200,
    seed: int = 0,
    progress: Progress = quiet,
) -> list[Outcome]:
    """Every attack that a table allows: the summary first, then each attack with its figures.

    `columns` are what others know of people (default: the first three of the schema besides the secret), `secret` is the
    column that they want to know (default: a yes/no column, else the last). Of a large table a sample is generalised.
    """
    budget = Budget(epsilon=exact(epsilon, name="epsilon"))
    chosen = _secret(schema, secret)
    known = _known(schema, columns, chosen)
    whole = rows_of(source, schema, wanted=[*known, chosen])
    progress("unique rows", 0.0)
    alone = unique({name: whole[name] for name in known}, largest=len(known))
    table = _sampled(whole, LOOKED_AT, seed)
    progress("k-anonymity", 0.1)
    classes = generalised(table, known, chosen, seed=seed)
    progress("reconstruction", 0.3)
    most, bits = _bits(table[chosen], seed)
    rebuilt = reconstruct(secret=bits, epsilon=budget.epsilon, draws=draws, seed=seed)
    outcomes = [alone, classes, rebuilt]
    if schema.adjacency is Adjacency.ADD_REMOVE and schema.unit.identifier is None:
        progress("membership", 0.7)
        few = _sampled(rows_of(source, schema), PLAYED_WITH, seed)
        outcomes.append(
            match(few, schema, budget=budget, workload=[f'histogram("{chosen}")'], games=games)
        )
    return [_summary(alone, classes, rebuilt, chosen, most, budget), *outcomes]


def generalised(table: Table, known: Sequence[str], secret: str, *, seed: int = 0) -> Outcome:
    """What k-anonymised tables disclose: classes with one secret, and two tables with common people."""
    lines, curve = [], []
    rows = len(table[secret])
    for size in SIZES:
        if size > rows:
            continue
        made = anonymised(table, known, k=size)
        told = len(homogeneous(made, known, secret)) / rows
        curve.append((float(size), told))
        lines.append(
            Line(
                f"one {size}-anonymous table",
                told,
                note=f"detail lost: {lost_detail(table, made, known):.2f}",
            )
        )
    lines.append(
        mean_line(
            f"two {SHOWN_K}-anonymous tables with common people",
            [_two_tables(table, known, secret, seed)],
        )
    )
    return Outcome(
        attack="intersect",
        title=f"The secret {secret!r} in k-anonymised tables",
        measure="share of people whose secret follows for certain",
        chance=0.0,
        lines=lines,
        series=[Series("one table", curve)],
        across="k",
        findings=[
            "Where a class shares its secret, k does not matter; two tables with common people have fewer "
            f"common secrets than each. {rows:,} rows were generalised."
        ],
        banner=BANNER,
    )


def _two_tables(table: Table, known: Sequence[str], secret: str, seed: int) -> float:
    """Two overlapping halves, generalised apart: the share of common people whose secret is the only common one."""
    rows = len(table[secret])
    order = generator(seed).permutation(rows)
    parts = [np.sort(order[: 2 * rows // 3]), np.sort(order[rows // 3 :])]
    if min(map(len, parts)) < SHOWN_K:
        return 0.0
    made = [
        anonymised(
            {name: [values[at] for at in part] for name, values in table.items()}, known, k=SHOWN_K
        )
        for part in parts
    ]
    common = np.intersect1d(parts[0], parts[1])[:300]
    found = 0
    for person in common:
        told = {name: table[name][person] for name in known}
        found += intersect(made, told, secret) == {table[secret][person]}
    return found / max(len(common), 1)


def _summary(
    alone: Outcome, classes: Outcome, rebuilt: Outcome, secret: str, most: str, budget: Budget
) -> Outcome:
    noisy = next(
        each for each in rebuilt.lines if each.publication.startswith("bounded noise of 0.25")
    )
    ours = [each for each in rebuilt.lines if each.ours]
    return Outcome(
        attack="all",
        title=f"What an adversary learns of {secret!r}, by how the table is published",
        measure="share of people whose secret is learnt",
        chance=rebuilt.chance,
        lines=[
            Line(
                "the rows without names",
                [each for each in alone.lines if not each.ours][-1].value,
                note="rows that are unique on what others know: certain",
            ),
            Line("exact counts of subsets", rebuilt.lines[0].value, note="guessed"),
            Line(
                f"a {SHOWN_K}-anonymous table",
                next(
                    (each.value for each in classes.lines if f" {SHOWN_K}-" in each.publication),
                    0.0,
                ),
                note="certain",
            ),
            Line(f"two {SHOWN_K}-anonymous tables", classes.lines[-1].value, note="certain"),
            Line("counts with bounded noise", noisy.value, note="guessed"),
            *(
                Line(
                    each.publication,
                    each.value,
                    lower=each.lower,
                    upper=each.upper,
                    ours=True,
                    note="guessed",
                )
                for each in ours
            ),
        ],
        findings=[
            f"The secret is whether {secret} is {most!r}. The counts are of subsets of up to {RECONSTRUCTED} people, as balanced as "
            f"the column allows: of them, guessing without any publication is right for {rebuilt.chance or 0:.0%}.",
            f"Our side spends epsilon {float(budget.epsilon):g} in all. No charge was made: nothing of it is published.",
        ],
        banner=BANNER,
    )


def _secret(schema: Schema, secret: str | None) -> str:
    if secret is not None:
        return schema.column(secret).name
    two = [
        column.name
        for column in schema.columns
        if column.kind == "boolean" or column.value_cells == 2
    ]
    return two[-1] if two else schema.columns[-1].name


def _known(schema: Schema, columns: Sequence[str] | None, secret: str) -> list[str]:
    if columns is None:
        columns = [each.name for each in schema.columns if each.name != secret][:MOST_QUASI]
    named = [schema.column(name).name for name in columns if name != secret]
    if not named:
        raise BadInput(
            "Name at least one column, besides the secret, that others know about people."
        )
    return named


def _sampled(table: Mapping[str, list[str]], most: int, seed: int) -> dict[str, list[str]]:
    rows = len(next(iter(table.values()), []))
    if rows < 8:
        raise BadInput("The attacks need a table of at least 8 rows.")
    if rows <= most:
        return dict(table)
    chosen = np.sort(generator(seed).permutation(rows)[:most])
    return {name: [values[at] for at in chosen] for name, values in table.items()}


def _bits(values: Sequence[str], seed: int) -> tuple[str, list[int]]:
    """The secret as 0/1, as balanced as the column allows: what nearly everyone shares is no secret."""
    most = Counter(values).most_common(1)[0][0]
    ones = [at for at, value in enumerate(values) if value == most]
    zeros = [at for at, value in enumerate(values) if value != most]
    half = RECONSTRUCTED // 2
    kept = np.array([*ones[:half], *zeros[:half]])
    return most, [int(values[at] == most) for at in generator(seed).permutation(kept)]
