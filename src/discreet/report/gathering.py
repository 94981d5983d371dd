"""From a release to what its page holds. Every number on the page is an answer of the release."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from discreet.artifacts.measurement import Measurement, TreeMeasurement
from discreet.charts.columns import heat_figure, histogram_figure
from discreet.charts.figure import Figure, Table, clipped
from discreet.charts.scale import shown, shown_beside
from discreet.errors import BadInput, NotAnswerable
from discreet.privacy.budget import Notion
from discreet.privacy.explanation import Explanation, explain
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.measurable import ClampedSum, Marginal
from discreet.queries.places import loaded
from discreet.queries.registry import families, merged
from discreet.questions.spelling import sql_name as quoted
from discreet.report.content import Content, Fact
from discreet.report.disclosure.meaning import (
    belief_table,
    density_figure,
    error_table,
    group_table,
    ratio_figure,
    unit_table,
)
from discreet.report.loss import loss_figure
from discreet.report.tables import Line, lines_of, table_sets, tables_table, together_figure

if TYPE_CHECKING:
    from discreet.answering import ReleaseReader
    from discreet.artifacts.release import Part, Release
    from discreet.schema import Schema

MOST_CELLS = 400
MOST_HEAT_CELLS = 12_000
MOST_HISTOGRAMS, MOST_HEAT_MAPS = 24, 12

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
    figures += _histograms(reader, confidence)
    tell("drawing pairs of columns", 0.7)
    figures += _heat_maps(reader, lines, confidence)
    tell("composing the privacy loss", 0.9)
    means = _means(release)
    return Content(
        dataset=clipped(schema.dataset),
        lead=_lead(release),
        facts=_facts(release),
        guarantee=[*statement.words[:2], *_belief(release), *statement.words[2:]],
        not_promised=NOT_PROMISED,
        loss=loss_figure(release),
        meaning=[]
        if means is None
        else [belief_table(means), group_table(means), unit_table(means), error_table(means)],
        densities=() if means is None else (density_figure(means), ratio_figure(means)),
        parts=_parts(release),
        claims=_claims(release),
        numbers=_numbers(reader, confidence),
        tables=tables_table(lines),
        figures=figures,
        confidence=_percent(confidence),
        questions=_questions(release, file_name),
        python=(
            "import discreet as dc\n\n"
            f"release = dc.open_release({file_name!r})\n"
            f"release.ask({_sql_examples(release)[0]!r})"
        ),
        verify=f"discreet verify {_shell_word(file_name)}",
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


def _percent(part: float) -> str:
    return f"{part * 100:.6g}%"


def _shell_word(text: str) -> str:
    from shlex import quote

    return quote(text)


def _measurements(release: Release) -> Iterator[Measurement]:
    for part in release.parts:
        yield from part.noisy


def _lead(release: Release) -> str:
    people = release.schema.people
    about = f" about roughly {people:,} people" if people else ""
    return (
        f"Noisy numbers{about}, published once under differential privacy. "
        "They answer any number of questions, each with an interval; no question reads the table again."
    )


def _facts(release: Release) -> list[Fact]:
    schema, unit = release.schema, release.schema.unit
    who = (
        "one row"
        if unit.identifier is None
        else f"up to {unit.max_rows} rows of one {unit.identifier}"
    )
    neighbours = "added or removed" if schema.adjacency == "add-remove" else "replaced by another"
    if unit.identifier is not None:
        neighbours += f"; rows without a {clipped(unit.identifier)} are left out"
    rows = (
        Fact("Number of rows", f"{release.public_rows:,}", "public under this adjacency")
        if release.public_rows is not None
        else Fact("Number of rows", "a secret", "known with noise only")
    )
    budget = release.budget
    name = budget.notion.words
    slack = (
        "no delta"
        if budget.notion is Notion.MU
        else "pure"
        if budget.is_pure
        else f"delta {float(budget.delta):.3g}"
    )
    numbers = sum(measurement.values.size for measurement in _measurements(release))
    numbers += sum(_tree_numbers(part) for part in release.parts)
    return [
        Fact("Privacy budget", str(budget).split(",")[0], f"{slack}; {name} of the whole release"),
        Fact("Protects", clipped(who), neighbours),
        rows,
        Fact("Published", f"{numbers:,} noisy numbers", f"for {len(release.parts)} query classes"),
    ]


def _parts(release: Release) -> Table:
    rows = []
    for part in release.parts:
        if part.trees:
            rows.append((part.query_class.text, _nodes(part.trees), _tree_noise(part.trees)))
            continue
        rows.append((part.query_class.text, _measured(part, part.noisy), _noise(part.noisy)))
    return Table(("for", "measured", "noise added to each number"), rows)


def _tree_numbers(part: Part) -> int:
    return sum(level.values.size for tree in part.trees for level in tree.levels)


def _nodes(trees: Sequence[TreeMeasurement]) -> str:
    nodes = sum(len(level.nodes) for tree in trees for level in tree.levels)
    leaves = sum(int(level.stopped.sum()) for level in trees[-1].levels)
    return f"a tree of {nodes:,} nodes, {leaves:,} of them not split further"


def _tree_noise(trees: Sequence[TreeMeasurement]) -> str:
    levels = [level for tree in trees for level in tree.levels]
    finest = max(level.stopped_epsilon for level in levels)
    coarsest = min(level.first_epsilon for level in levels)
    laws = [DiscreteLaplaceLaw(scale=1 / each) for each in (finest, coarsest)]
    text = " to ".join(dict.fromkeys(shown(_rounded(law.std)) for law in laws))
    return f"{laws[0].words}, standard deviation {text}, least where it is not split"


def _measured(part: Part, measured: Sequence[Measurement]) -> str:
    numbers = sum(each.values.size for each in measured) + _tree_numbers(part)
    tables = sum(isinstance(each.query, Marginal) for each in measured)
    if not tables:
        return f"{numbers:,} number{'s' * (numbers != 1)}"
    return f"{tables:,} table{'s' * (tables != 1)}, {numbers:,} cells"


def _noise(measured: Sequence[Measurement]) -> str:
    if not measured:
        return "see the release"
    kinds = dict.fromkeys(each.law.words for each in measured)
    # A sum is measured in steps of its grid; people read it in the column's own units.
    spreads = [
        each.law.std / each.query.grid if isinstance(each.query, ClampedSum) else each.law.std
        for each in measured
    ]
    listed = list(dict.fromkeys(shown(_rounded(spread)) for spread in sorted(spreads)))
    text = " and ".join(listed) if len(listed) <= 2 else f"{listed[0]} to {listed[-1]}"
    return f"{' and '.join(kinds)}, standard deviation {text}"


def _rounded(value: float) -> float:
    return round(value, 2) if value < 100 else float(round(value))


def _claims(release: Release) -> Table:
    """One line a class: the bound for each query alone, and the one for all of them at once."""
    alone: dict[tuple[str, float], tuple[str, str]] = {}
    together: dict[tuple[str, float], tuple[str, str]] = {}
    for claim in release.claims:
        found = together if claim.simultaneous else alone
        found[claim.query_class, claim.confidence] = (
            f"± {shown(_rounded(claim.bound))}" + (f", {claim.among}" if claim.among else ""),
            claim.theorem,
        )
    rows = []
    for key in dict.fromkeys([*alone, *together]):
        one, one_reason = alone.get(key, ("", ""))
        all_, all_reason = together.get(key, ("", ""))
        reasons = "; ".join(dict.fromkeys(filter(None, (one_reason, all_reason))))
        rows.append((key[0], one, all_, _percent(key[1]), reasons))
    headers = ("for", "each query", "all at once", "confidence", "because of")
    return Table(headers, rows, right=(1, 2, 3))


def _numbers(reader: ReleaseReader, confidence: float) -> Table:
    schema = reader.release.schema
    table = f" FROM {quoted(schema.dataset)}"
    asked = ["count(*)"]
    for part in reader.release.parts:
        whole = [each for each in _questions_of(part, schema) if each.endswith(table)]
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
        ("question", "estimate", f"{_percent(confidence)} interval", "interval covers"),
        rows,
        right=(1, 2),
    )


def _histograms(reader: ReleaseReader, confidence: float) -> Iterator[Figure]:
    """Histograms of single columns whose tables were released."""
    schema = reader.release.schema
    sets = [
        each.query.columns
        for each in _measurements(reader.release)
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
        yield histogram_figure(f"hist{place}", column, answers)


def _heat_maps(reader: ReleaseReader, lines: list[Line], confidence: float) -> Iterator[Figure]:
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
        figure = heat_figure(f"heat{place}", down, across, reader.ask(sql, confidence=confidence))
        if figure is not None:
            yield figure
            place += 1


def _figures_of_families(reader: ReleaseReader, confidence: float) -> Iterator[Figure]:
    """What was asked for by name, in the order of the families."""
    for family in families():
        for place in family.figures:
            yield from loaded(place)(reader, confidence)


def _questions_of(part: Part, schema: Schema) -> list[str]:
    """SQL that the part's family shows for it."""
    place = merged("questions").get(part.query_class.name)
    found: list[str] = [] if place is None else loaded(place)(part, schema)
    return found


def _sql_examples(release: Release) -> list[str]:
    """Questions that this release answers, in the order of its parts."""
    schema = release.schema
    table = quoted(schema.dataset)
    examples = []
    for part in release.parts:
        examples += _questions_of(part, schema)
        first = part.measurements[0] if part.measurements else None
        if isinstance(first, Measurement) and isinstance(first.query, Marginal):
            by = ", ".join(map(quoted, first.query.columns[-1:]))
            examples += [f"SELECT {by}, count(*) FROM {table} GROUP BY {by}"] if by else []
    return list(dict.fromkeys(examples))[:3] or [f"SELECT count(*) FROM {table}"]


def _questions(release: Release, file_name: str) -> list[str]:
    return [
        f"discreet ask {_shell_word(file_name)} {_shell_word(example)}"
        for example in _sql_examples(release)
    ]


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
