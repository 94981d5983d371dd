"""Numbers by group from a release against the curator's live answers, at the same budget and question.

    python benchmarks/groups.py [--data DIR] [--draws 900] [--rows 50000]

For each table, adjacency and budget: the mean width of the intervals of means and sums by group, divided
by the curator's (bar: at most 1.1), and how often intervals hold (bar: .945 to .97, pooled over all
draws of a kind; the noise is drawn, the table is read once). And the error of ranges crossed with groups
as a part of that of summing noisy cells (bar: .45 under zCDP, .9 with Laplace noise, for 100 cells). One JSON line a bar.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import discreet as dc
from benchmarks.support.bars import bar
from discreet.answering.regions.region import Region
from discreet.artifacts.answers import AnswerColumn
from discreet.core.vault import Request
from discreet.engines.opening import open_engine
from discreet.families.groups.answer.noisy_ranges import noisy_ranges
from discreet.families.groups.answer.number_source import GroupSource
from discreet.families.groups.answer.range_source import GroupRangeSource
from discreet.privacy.cost import Accounting
from discreet.queries.measurable import TallyQuery
from discreet.releases.preparing import prepare
from tests.groups.people import drawn_part

BUDGETS = {
    "epsilon 1": dc.Budget(epsilon=1),
    "epsilon 1, delta 1e-6": dc.Budget(epsilon=1, delta="1e-6"),
    "rho .1": dc.Budget(rho="1/10"),
}
MOST, LEAST_HELD, MOST_HELD = 1.1, 0.945, 0.97
OF_CELLS, OF_CELLS_LAPLACE = 0.45, 0.9


def generated(rows: int, folder: Path, *, bits: int = 12) -> tuple[str, Path, str]:
    """People with regions of different sizes and skewed incomes, in 2^bits cells."""
    public = np.random.default_rng(20_260_101)
    regions = public.choice(list("nesw"), size=rows, p=[0.5, 0.3, 0.15, 0.05])
    sexes = public.choice(["f", "m"], size=rows)
    incomes = np.clip(public.lognormal(10.3, 0.6, rows), 0, 200_000).round(2)
    ages = np.clip(public.normal(42, 18, rows), 0, 99).astype(int)
    path = folder / "generated.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["region", "sex", "income", "age"])
        writer.writerows(zip(regions, sexes, incomes, ages, strict=True))
    return "generated", path, (
        _category("region", list("nesw")) + _category("sex", ["f", "m"])
        + f'[columns.income]\nkind = "number"\nbounds = [0, 200000]\nbits = {bits}\nnulls = "exclude"\n'
        + '[columns.age]\nkind = "integer"\nrange = [0, 99]\nnulls = "exclude"\n'
    )  # fmt: skip


def published(folder: Path) -> tuple[str, Path, str]:
    """The table of a census: codes, of which age and hours are ordered."""
    domain = json.loads((folder / "tables" / "adult-domain.json").read_text())
    columns = "".join(
        f'[columns."{name}"]\nkind = "integer"\nrange = [0, {domain[name] - 1}]\nnulls = "exclude"\n'
        for name in ("age", "hours-per-week", "race", "sex", "workclass")
    )
    return "adult", folder / "tables" / "adult.csv", columns


def _category(name: str, values: list[str]) -> str:
    return f'[columns.{name}]\nkind = "category"\nvalues = {json.dumps(values)}\nother = false\nnulls = "exclude"\n'


def schema_of(columns: str, adjacency: str, rows: int) -> dc.Schema:
    return dc.Schema.loads(
        f'dataset = "table"\nadjacency = "{adjacency}"\npeople = {rows}\n{columns}'
    )


def exact_numbers(made: object, path: Path, schema: dc.Schema) -> list[np.ndarray]:
    """What reaches the noise, read once."""
    found = []
    with open_engine(path, schema) as engine:
        for request in made.requests:  # type: ignore[attr-defined]
            assert isinstance(request, Request) and isinstance(request.query, TallyQuery)
            tallies = list(request.query.tallies(schema))
            found.append(request.query.answered(engine.tally(tallies), schema))
    return found


def widths(found: object) -> np.ndarray:
    return np.asarray(found.upper - found.lower)  # type: ignore[attr-defined]


def live_answer(
    asked: str, group: str, path: Path, schema: dc.Schema, budget: dc.Budget
) -> AnswerColumn:
    """The curator's answer by group."""
    question = f'SELECT "{group}", {asked} FROM "table" GROUP BY "{group}"'
    with (
        tempfile.TemporaryDirectory() as folder,
        dc.Curator(path, schema, ledger=Path(folder) / "ledger.db", cap=budget) as curator,
    ):
        return curator.ask(question, budget=budget).columns[0]


