"""A small table with groups, its exact numbers by group, and releases of it without an engine."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.artifacts.measurement import Measurement
from discreet.artifacts.release import Part
from discreet.core.noise import DrawnNoise
from discreet.core.vault import Request
from discreet.families.shared.release.protocol import Prepared, PreparedClass
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, allowance
from discreet.privacy.laws import NoiseLaw
from discreet.queries.classes import parse_class
from discreet.queries.measurable import TallyQuery
from discreet.queries.tallies import Cells, Tally, Total
from discreet.releases.algorithms import algorithm_for
from discreet.schema import Schema

SCHEMA = """
dataset = "people"
adjacency = "{adjacency}"
{unit}
[columns.region]
kind = "category"
values = ["n", "e", "s"]
other = false
nulls = "exclude"
[columns.sex]
kind = "category"
values = ["f", "m"]
[columns.income]
kind = "number"
bounds = [-50, 150]
bits = 6
nulls = "exclude"
[columns.age]
kind = "integer"
range = [0, 39]
nulls = "exclude"
"""
Row = tuple[str, str | None, float | None, int | None]
"""Region, sex, income, age."""


def written(rows: Sequence[Row], path: Path) -> Path:
    """The rows as a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["region", "sex", "income", "age"])
        writer.writerows([["" if each is None else each for each in row] for row in rows])
    return path


def law_of(request: Request, schema: Schema) -> NoiseLaw:
    """The noise that a request is measured with."""
    query = request.query
    return request.mechanism.law(query.sensitivity(schema), size=query.size(schema))


def schema_of(adjacency: str = "add-remove", max_rows: int = 1) -> Schema:
    unit = f'[unit]\nidentifier = "id"\nmax_rows = {max_rows}\n' if max_rows > 1 else ""
    return Schema.loads(SCHEMA.format(adjacency=adjacency, unit=unit))


def some_rows(many: int, generator: Any) -> list[Row]:
    """Groups of different sizes, means away from the middle, some nulls."""
    regions = generator.choice(["n", "e", "s"], size=many, p=[0.6, 0.3, 0.1])
    sexes = generator.choice(["f", "m", None], size=many, p=[0.5, 0.4, 0.1])
    incomes = np.clip(generator.gamma(2, 25, many) - 20, -50, 150).round(3)
    ages = np.clip(generator.normal(15, 8, many), 0, 39).astype(int)
    rows = zip(regions.tolist(), sexes.tolist(), incomes.tolist(), ages.tolist(), strict=True)
    return [
        (region, sex, None if place % 29 == 0 else income, age)
        for place, (region, sex, income, age) in enumerate(rows)
    ]


def tallied(tally: Tally, rows: Sequence[Row], schema: Schema) -> np.ndarray:
    """What an engine would return, by the schema's own encoder."""
    names = ("region", "sex", "income", "age")
    found = np.zeros(tally.shape(schema), dtype=np.int64)
    term: Any = tally.term
    column = schema.column(term.column if isinstance(term, Cells) else term.of)
    for row in rows:
        values: dict[str, Any] = dict(zip(names, row, strict=True))
        codes = [schema.column(str(name)).code_of(values[str(name)]) for name in tally.groups]
        group: Any = tuple(each for each in codes if each is not None)
        code = column.code_of(values[column.name])
        if code is None or len(group) < len(codes) or code >= column.value_cells:
            continue
        if isinstance(term, Cells):
            found[(*group, code >> (term.shift or 0))] += 1
        elif isinstance(term, Total):
            low, high = column.value_bounds or (0, 0)
            value = min(max(float(values[column.name]), float(low)), float(high))
            found[group] += round(value * term.grid) - term.center
        else:
            found[group] += 1
    return found.reshape(-1)


def prepared(
    text: str, schema: Schema, budget: Budget, *, algorithm: str | None = None
) -> Prepared:
    query_class = parse_class(text)
    query_class.check(schema)
    accounting = Accounting.BASIC if budget.is_pure else Accounting.CONCENTRATED
    chosen = algorithm_for(query_class, schema, named=algorithm)
    share = allowance(budget, accounting)
    return chosen.prepare(query_class, schema, share=share, accounting=accounting)


def exact_numbers(made: Prepared, rows: Sequence[Row], schema: Schema) -> list[np.ndarray]:
    """What reaches the noise, request by request."""
    found = []
    for request in made.requests:
        query = request.query
        assert isinstance(query, TallyQuery)
        tallies = [tallied(tally, rows, schema) for tally in query.tallies(schema)]
        found.append(query.answered(tallies, schema))
    return found


def drawn_part(
    made: Prepared, exact: Sequence[np.ndarray], schema: Schema, *, noisy: bool = True
) -> Part:
    """A part with fresh noise, or with none."""
    noise = DrawnNoise()
    measured = []
    for request, numbers in zip(made.requests, exact, strict=True):
        law = law_of(request, schema)
        values = noise.add(numbers, law, step="t") if noisy else numbers.copy()
        moved = request.query.sensitivity(schema)
        measured.append(Measurement(request.query, law, moved, request.mechanism.cost(), values))
    assert isinstance(made, PreparedClass)
    return made.part(measured, estimates={}, facts={})
