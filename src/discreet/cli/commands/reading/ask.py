"""`discreet ask`: SQL to a release.

In a file of questions, a semicolon ends a question. Without one, each line is a question of its own, unless it goes on with the one before: it is
indented, begins with a word such as FROM, or stands inside parentheses that are open. Comments are left out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import click

from discreet.cli.options import FILE, confidence_option, json_option

_PIECES = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|[^-/'";]+|.""",
    re.DOTALL,
)
_GOES_ON = re.compile(
    r"""\s|[,)(<>=+*/%|-]|(?:FROM|WHERE|GROUP|HAVING|QUALIFY|WINDOW|ORDER|LIMIT|OFFSET|FETCH|UNION|INTERSECT|EXCEPT|AND|OR
    |NOT|IN|IS|LIKE|BETWEEN|AS|OVER|FILTER|WITHIN|CASE|WHEN|THEN|ELSE|END|JOIN|LEFT|RIGHT|INNER|CROSS|ON|USING)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_IS_OPEN = re.compile(
    r"(?:[,(<>=+*/%|-]|\b(?:SELECT|DISTINCT|FROM|WHERE|BY|HAVING|AND|OR|NOT|IN|AS|ALL|UNION|CASE|WHEN|THEN|ELSE))\s*$",
    re.IGNORECASE,
)


def statements(text: str) -> list[str]:
    """The questions of a text, in their order."""
    found = []
    for part in _parts(text):
        lines: list[str] = []
        for line in part.split("\n"):
            if not line.strip():
                continue
            if lines and (_GOES_ON.match(line) or _is_unfinished(lines[-1])):
                lines[-1] += "\n" + line.rstrip()
            else:
                lines.append(line.rstrip())
        found += [line.strip() for line in lines]
    return found


def _parts(text: str) -> list[str]:
    """What lies between semicolons, without comments."""
    parts = [""]
    for piece in _PIECES.findall(dedent(text.replace("\r\n", "\n"))):
        if piece == ";":
            parts.append("")
        elif piece.startswith(("--", "/*")):
            parts[-1] += " " if piece.startswith("/*") else ""
        else:
            parts[-1] += piece
    return parts


def _is_unfinished(question: str) -> bool:
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "x", question)
    depth = bare.count("(") - bare.count(")")
    if depth > 0 or _IS_OPEN.search(bare):
        return True
    if not re.match(r"\s*WITH\b", bare, re.IGNORECASE):
        return False
    while (outer := re.sub(r"\([^()]*\)", " ", bare)) != bare:
        bare = outer
    return re.search(r"\bSELECT\b", bare, re.IGNORECASE) is None


@click.command()
@click.argument("release_path", metavar="RELEASE", type=FILE)
@click.argument("questions", metavar="SQL...", nargs=-1, required=True)
@confidence_option
@json_option
@click.option(
    "--csv", "as_csv", is_flag=True, help="Print the answers as CSV, with lower, upper and std."
)
@click.option(
    "--parquet",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the answers to a Parquet file, numbers, dates and nulls as such.",
)
@click.option(
    "--population",
    is_flag=True,
    help="Shares of the population that the rows were drawn from: intervals with the sampling error added.",
)
@click.option(
    "--additive",
    is_flag=True,
    help="Counts as they were measured, neither rounded nor set to at least 0: they add up.",
)
@click.pass_context
def command(
    ctx: click.Context,
    release_path: Path,
    questions: tuple[str, ...],
    confidence: float,
    as_json: bool,
    as_csv: bool,
    parquet: Path | None,
    population: bool,
    additive: bool,
) -> None:
    """Ask a release one or several questions in SQL. Questions are free: they read the release,
    never the table.

    Understood: SELECT of count, sum, avg, median, quantile, stddev, corr and arithmetic between them, FROM
    name WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT, with CASE, FILTER, window functions, ROLLUP,
    UNION ALL, subqueries and WITH. What a release was made for decides which of them it answers. With -
    questions are read from standard input, one on each line or ended by semicolons. Of several questions those that can be answered
    are answered, and the others are reported; the exit code is then 2. Every answer has an interval. An
    interval at least as wide as its estimate is marked vague.

    \b
    Examples:
      discreet ask people.release "SELECT count(*) FROM people WHERE age BETWEEN 30 AND 39"
      discreet ask people.release "SELECT sex, count(*) FROM people GROUP BY sex" --confidence 0.99
      discreet ask people.release "SELECT avg(income) FROM people" --json
      discreet ask people.release "SELECT sex, count(*) FROM people GROUP BY sex" --csv > by-sex.csv
      discreet ask people.release "SELECT sex, 100.0 * count(*) / sum(count(*)) OVER () AS percent FROM people GROUP BY sex ORDER BY percent DESC"
      discreet ask people.release "SELECT sex, count(*) FROM people GROUP BY sex" --population
      discreet ask people.release "SELECT sex, count(*) FROM people GROUP BY sex" --additive
      cat questions.sql | discreet ask people.release -
    """
    from discreet.answering import open_release
    from discreet.cli.answering import print_answers, print_csv, write_parquet
    from discreet.cli.output import print_json, say
    from discreet.errors import BadInput, BadQuestion, NotAnswerable

    asked = [line for question in questions for line in _lines(question)]
    if not asked:
        raise BadInput("No question came through standard input. Write one in a line, ended by ;.")
    if (as_csv or parquet is not None) and len(asked) != 1:
        raise BadInput(
            f"A CSV or Parquet file holds one answer, and there are {len(asked)} questions."
        )
    if as_csv + as_json + (parquet is not None) > 1:
        raise BadInput("Give one of --json, --csv and --parquet.")
    reader = open_release(release_path)
    if population:
        if additive:
            raise BadInput("Give one of --population and --additive.")
        if as_csv or parquet is not None:
            raise BadInput("--population is printed as a table or as JSON, not as CSV or Parquet.")
        _print_population(reader, asked, confidence, as_json)
        return
    found: list[dict[str, Any]] = []
    refused = 0
    for place, question in enumerate(asked, 1):
        try:
            answers = reader.ask(question, confidence=confidence, additive=additive)
        except (BadQuestion, NotAnswerable) as error:
            if len(asked) == 1:
                raise
            refused += 1
            if as_json:
                found.append({"question": question, "error": str(error)})
            else:
                say(f"Question {place} of {len(asked)}, {_short(question)!r}: {error}\n")
            continue
        if as_json:
            found.append(answers.to_dict())
        elif as_csv:
            print_csv(answers)
        elif parquet is not None:
            write_parquet(answers, parquet)
        else:
            print_answers(question if len(asked) > 1 else None, answers)
    if as_json:
        print_json(found[0] if len(questions) == 1 and questions[0] != "-" else found)
    if refused:
        if not as_json:
            click.echo(f"{refused} of {len(asked)} questions were not answered.", err=True)
        ctx.exit(2)


def _print_population(reader: Any, asked: list[str], confidence: float, as_json: bool) -> None:
    from dataclasses import asdict

    from discreet.answering.population import ASSUMED
    from discreet.cli.output import print_json, print_table, say

    found = [reader.population(question, confidence=confidence) for question in asked]
    if as_json:
        print_json([[asdict(each) for each in shares] for shares in found])
        return
    for question, shares in zip(asked, found, strict=True):
        print_table(
            ("count", "share", f"{confidence:g} of the population", "of the table"),
            [
                (
                    " ".join(each.group),
                    f"{each.estimate:.4f}",
                    f"[{each.lower:.4f}, {each.upper:.4f}]",
                    f"[{each.table_lower:.4f}, {each.table_upper:.4f}]",
                )
                for each in shares
            ],
            title=question if len(asked) > 1 else None,
        )
    for note in dict.fromkeys(each.note for shares in found for each in shares if each.note):
        say(note)
    say(ASSUMED)


def _short(question: str) -> str:
    return question if len(question) <= 80 else question[:77] + "..."


def _lines(question: str) -> list[str]:
    if question != "-":
        return [question]
    return statements(sys.stdin.read())