def compared(table: tuple[str, Path, str], column: str, group: str, rows: int, draws: int) -> bool:
    """Means and sums of one column by one group."""
    name, path, columns = table
    met = True
    held = {"avg": 0, "sum": 0}
    asked = 0
    for adjacency in ("add-remove", "change-one"):
        schema = schema_of(columns, adjacency, rows)
        for title, budget in BUDGETS.items():
            for kind, word in (("avg", "means"), ("sum", "sums")):
                text = f'{word}("{column}" by "{group}")'
                made = prepare(schema, budget=budget, workload=text).parts[0]
                exact = exact_numbers(made, path, schema)
                region = Region(groups=(group,), kind=kind, column=column)  # type: ignore[arg-type]
                calm = GroupSource(drawn_part(made, exact, schema, noisy=False), 0, schema)
                truth = calm.read_one(region, 0.95)
                assert truth is not None
                ours: list[np.ndarray] = []
                for _ in range(draws):
                    source = GroupSource(drawn_part(made, exact, schema), 0, schema)
                    answer = source.read_one(region, 0.95)
                    assert answer is not None
                    ours.append(widths(answer))
                    inside = (answer.lower <= truth.estimate) & (truth.estimate <= answer.upper)
                    held[kind] += int(inside.sum())
                    asked += len(inside) if kind == "avg" else 0
                live = live_answer(f'{kind}("{column}")', group, path, schema, budget)
                ratio = float(np.median(np.mean(ours, axis=0) / widths(live)))
                met &= bar(
                    f"{name}: {kind}({column}) by {group}, {adjacency}, {title}: width / curator's",
                    ratio,
                    MOST,
                )
    for kind, count in held.items():
        share = count / asked
        within = LEAST_HELD <= share <= MOST_HELD
        met &= bar(f"{name}: {kind} by group holds, of {asked:,}", share, LEAST_HELD, met=within)
    return met


