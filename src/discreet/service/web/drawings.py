"""Answers as pictures: a number with its interval, bars with whiskers, a map of two columns, a gauge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from markupsafe import Markup

from discreet.artifacts.answers import AnswerColumn, Answers
from discreet.charts.shapes import Bar, Curve, Heat, columns, curves, heat_map, rows
from discreet.charts.svg import element, picture
from discreet.privacy.budget import Budget
from discreet.questions.cells.values import Span
from discreet.service.accounts import Person, Role
from discreet.service.datasets import LiveDataset

MOST_LYING = 30
MOST_BARS = 200
MOST_CELLS = 5_000
MOST_PICTURES = 4


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture, its title, and what its shades mean."""

    title: str
    picture: Markup
    legend: Sequence[tuple[str, str]] = ()


def pictures_of(answers: Answers) -> list[Drawn]:
    """A picture for each aggregate that can be drawn."""
    if not len(answers) or len(answers.groups) > 2:
        return []
    found = []
    for place, column in enumerate(answers.columns[:MOST_PICTURES]):
        if column.unit.is_temporal:
            continue
        drawn = _picture(f"chart{place}", answers, column)
        if drawn is not None:
            found.append(drawn)
    return found


def _picture(name: str, answers: Answers, column: AnswerColumn) -> Drawn | None:
    title = " by ".join(
        [column.name, " and ".join(answers.groups)] if answers.groups else [column.name]
    )
    if len(answers.groups) == 2:
        return _map(name, title, answers, column)
    if len(answers) > MOST_BARS or (not answers.groups and len(answers) > 1):
        return None
    bars = [_bar(answers, column, place) for place in range(len(answers))]
    if not answers.groups:
        return Drawn(title, rows(name, title, bars))
    lying = len(bars) <= MOST_LYING and not _is_ordered(answers)
    return Drawn(title, (rows if lying else columns)(name, title, bars))


def _bar(answers: Answers, column: AnswerColumn, place: int) -> Bar:
    label = answers[place].group[answers.groups[0]] if answers.groups else column.name
    return Bar(
        label=label,
        tick=label,
        estimate=float(column.estimate[place]),
        lower=float(column.lower[place]),
        upper=float(column.upper[place]),
        special=label == "null" or label.startswith("("),
    )


def _is_ordered(answers: Answers) -> bool:
    """Whether the only group is of numbers or dates."""
    values = [answers.value(0, int(code)) for code in answers.codes[:5, 0]]
    return all(not isinstance(each, (str, bool)) for each in values if each is not None) and any(
        each is not None and (isinstance(each, Span) or not isinstance(each, str))
        for each in values
    )


def _map(name: str, title: str, answers: Answers, column: AnswerColumn) -> Drawn | None:
    down = list(dict.fromkeys(answers.codes[:, 0].tolist()))
    across = list(dict.fromkeys(answers.codes[:, 1].tolist()))
    if len(down) * len(across) > MOST_CELLS:
        return None
    values = [[0.0] * len(across) for _ in down]
    for place, (row, along) in enumerate(answers.codes.tolist()):
        number = float(column.estimate[place])
        clear = column.lower[place] > 0 and math.isfinite(number)
        values[down.index(row)][across.index(along)] = number if clear else 0.0
    heat = Heat(
        [answers.label(1, code) for code in across],
        [answers.label(0, code) for code in down],
        values,
    )
    drawn, legend = heat_map(name, title, heat, unit="")
    return Drawn(title, drawn, legend)


def gauge(name: str, *, cap: Fraction, mine: Fraction, spent: Fraction, words: str) -> Markup:
    """A bar of the whole cap: spent by you, spent by others, left."""
    width, height = 720.0, 18.0
    own = min(float(mine / cap), 1.0) * width
    all_spent = min(float(spent / cap), 1.0) * width
    return picture(
        name,
        "Budget",
        words,
        width,
        height,
        element("rect", x=0, y=0, width=width, height=height, rx=5, class_="left"),
        element("rect", x=0, y=0, width=all_spent, height=height, rx=5, class_="others"),
        element("rect", x=0, y=0, width=own, height=height, rx=5, class_="mine"),
    )


def spending(name: str, points: Sequence[tuple[float, float]], cap: float) -> Markup:
    """What was spent, charge by charge, under the cap."""
    end = points[-1][0] if points else 1.0
    return curves(
        name,
        "Spending",
        "The total spent after each charge, and the cap that it never passes.",
        [
            Curve("spent", "c1", points),
            Curve("cap", "c3", [(0.0, cap), (end, cap)]),
        ],
        across="charges",
        up="spent",
    )


@dataclass(frozen=True, slots=True)
class BudgetCard:
    """A budget for a page."""

    picture: Markup
    words: list[str]
    left: Budget
    cap: Budget
    spent: Budget
    mine: Budget | None
    """What the analyst has spent."""
    allowance: Budget | None


def budget_card(dataset: LiveDataset, person: Person | None, name: str = "gauge") -> BudgetCard:
    """The budget of a dataset, as a person may see it."""
    own = person.name if person is not None and person.role is Role.ANALYST else None
    cap, spent = dataset.cap, dataset.spent
    allowance = None if own is None else dataset.allowance(own)
    mine = None if own is None else dataset.spent_by(own)
    words = dataset.left_words(own)
    return BudgetCard(
        gauge(
            name,
            cap=cap.amount,
            mine=mine.amount if mine is not None else spent.amount,
            spent=spent.amount,
            words=" ".join(words),
        ),
        words,
        dataset.left(own),
        cap,
        spent,
        mine,
        allowance,
    )
