"""What a release's page holds. Every number on the page is an answer of the release."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from discreet.artifacts.measurement import Measurement
from discreet.charts.columns import heat_figure, histogram_figure
from discreet.charts.figure import Figure, Table, clipped
from discreet.charts.scale import shown_beside
from discreet.errors import BadInput, NotAnswerable
from discreet.privacy.explanation import Explanation, explain
from discreet.queries.measurable import Marginal
from discreet.queries.places import loaded
from discreet.queries.registry import families, merged
from discreet.questions.spelling import sql_name as quoted
from discreet.report.content import Content
from discreet.report.disclosure.meaning import (
    belief_table,
    density_figure,
    error_table,
    group_table,
    ratio_figure,
    unit_table,
)
from discreet.report.loss import loss_figure
from discreet.report.released import claims_table, facts_of, measurements, parts_table, percent
from discreet.report.tables import Line, lines_of, table_sets, tables_table, together_figure

if TYPE_CHECKING:
    from discreet.answering import ReleaseReader
    from discreet.artifacts.release import Part, Release
    from discreet.schema import Schema


MOST_CELLS = 400
MOST_HEAT_CELLS = 12_000
MOST_HISTOGRAMS, MOST_HEAT_MAPS = 24, 12


def histograms(reader: ReleaseReader, confidence: float) -> Iterator[Figure]:
    """Histograms of single columns whose tables were released."""
    schema = reader.release.schema
    sets = [
        each.query.columns
        for each in measurements(reader.release)
        if isinstance(each.query, Marginal)
    ]
    named = {name for columns in [*sets, *table_sets(reader)] for name in columns}
    table = quoted(schema.dataset)
    drawn = [
        column for column in schema.columns if column.name in named and column.cells <= MOST_CELLS
    ]
    for place, column in enumerate(drawn[:MOST_HISTOGRAMS]):
        by = quoted(column.name)
        sql = f"SELECT {by}, count(*) FROM {table} GROUP BY {by}"
        try:
            answers = reader.ask(sql, confidence=confidence)
        except NotAnswerable:
            continue  # its tables leave rows out on account of another column
        if answers.codes[:, 0].max(initial=0) >= column.cells:
            continue  # its values were found, and are drawn by name
        yield histogram_figure(f"hist{place}", column, answers)


def heat_maps(reader: ReleaseReader, lines: list[Line], confidence: float) -> Iterator[Figure]:
    """Which columns go together, then tables of two columns where some cell stands out from the noise."""
    schema = reader.release.schema
    table = quoted(schema.dataset)
    together = together_figure(reader, lines)
    if together is not None:
        yield together
    # The tables that say most come first: the page may not have room for all.
    clear = sorted((line for line in lines if line.clear), key=lambda line: -(line.together or 0))
    rest = [line.columns for line in lines if len(line.columns) == 2]
    place = 0
    for columns in dict.fromkeys([*(line.columns for line in clear), *rest]):
        pair = [schema.column(name) for name in columns]
        if pair[0].cells * pair[1].cells > MOST_HEAT_CELLS or place == MOST_HEAT_MAPS:
            continue
        across, down = sorted(pair, key=lambda column: column.cells, reverse=True)
        by = f"{quoted(down.name)}, {quoted(across.name)}"
        sql = f"SELECT {by}, count(*) FROM {table} GROUP BY {by}"
        try:
            answers = reader.ask(sql, confidence=confidence)
        except NotAnswerable:
            continue  # values of one of them were found, and are counted alone
        figure = heat_figure(f"heat{place}", down, across, answers)
        if figure is not None:
            yield figure
            place += 1


def questions_of(part: Part, schema: Schema) -> list[str]:
    """SQL that the part's family shows for it."""
    place = merged("questions").get(part.query_class.name)
    found: list[str] = [] if place is None else loaded(place)(part, schema)
    return found


def sql_examples(release: Release) -> list[str]:
    """Questions that this release answers, in the order of its parts."""
    schema = release.schema
    table = quoted(schema.dataset)
    examples = []
    for part in release.parts:
        examples += questions_of(part, schema)
        first = part.measurements[0] if part.measurements else None
        if isinstance(first, Measurement) and isinstance(first.query, Marginal):
            by = ", ".join(map(quoted, first.query.columns[-1:]))
            examples += [f"SELECT {by}, count(*) FROM {table} GROUP BY {by}"] if by else []
    return list(dict.fromkeys(examples))[:3] or [f"SELECT count(*) FROM {table}"]


def commands(release: Release, file_name: str) -> list[str]:
    return [
        f"discreet ask {shell_word(file_name)} {shell_word(example)}"
        for example in sql_examples(release)
    ]


def shell_word(text: str) -> str:
    from shlex import quote

    return quote(text)


