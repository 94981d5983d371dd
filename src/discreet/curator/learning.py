"""Learning public facts from rows, for a stated budget: bounds of numbers, values of categories.

Where nobody knows a column's bounds, they cost something to find. The column's values are counted
in cells that double in size away from zero, with noise; the bounds are the ends of the outermost
cells whose noisy count stands out. Where nobody can list a category's values, those that many
people hold are named by partition selection.

Guarantee:   the budget: one histogram for each numeric column (epsilon-DP), one selection for each
             category ((epsilon, delta)-DP); every column gets an equal part of epsilon, and every
             category of delta (basic composition).
Adjacency:   the one given, or else that of the dataset's cap. Sensitivity: `Tally.sensitivity` of a histogram, `keys_touched`.
Error:       with probability `confidence` no empty cell is taken for a full one, and every cell
             with more than twice `threshold` rows lies within the bounds. A value that `threshold`
             people hold is named for certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.core.mechanisms import PartitionSelection
from discreet.core.vault import TallyRequest, Vault
from discreet.curator.planning import check_names_keys
from discreet.engines import open_engine
from discreet.errors import BadInput
from discreet.families.shared.release.noise_choice import (
    check_drawable,
    least_error_mechanism,
    simultaneous_bound,
)
from discreet.ledger import Ledger
from discreet.ledger.opening import is_begun
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting
from discreet.privacy.exact import confidence_level
from discreet.privacy.protection import Protected
from discreet.queries.tallies import Cells, Tally, keys_touched
from discreet.questions.expressions import TRUE
from discreet.releases.preparing import warn_of_large_cap
from discreet.schema import CategoryColumn, CsvOptions, NumberColumn, Schema

LARGEST_POWER, SMALLEST_POWER = 60, -20


@dataclass(frozen=True, slots=True)
class LearntBounds:
    """What was found for one column, and what it cost."""

    column: str
    low: float
    high: float
    found: bool
    """Whether any cell stood out; if none did, the bounds are the widest."""
    threshold: int
    charged: Budget


@dataclass(frozen=True, slots=True)
class LearntValues:
    """What was found for one category, and what it cost."""

    column: str
    values: tuple[str, ...]
    threshold: int
    """How many people a value needs to be named for certain."""
    charged: Budget


def learn_schema(
    source: object,
    *,
    dataset: str,
    columns: Sequence[str] = (),
    categories: Sequence[str] = (),
    budget: Budget,
    cap: Budget | None = None,
    ledger: Ledger | Path | str | None = None,
    adjacency: Adjacency | None = None,
    unit: PrivacyUnit | None = None,
    csv: CsvOptions | None = None,
    confidence: float = 0.95,
    convert_unit: bool = False,
) -> list[LearntBounds | LearntValues]:
    """Find bounds of numeric `columns` and values of `categories`, charging `budget` in all to `dataset`.

    Without `adjacency` or `unit`, those that the dataset's cap protects are protected; a dataset that
    is not in the ledger yet is taken to be of rows, add-remove. Its first charge says whom its cap
    protects from then on, so give the adjacency and the unit that the schema will have.
    `convert_unit` is as for `release`.
    """
    confidence = float(confidence_level(confidence))
    if not columns and not categories:
        raise BadInput(
            "Name the columns whose bounds or values to learn. Nothing was read or charged."
        )
    known = _protected_by_its_cap(dataset, ledger) or Protected()
    cuts = _cuts()
    numbers = [
        NumberColumn(name, -(2.0**62), 2.0**62, cuts=cuts, nulls="exclude") for name in columns
    ]
    names = [CategoryColumn(name, (), undeclared=True) for name in categories]
    probe = Schema(
        dataset=dataset,
        columns=(*numbers, *names),
        adjacency=known.adjacency if adjacency is None else adjacency,
        unit=known.unit if unit is None else unit,
        cap=cap,
        csv=csv or CsvOptions(),
    )
    if categories:
        check_names_keys(budget, (cap or budget).notion)
    elif not budget.is_pure:
        raise BadInput("Bounds are learnt with a pure epsilon. Nothing was read or charged.")
    share = Budget(epsilon=budget.epsilon / (len(columns) + len(categories)))
    finders = [
        PartitionSelection(epsilon=share.epsilon, delta=budget.delta / len(categories))
        for _ in categories
    ]
    surely = [finder.law(keys_touched(probe)).certain for finder in finders]
    requests, threshold = _counted_cells(columns, probe, share, confidence)
    warn_of_large_cap(cap or budget)
    book = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    try:
        with open_engine(source, probe) as engine:
            vault = Vault(engine, probe, book, convert_unit=convert_unit)
            with vault.charge(
                budget,
                purpose=f"learn bounds or values of {', '.join((*columns, *categories))}",
                request=f"learn {probe.digest()} {budget.to_dict()}",
            ) as grant:
                measured = grant.tally(requests)
                named = [
                    grant.find_keys((name,), TRUE, finder)
                    for name, finder in zip(categories, finders, strict=True)
                ]
                grant.publish("bounds and values")
    finally:
        if book is not ledger:
            book.close()
    edges = [-(2.0**62), *cuts, 2.0**62]
    found: list[LearntBounds | LearntValues] = []
    for name, each in zip(columns, measured, strict=True):
        full = [place for place, count in enumerate(each.values.tolist()) if count >= threshold]
        first, last = (full[0], full[-1]) if full else (0, len(edges) - 2)
        found.append(
            LearntBounds(name, edges[first], edges[last + 1], bool(full), threshold, share)
        )
    for name, keys, finder, sure in zip(categories, named, finders, surely, strict=True):
        paid = Budget(epsilon=finder.epsilon, delta=finder.delta)
        found.append(LearntValues(name, tuple(text for (text,) in keys), sure, paid))
    return found


def _counted_cells(
    columns: Sequence[str], probe: Schema, share: Budget, confidence: float
) -> tuple[list[TallyRequest], int]:
    """The cells of each column to be counted, and the noisy count from which on a cell surely holds rows."""
    requests, noise = [], []
    for name in columns:
        tally = Tally(Cells(name, 0))
        moved, size = tally.sensitivity(probe), tally.size(probe)
        mechanism = least_error_mechanism(moved, size, share=share, accounting=Accounting.BASIC)
        law = mechanism.law(moved, size=size)
        check_drawable(law, what=name)
        requests.append(TallyRequest(tally, mechanism))
        noise.append((law, size))
    return requests, simultaneous_bound(noise, confidence) + 1 if noise else 0


def _protected_by_its_cap(dataset: str, ledger: Ledger | Path | str | None) -> Protected | None:
    """Whom the dataset's cap protects; a ledger that is not there is not made for the question."""
    if isinstance(ledger, Ledger):
        return ledger.protects(dataset)
    if not is_begun(ledger):
        return None
    with Ledger.open(ledger) as book:
        return book.protects(dataset)


def _cuts() -> tuple[float, ...]:
    """Powers of two on both sides, and zero."""
    powers = [2.0**power for power in range(SMALLEST_POWER, LARGEST_POWER + 1)]
    return (*(-power for power in reversed(powers)), 0.0, *powers)