def crossed(table: tuple[str, Path, str], rows: int, draws: int) -> bool:
    """Ranges of 100 ages by sex: the error of all ranges of each group, against summed noisy cells."""
    name, path, columns = table
    schema = schema_of(columns, "add-remove", rows)
    met = True
    held = asked = 0
    for title, budget in BUDGETS.items():
        prospect = prepare(schema, budget=budget, workload="intervals(age by sex)")
        made = prospect.parts[0]
        exact = exact_numbers(made, path, schema)
        calm = noisy_ranges(drawn_part(made, exact, schema, noisy=False).noisy, schema)[0]
        everything = np.ones(2, dtype=bool)
        truth = [each.intervals.fitted_prefix for each in calm.over(everything, (0,))]
        errors = []
        for _ in range(max(20, draws // 50)):
            part = drawn_part(made, exact, schema)
            for each, true in zip(
                noisy_ranges(part.noisy, schema)[0].over(everything, (0,)), truth, strict=True
            ):
                off = each.intervals.fitted_prefix - true
                errors.append(
                    np.square(off[:, None] - off[None, :])[np.triu_indices(101, 1)].mean()
                )
                first, last = np.triu_indices(100)
                picked = np.linspace(0, len(first) - 1, 10).astype(int)
                lows, highs = (x[picked].astype(np.uint64)[:, None] for x in (first, last))
                found = each.count(lows, highs, confidence=0.95, whole=False)
                real = true[last[picked] + 1] - true[first[picked]]
                held += int(((found.lower <= real) & (real <= found.upper)).sum())
                asked += len(picked)
        cells = (
            prepare(
                schema,
                budget=budget,
                workload="marginals(age, sex)",
                accounting=prospect.accounting,
            )
            .parts[0]
            .noise()[0]["std"]
        )
        length = np.subtract(*np.triu_indices(101, 1)[::-1]).mean()
        summed = cells * np.sqrt(length)
        limit = OF_CELLS if prospect.accounting is Accounting.CONCENTRATED else OF_CELLS_LAPLACE
        met &= bar(
            f"{name}: intervals(age by sex), {title}: error / that of summed cells",
            float(np.sqrt(np.mean(errors))) / summed,
            limit,
        )
    share = held / asked
    within = LEAST_HELD <= share <= MOST_HELD
    met &= bar(f"{name}: ranges by group hold, of {asked:,}", share, LEAST_HELD, met=within)
    return met


def medians(
    table: tuple[str, Path, str], column: str, group: str, rows: int, draws: int, *, fine: bool
) -> bool:
    """Medians by group, beside the curator's: widths in cells, both ends counted.

    `fine`: whether a cell holds few rows. Where it holds many, an interval of whole cells holds more often than stated.
    """
    name, path, columns = table
    schema = schema_of(columns, "add-remove", rows)
    met = True
    held = asked = 0
    low, high = schema.column(column).value_bounds or (0, 0)
    cell = float(high - low + (schema.column(column).kind == "integer"))
    cell /= schema.column(column).value_cells
    for title, budget in BUDGETS.items():
        workload = f'quantiles("{column}" by "{group}")'
        made = prepare(schema, budget=budget, workload=workload).parts[0]
        exact = exact_numbers(made, path, schema)
        region = Region(groups=(group,), kind="quantile", column=column, level=Fraction(1, 2))
        calm = noisy_ranges(drawn_part(made, exact, schema, noisy=False).noisy, schema)[0]
        groups = schema.column(group).cells
        truth = []
        for each in calm.over(np.ones(groups, dtype=bool), (0,)):
            prefix = each.intervals.fitted_prefix
            place = int(np.searchsorted(prefix, prefix[-1] / 2, side="right")) - 1
            truth.append(float(low) + cell * (place + 0.5 * (cell != 1)))
        ours = []
        for _ in range(max(10, draws // 6)):
            part = drawn_part(made, exact, schema)
            found = GroupRangeSource(part, 0, schema).read_one(region, 0.95)
            assert found is not None
            ours.append(widths(found) + cell)
            held += int(((found.lower <= truth) & (truth <= found.upper)).sum())
            asked += groups
        live = [
            widths(live_answer(f'median("{column}")', group, path, schema, budget)) + cell
            for _ in range(5)
        ]
        ratio = float(np.median(np.mean(ours, axis=0) / np.mean(live, axis=0)))
        met &= bar(f"{name}: median({column}) by {group}, {title}: width / curator's", ratio, MOST)
    share = held / asked
    within = LEAST_HELD <= share <= (MOST_HELD if fine else 1)
    return met & bar(f"{name}: medians by group hold, of {asked:,}", share, LEAST_HELD, met=within)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--draws", type=int, default=900)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--only", choices=("medians",), default=None)
    given = parser.parse_args(arguments)
    met = True
    with tempfile.TemporaryDirectory() as folder:
        table = generated(given.rows, Path(folder), bits=16)
        met &= medians(table, "income", "region", given.rows, given.draws, fine=True)
        census = None if given.data is None else published(given.data)
        if census is not None:
            met &= medians(census, "age", "workclass", 48_842, given.draws, fine=False)
        if given.only == "medians":
            return 0 if met else 1
        table = generated(given.rows, Path(folder))
        met &= compared(table, "income", "region", given.rows, given.draws)
        met &= crossed(table, given.rows, given.draws)
        if census is not None:
            met &= compared(census, "hours-per-week", "race", 48_842, given.draws)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
