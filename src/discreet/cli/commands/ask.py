"""`discreet ask`: SQL to a release."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from discreet.cli.options import FILE, confidence_option, json_option


@click.command()
@click.argument("release_path", metavar="RELEASE", type=FILE)
@click.argument("questions", metavar="SQL...", nargs=-1, required=True)
@confidence_option
@json_option
def command(
    release_path: Path, questions: tuple[str, ...], confidence: float, as_json: bool
) -> None:
    """Ask a release one or several questions in SQL. Questions are free: they read the release,
    never the table.

    Understood: SELECT count(*), count(column), sum(column), avg(column), median(column),
    quantile(column, 0.9) FROM name WHERE ... GROUP BY ..., with =, <>, <, <=, >, >=, BETWEEN, IN,
    LIKE, IS NULL, AND, OR, NOT, and linear inequalities such as age + 2*hours >= 90. What a release was
    made for decides which of them it answers. With - questions are read from standard input, one on
    each line. Every answer has an interval. An interval wider than its estimate is marked vague.

    \b
    Examples:
      discreet ask people.release "SELECT count(*) FROM people WHERE age BETWEEN 30 AND 39"
      discreet ask people.release "SELECT sex, count(*) FROM people GROUP BY sex" --confidence 0.99
      discreet ask people.release "SELECT avg(income) FROM people" --json
      discreet ask people.release "SELECT median(age) FROM people"
      cat questions.sql | discreet ask people.release -
    """
    from discreet.answering import open_release
    from discreet.cli.answering import print_answers
    from discreet.cli.output import print_json
    from discreet.errors import BadQuestion, NotAnswerable

    reader = open_release(release_path)
    asked = [line for question in questions for line in _lines(question)]
    found = []
    for place, question in enumerate(asked, 1):
        try:
            found.append((question, reader.ask(question, confidence=confidence)))
        except (BadQuestion, NotAnswerable) as error:
            if len(asked) == 1:
                raise
            shown = question if len(question) <= 80 else question[:77] + "..."
            raise type(error)(f"Question {place} of {len(asked)}, {shown!r}: {error}") from None
    if as_json:
        listed = [answers.to_dict() for _, answers in found]
        print_json(listed[0] if len(questions) == 1 and questions[0] != "-" else listed)
        return
    for question, answers in found:
        print_answers(question if len(found) > 1 else None, answers)


def _lines(question: str) -> list[str]:
    if question != "-":
        return [question]
    return [line.strip() for line in sys.stdin if line.strip()]
