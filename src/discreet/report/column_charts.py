"""Charts of the columns whose tables were released: histograms, and heat maps of two columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.charts.columns import heat_figure, histogram_figure
from discreet.charts.figure import Figure
from discreet.errors import NotAnswerable
from discreet.queries.measurable import Marginal
from discreet.questions.spelling import sql_name as quoted
from discreet.report.released import measurements
from discreet.report.tables import Line, table_sets, together_figure

if TYPE_CHECKING:
    from discreet.answering import ReleaseReader

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
