"""Linking before and after: an "anonymised" table, its unique rows, traces, and our synthetic rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.attacks import linking
from discreet.attacks.linking import ECCENTRICITY, Entry, Scoreboard, Traces
from discreet.attacks.outcome import Line, Outcome, Progress, Series, quiet
from discreet.custodian.comparison import BANNER
from discreet.custodian.disclosure.anonymity import uniqueness
from discreet.errors import BadInput
from discreet.families.shared.estimate.public_random import generator
from discreet.plain_tables import read_columns

SHOWN = 5
VOTERS = 0.6
"""The part of the people whom the generated auxiliary table names."""
TRACE_POINTS = (1, 2, 3, 4, 5, 6)


def link(
    anonymised: object | None = None,
    auxiliary: object | None = None,
    *,
    columns: Sequence[str] = ("born", "sex", "region"),
    name: str | None = None,
    seed: int = 0,
    progress: Progress = quiet,
) -> Outcome:
    """Re-identify the rows of an "anonymised" table from an auxiliary one.

    `columns` are the quasi-identifiers that both have. `name` is a column of both tables that says who a row
    is, if the custodian has it: then the links are scored. Without tables, generated people are linked: a register of voters
    with birth dates, sex and region, against a table of patients.
    """
    given = anonymised is not None
    if given != (auxiliary is not None):
        raise BadInput("Give both tables, the anonymised one and the auxiliary one, or none.")
    progress("linking", 0.0)
    if given:
        ours, theirs = read_columns(anonymised), read_columns(auxiliary)
    else:
        ours, theirs = _voters_and_patients(seed)
        name = "name"
    found = linking.link(ours, theirs, columns)
    rows = len(next(iter(ours.values()), []))
    right = None
    if name is not None:
        right = sum(ours[name][each.anonymised] == theirs[name][each.auxiliary] for each in found)
    lines = [
        Line(
            f"an anonymised table with {', '.join(columns)}",
            len(found) / max(rows, 1),
            note="" if right is None else f"{right:,} of {len(found):,} links are right",
        )
    ]
    for left_out in columns if len(columns) > 1 else ():
        kept = [each for each in columns if each != left_out]
        fewer = linking.link(ours, theirs, kept)
        lines.append(Line(f"the same without {left_out}", len(fewer) / max(rows, 1)))
    lines.append(
        Line(
            "our release and its synthetic rows",
            0.0,
            ours=True,
            note="no row of it is a person's: there is nothing to link",
        )
    )
    return Outcome(
        attack="link",
        title=f"Names for {rows:,} anonymous rows, from another table",
        measure="share of rows linked to one name",
        chance=0.0,
        lines=lines,
        findings=[f"{len(found):,} of {rows:,} rows fit exactly one name."],
        details={"links": len(found), "right": right, "rows": rows},
        banner=BANNER if given else "",
    )


def _voters_and_patients(seed: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    from discreet.demo import make_people

    people = make_people(5_000)
    draws = generator(seed)
    rows = {
        "name": [f"person {number}" for number in range(5_000)],
        "born": people["born"].astype(str).tolist(),
        "sex": people["sex"].astype(str).tolist(),
        "region": people["region"].astype(str).tolist(),
        "smoker": people["smoker"].astype(str).tolist(),
    }
    patients = draws.permutation(5_000)[:2_000]
    voters = draws.permutation(5_000)[: int(5_000 * VOTERS)]

    def taken(names: Sequence[str], chosen: np.ndarray) -> dict[str, list[str]]:
        return {name: [rows[name][at] for at in chosen] for name in names}

    return (
        taken(("name", "born", "sex", "region", "smoker"), patients),
        taken(("name", "born", "sex", "region"), voters),
    )


def unique(
    source: object,
    *,
    columns: Sequence[str] | None = None,
    largest: int = 4,
    header: Sequence[str] | None = None,
    real: bool = True,
    progress: Progress = quiet,
) -> Outcome:
    """The share of rows that are unique on every set of up to `largest` columns."""
    table: Mapping[str, Sequence[str]] = read_columns(source, header=header, wanted=columns)
    found = uniqueness(table, largest=largest, progress=progress)
    lines, best = [], []
    for size in range(1, min(largest, len(table)) + 1):
        of_size = [each for each in found if len(each.columns) == size]
        best.append((float(size), of_size[0].share))
        mean = sum(each.share for each in of_size) / len(of_size)
        lines.append(
            Line(
                f"{size} column{'s' if size > 1 else ''}: {', '.join(of_size[0].columns)}",
                of_size[0].share,
                note=f"the worst of {len(of_size):,} sets, whose mean is {mean:.4f}",
            )
        )
    lines.append(Line("our release", 0.0, ours=True, note="it has no rows to single out"))
    return Outcome(
        attack="unique",
        title="Rows that a few columns single out",
        measure="share of rows that are unique",
        chance=0.0,
        lines=lines,
        series=[Series("the worst set", best)],
        across="columns known",
        findings=["Anyone who knows these columns can identify a row that is unique on them."],
        details={
            "sets": len(found),
            "worst": {
                str(size): [each.to_dict() for each in found if len(each.columns) == size][:SHOWN]
                for size in range(1, largest + 1)
            },
        },
        banner=BANNER if real else "",
    )


def trace(
    *, people: int = 2_000, tries: int = 400, seed: int = 0, progress: Progress = quiet
) -> Outcome:
    """How many points of a movement trace single a person out, among generated people."""
    traces = Traces.generated(people, seed=seed)
    curve = []
    for points in TRACE_POINTS:
        progress("points", points / len(TRACE_POINTS))
        curve.append((float(points), traces.unicity(points, tries=tries, seed=seed)))
    return Outcome(
        attack="trace",
        title=f"Movement traces of {people:,} generated people over two weeks",
        measure="share of people whom the points fit alone",
        chance=0.0,
        lines=[
            *(Line(f"{int(x)} known point{'s' if x > 1 else ''}", y) for x, y in curve),
            Line(
                "our release of counts by place and hour",
                0.0,
                ours=True,
                note="it has no traces to single out",
            ),
        ],
        series=[Series("points", curve)],
        across="points known",
        findings=[
            f"Four places and hours single out {curve[3][1]:.0%} of the people, although the names are gone."
        ],
    )


KNOWN = (1, 2, 3, 4, 6, 8)
DAYS = 730
RATING_OFF, DAYS_OFF = 1, 14
"""How well the adversary remembers: a rating off by up to one star, a day by up to two weeks."""


def generated_ratings(people: int, items: int, *, seed: int = 0) -> list[dict[int, Entry]]:
    """Everyone rated some dozen of the items, a few of them popular and most of them rare."""
    draws = generator(seed)
    weights = 1 / (draws.permutation(items) + 10.0)
    weights /= weights.sum()
    rows = []
    for many in draws.integers(10, 60, people):
        chosen = draws.choice(items, min(int(many), items), replace=False, p=weights)
        ratings, days = draws.integers(1, 6, len(chosen)), draws.integers(0, DAYS, len(chosen))
        rows.append(
            {
                int(item): (float(rating), float(day))
                for item, rating, day in zip(chosen, ratings, days, strict=True)
            }
        )
    return rows


def deanonymise(
    *,
    people: int = 2_000,
    items: int = 2_000,
    eccentricity: float = ECCENTRICITY,
    tries: int = 150,
    seed: int = 0,
    progress: Progress = quiet,
) -> Outcome:
    """Name rows of ratings from a few entries that the adversary remembers roughly.

    A row is named only if it stands out by `eccentricity` standard deviations; otherwise nothing is claimed.
    """
    if people < 10 or items < 100:
        raise BadInput("The attack needs at least 10 people and 100 items.")
    rows = generated_ratings(people, items, seed=seed)
    board, draws = Scoreboard(rows), generator(seed + 1)
    right: list[tuple[float, float]] = []
    wrong: list[tuple[float, float]] = []
    for many in KNOWN:
        progress("targets", len(right) / len(KNOWN))
        hits = misses = 0
        for _ in range(tries):
            target = int(draws.integers(0, people))
            held = list(rows[target])
            chosen = draws.choice(held, min(many, len(held)), replace=False)
            known = {
                int(item): (
                    rows[target][int(item)][0] + int(draws.integers(-RATING_OFF, RATING_OFF + 1)),
                    rows[target][int(item)][1] + int(draws.integers(-DAYS_OFF, DAYS_OFF + 1)),
                )
                for item in chosen
            }
            named = board.named(known, eccentricity=eccentricity)
            hits += named == target
            misses += named is not None and named != target
        right.append((float(many), hits / tries))
        wrong.append((float(many), misses / tries))
    return Outcome(
        attack="deanonymise",
        title=f"{people:,} rows of ratings without names, and a few entries that someone remembers",
        measure="share of targets identified correctly",
        chance=1 / people,
        lines=[
            *(
                Line(
                    f"rows without names, {int(x)} entries remembered",
                    y,
                    note=f"{bad:.1%} named wrongly",
                )
                for (x, y), (_, bad) in zip(right, wrong, strict=True)
            ),
            Line(
                "our release of counts by item",
                0.0,
                ours=True,
                note="it has no rows: there is nobody to identify",
            ),
        ],
        series=[Series("rightly", right), Series("wrongly", wrong)],
        across="entries remembered",
        findings=[
            f"Ratings off by up to {RATING_OFF} and days off by up to {DAYS_OFF} still identify a row."
        ],
        details={"eccentricity": eccentricity, "tries": tries},
    )
