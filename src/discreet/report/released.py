"""What was released, as tables and large numbers: budget, measurements with their noise, and error claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from discreet.answering.overview import telling_claims
from discreet.artifacts.measurement import Measurement, TreeMeasurement
from discreet.charts.figure import Table, clipped
from discreet.charts.scale import shown
from discreet.privacy.budget import Notion
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.measurable import ClampedSum, Marginal
from discreet.report.content import Fact

if TYPE_CHECKING:
    from discreet.artifacts.release import Part, Release


def measurements(release: Release) -> Iterator[Measurement]:
    for part in release.parts:
        yield from part.noisy


def facts_of(release: Release) -> list[Fact]:
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
    numbers = sum(measurement.values.size for measurement in measurements(release))
    numbers += sum(_tree_numbers(part) for part in release.parts)
    return [
        Fact("Privacy budget", str(budget).split(",")[0], f"{slack}; {name} of the whole release"),
        Fact("Protects", clipped(who), neighbours),
        rows,
        Fact("Published", f"{numbers:,} noisy numbers", f"for {len(release.parts)} query classes"),
    ]


def parts_table(release: Release) -> Table:
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


def claims_table(release: Release) -> Table:
    """One line a class: the bound for each query alone, and the one for all of them at once."""
    alone: dict[tuple[str, float], tuple[str, str]] = {}
    together: dict[tuple[str, float], tuple[str, str]] = {}
    for claim in telling_claims(release):
        found = together if claim.simultaneous else alone
        found[claim.query_class, claim.confidence] = (
            f"± {shown(_rounded(claim.bound))}",
            (f"for {claim.among}: " if claim.among else "") + claim.theorem,
        )
    rows = []
    for key in dict.fromkeys([*alone, *together]):
        one, one_reason = alone.get(key, ("", ""))
        all_, all_reason = together.get(key, ("", ""))
        reasons = "; ".join(dict.fromkeys(filter(None, (one_reason, all_reason))))
        rows.append((key[0], one, all_, percent(key[1]), reasons))
    headers = ("for", "each query", "all at once", "confidence", "because of")
    return Table(headers, rows, right=(1, 2, 3))


def percent(part: float) -> str:
    return f"{part * 100:.6g}%"