NOT_PROMISED = (
    "That other releases about the same people cost nothing: their losses add to this one's. The "
    "custodian's ledger adds them up.",
    "That the custodian is honest: the table, its schema and the software were in the custodian's hands.",
    "That the table is right: intervals cover the noise and, where they say so, the width of cells, but no "
    "error in the data itself.",
)


Progress = Callable[[str, float], None]
"""Told the running step, and how much of the whole is done, from 0 to 1."""


def gather(
    reader: ReleaseReader, *, confidence: float, file_name: str, progress: Progress | None = None
) -> Content:
    """Everything for the page, read from the release alone."""
    tell = progress or (lambda step, done: None)
    release = reader.release
    schema = release.schema
    statement = reader.statement()
    tell("reading the tables", 0.0)
    lines = lines_of(reader)
    tell("drawing the ranges", 0.2)
    figures = [*_figures_of_families(reader, confidence)]
    tell("drawing the columns", 0.5)
    figures += histograms(reader, confidence)
    tell("drawing pairs of columns", 0.7)
    figures += heat_maps(reader, lines, confidence)
    tell("composing the privacy loss", 0.9)
    means = _means(release)
    return Content(
        dataset=clipped(schema.dataset),
        lead=_lead(release),
        facts=facts_of(release),
        guarantee=[*statement.words[:2], *_belief(release), *statement.words[2:]],
        not_promised=NOT_PROMISED,
        loss=loss_figure(release),
        meaning=[]
        if means is None
        else [belief_table(means), group_table(means), unit_table(means), error_table(means)],
        densities=() if means is None else (density_figure(means), ratio_figure(means)),
        parts=parts_table(release),
        claims=claims_table(release),
        numbers=_numbers(reader, confidence),
        tables=tables_table(lines),
        figures=figures,
        confidence=percent(confidence),
        questions=commands(release, file_name),
        python=(
            "import discreet as dc\n\n"
            f"release = dc.open_release({file_name!r})\n"
            f"release.ask({sql_examples(release)[0]!r})"
        ),
        verify=f"discreet verify {shell_word(file_name)}",
        columns=_columns(release),
        software=f"Made with {release.software}",
    )


def _means(release: Release) -> Explanation | None:
    """What the budget means to one person; None where it is too large to mean anything."""
    try:
        return explain(release.budget, household=4, identifier=release.schema.unit.identifier)
    except BadInput:
        return None


def _belief(release: Release) -> list[str]:
    """What the budget means for someone who wonders about one person. Pure budgets only."""
    if not release.budget.is_pure:
        return []
    epsilon = float(release.budget.epsilon)
    most = 1 / (1 + math.exp(-epsilon))
    return [
        "In other words: take someone who knows everything else, and to whom a fact about one "
        "person is as likely true as false. After reading this release they can be at most "
        f"{_sure(most)} sure of it."
    ]


def _sure(most: float) -> str:
    """A chance below 1, never rounded up to it."""
    if most > 1 - 1e-6:
        return "99.9999% and more"
    digits = max(1, 1 - math.floor(math.log10(100 * (1 - most))))
    return f"{100 * most:.{digits}f}%"


def _lead(release: Release) -> str:
    people = release.schema.people
    about = f" about roughly {people:,} people" if people else ""
    return (
        f"Noisy numbers{about}, published once under differential privacy. "
        "They answer any number of questions, each with an interval; no question reads the table again."
    )


def _numbers(reader: ReleaseReader, confidence: float) -> Table:
    schema = reader.release.schema
    table = f" FROM {quoted(schema.dataset)}"
    asked = ["count(*)"]
    for part in reader.release.parts:
        whole = [each for each in questions_of(part, schema) if each.endswith(table)]
        asked += [each.removeprefix("SELECT ").removesuffix(table) for each in whole]
    rows = []
    for question in dict.fromkeys(asked):
        try:
            answer = reader.ask(f"SELECT {question}{table}", confidence=confidence).only
        except NotAnswerable:
            continue
        ends = answer.lower, answer.upper
        interval = " to ".join(shown_beside(end, *ends, answer.estimate) for end in ends)
        estimate = shown_beside(answer.estimate, *ends)
        rows.append((question, estimate, interval, answer.covers.value))
    return Table(
        ("question", "estimate", f"{percent(confidence)} interval", "interval covers"),
        rows,
        right=(1, 2),
    )


def _figures_of_families(reader: ReleaseReader, confidence: float) -> Iterator[Figure]:
    """What was asked for by name, in the order of the families."""
    for family in families():
        for place in family.figures:
            yield from loaded(place)(reader, confidence)


def _columns(release: Release) -> Table:
    return Table(
        ("column", "kind", "cells", "missing values", "first to last cell"),
        [
            (
                column.name,
                column.kind,
                f"{column.cells:,}",
                "a cell of their own" if column.nulls == "cell" else "left out",
                f"{column.label(0)} to {column.label(column.value_cells - 1)}"
                if column.value_cells
                else "none declared",
            )
            for column in release.schema.columns
        ],
        right=(2,),
    )
