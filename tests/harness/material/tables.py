"""Tables and workloads for audits: random schemas, and messy rows.

An audit never touches anybody's table: it runs on a `GeneratedTable`, made here. The rows
are as unpleasant as rows get: nulls, empty text, NaN, infinities, numbers outside the
domain, values of the wrong type, quotes and line breaks, repeated and missing identifiers.

A workload is every example of every registered family, by each algorithm of its class.
Nothing is listed by name: a family or an algorithm that is added is audited from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.audits.guessing.tables import GeneratedTable, Row, written_to
from discreet.errors import DiscreetError
from discreet.families.shared.release.protocol import Algorithm
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.queries.class_tables import released_classes
from discreet.queries.classes import QueryClass, parse_class
from discreet.queries.registry import families
from discreet.releases.algorithms import algorithms_of
from discreet.schema import Schema

if TYPE_CHECKING:
    from numpy.random import Generator


IDENTIFIER = "person"


def written(table: GeneratedTable, folder: Path) -> Path:
    """The table as a CSV file, which is how the engine gets to see it."""
    return written_to(table, folder / "table.csv")


NASTY = (
    "", " ", "NaN", "nan", "inf", "-Infinity", "null", "9223372036854775807", "-9223372036854775808",
    "1e308", "-1e308", "1e-320", "0x10", "١٢", "true", "2020-02-30", "0000-00-00", "a'b", 'a"b',
    "line\nbreak", "--", "; DROP TABLE people", "é", "\u202e", "-0", "1_000", "12.5", "3",
)  # fmt: skip

_COLUMNS = {
    "category": ('kind = "category"\nvalues = ["a", "b", "ü"]\n', ("a", "b", "ü", "c")),
    "category_other": ('kind = "category"\nvalues = ["x", "y"]\nother = true\n', ("x", "y", "z")),
    "boolean": ('kind = "boolean"\n', ("true", "false", "1", "no")),
    "integer": ('kind = "integer"\nrange = [-3, 8]\n', ("-3", "0", "5", "8", "99")),
    "integer_wide": (
        'kind = "integer"\nrange = [0, 19]\nwidth = 5\noutside = "exclude"\n',
        ("0", "7", "19", "20"),
    ),
    "number": (
        'kind = "number"\nbounds = [-1.5, 2.5]\nbits = 3\nclosed = "left"\n',
        ("-1.5", "0.25", "2.5", "1e9"),
    ),
    "date": (
        'kind = "date"\nrange = ["2020-01-01", "2020-03-31"]\ngranularity = "month"\n',
        ("2020-01-15", "2020-03-31", "1999-01-01"),
    ),
}


def random_table(generator: Generator, *, rows: int | None = None) -> GeneratedTable:
    """A random schema of 1 to 3 columns with random nulls, adjacency and unit, and a messy table for it."""
    kinds = list(_COLUMNS)
    chosen = [kinds[i] for i in generator.permutation(len(kinds))[: generator.integers(1, 4)]]
    adjacency = list(Adjacency)[generator.integers(2)]
    has_unit = bool(generator.integers(3) == 0)
    text = [f'dataset = "audit"\npeople = 100\nadjacency = "{adjacency}"']
    if has_unit:
        text.append(f'[unit]\nidentifier = "{IDENTIFIER}"\nmax_rows = {generator.integers(1, 4)}')
    text.append(
        "[csv]\nquoted_line_breaks = true"
    )  # every field is quoted, so each file is well formed
    for name in chosen:
        nulls = ("cell", "exclude")[generator.integers(2)]
        text.append(f'[columns.{name}]\n{_COLUMNS[name][0]}nulls = "{nulls}"')
    schema = Schema.loads("\n".join(text))
    header = ((IDENTIFIER,) if has_unit else ()) + tuple(chosen)
    count = int(generator.integers(0, 12)) if rows is None else rows
    return GeneratedTable(
        schema=schema,
        header=header,
        rows=tuple(random_row(generator, header, schema) for _ in range(count)),
    )


def random_row(
    generator: Generator, header: tuple[str, ...], schema: Schema, *, person: str | None = None
) -> Row:
    """A row for a random (or the given) person: mostly plausible values, often nasty ones.

    It holds a line break only where a record may span lines: elsewhere it would be two records.
    """
    spans = schema.csv.quoted_line_breaks
    nasty = [text for text in NASTY if spans or "\n" not in text]
    row = []
    for name in header:
        if name == IDENTIFIER:
            row.append(("p1", "p2", "p3", "")[generator.integers(4)] if person is None else person)
            continue
        likely = _COLUMNS[name][1]
        pool = likely if generator.random() < 0.7 else nasty
        row.append(pool[generator.integers(len(pool))])
    return tuple(row)


@dataclass(frozen=True, slots=True)
class Job:
    """A release to audit: what it is for, by which algorithms, at what cost."""

    classes: tuple[QueryClass, ...]
    algorithms: dict[str, str]
    budget: Budget


def all_algorithms() -> dict[str, tuple[Algorithm, ...]]:
    """The algorithms of every class."""
    return {name: algorithms_of(name) for name in released_classes()}


def example_texts(schema: Schema) -> tuple[str, ...]:
    """Texts of all families' classes over a schema's columns; the schema may refuse some."""
    return tuple(dict.fromkeys(text for family in families() for text in family.examples(schema)))


def possible(schema: Schema) -> Iterator[tuple[QueryClass, str]]:
    """Every (class, algorithm) that the registered families offer for a schema."""
    seen = set()
    for text in example_texts(schema):
        try:
            query_class = parse_class(text)
            query_class.check(schema)
        except DiscreetError:
            continue
        for algorithm in algorithms_of(query_class.name):
            key = (query_class.text, algorithm.name)
            if key not in seen and algorithm.refusal(query_class, schema) is None:
                seen.add(key)
                yield query_class, algorithm.name
