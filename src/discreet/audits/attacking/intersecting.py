"""Intersection before and after: two k-anonymised tables with a common person.

The tables are those of the textbook chapter, as printed. The print has a slip: Marcia's zip code 19456 is generalised
to 30***. Generalised from the original it is 19***, and then she is alone in her class: the table is not 4-anonymous.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from discreet.attacks.generalised import homogeneous
from discreet.attacks.generalised import intersect as common
from discreet.attacks.outcome import Line, Outcome, Progress, quiet
from discreet.custodian.comparison import BANNER
from discreet.custodian.disclosure.anonymity import anonymity
from discreet.errors import BadInput
from discreet.plain_tables import read_columns

QUASI = ("zip", "age")
SCORE = "score"
NAMES = ("Rick", "Nathan", "Yani", "Xiao", "Luciana", "Anastasia", "Marcia", "Yuki")
ZIPS = ("19456", "30309", "19445", "30457", "19456", "30271", "19456", "19456")
AGES = (67, 33, 64, 35, 67, 38, 31, 62)
SCORES = (797, 650, 755, 590, 767, 597, 613, 775)
STATE = {
    "zip": ["19***", "30***", "19***", "30***", "19***", "30***", "30***", "19***"],
    "age": ["60-70", "30-40", "60-70", "30-40", "60-70", "30-40", "30-40", "60-70"],
    SCORE: [str(score) for score in SCORES],
}
COMPANY = {
    "zip": ["30***"] * 4,
    "age": ["30-40"] * 4,
    SCORE: ["815", "613", "376", "727"],
}
MARCIA = {"zip": "30***", "age": "30-40"}
"""What the adversary knows of her, by the tables' own generalisation."""
BANDS = ((300, "poor"), (580, "fair"), (670, "good"), (740, "very good"), (800, "exceptional"))


def band(score: str) -> str:
    """The usual names for credit scores."""
    return next(name for least, name in reversed(BANDS) if float(score) >= least)


def from_the_originals() -> dict[str, list[str]]:
    """The first table, generalised from the original rows by the rule that the chapter states."""
    return {
        "zip": [f"{code[:2]}***" for code in ZIPS],
        "age": [f"{age // 10 * 10}-{age // 10 * 10 + 10}" for age in AGES],
        SCORE: [str(score) for score in SCORES],
    }


def intersect(
    tables: Sequence[object] | None = None,
    *,
    person: Mapping[str, str] | None = None,
    sensitive: str | None = None,
    progress: Progress = quiet,
) -> Outcome:
    """What two or more k-anonymised tables say about a person who is in all of them.

    Without tables, those of the chapter: Marcia is in both, and her score follows.
    """
    progress("tables", 0.0)
    if tables is None:
        return _chapter()
    if person is None or sensitive is None or not person:
        raise BadInput("Say what is known of the person, and which column is sensitive.")
    read = [read_columns(table) for table in tables]
    for name in (*person, sensitive):
        if not any(name in table for table in read):
            names = dict.fromkeys(each for table in read for each in table)
            raise BadInput(
                f"There is no column {name!r} in the tables; there are {', '.join(names)}."
            )
    lines = [
        Line(
            f"table {number}",
            float(len(common([table, table], person, sensitive))),
            note=f"{anonymity(table, [name for name in person if name in table]).k}-anonymous",
        )
        for number, table in enumerate(read, start=1)
    ]
    left = common(read, person, sensitive)
    lines.append(Line("all tables together", float(len(left))))
    return Outcome(
        attack="intersect",
        title="A person in several k-anonymised tables",
        measure="sensitive values that remain possible",
        lines=lines,
        findings=[_told(left)],
        details={"values": sorted(left)},
        banner=BANNER,
    )


def _told(left: set[str]) -> str:
    if len(left) == 1:
        return f"Only one value remains: {next(iter(left))}."
    return (
        f"{len(left)} values remain."
        if left
        else "No value remains: the person is not in all of them."
    )


def _chapter() -> Outcome:
    left = common([STATE, COMPANY], MARCIA, SCORE)
    fair = homogeneous(STATE, QUASI, SCORE, band=band)
    class_of_marcia = fair[NAMES.index("Marcia")]
    printed, honest = anonymity(STATE, QUASI), anonymity(from_the_originals(), QUASI)
    return Outcome(
        attack="intersect",
        title="Marcia is in two 4-anonymous tables",
        measure="credit scores that remain possible",
        lines=[
            Line("the state's table alone", 4.0, note=f"{printed.k}-anonymous"),
            Line("the company's table alone", 4.0, note=f"{anonymity(COMPANY, QUASI).k}-anonymous"),
            Line("both together", float(len(left))),
            Line(
                "our releases of both tables",
                math.nan,
                ours=True,
                note="their epsilons add up; no row of either is published",
            ),
        ],
        findings=[
            f"Marcia's credit score is {', '.join(sorted(left))}: no other row fits both tables.",
            f"Even the state's table alone says that all four of her class are {class_of_marcia!r}.",
            "The printed table has a misprint: her zip code 19456 is generalised to 30***. Generalised from the "
            f"original, the table is only {honest.k}-anonymous: she is alone in her class.",
        ],
        details={
            "score": sorted(left),
            "k_as_printed": printed.k,
            "k_from_originals": honest.k,
            "band": class_of_marcia,
        },
    )
