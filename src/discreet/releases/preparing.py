"""From a budget and a workload to noise: everything that is decided before a row is read.

The same code serves the planner and the release, so what was planned is what is done.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.engines import column_names_and_types
from discreet.engines.opening import refuse_row_as_header
from discreet.errors import BadInput, LargeCap
from discreet.families.shared.release.protocol import USUAL_ROWS, Prepared, PreparedClass
from discreet.families.shared.release.splitting import shares
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.cost import Accounting, allowance
from discreet.privacy.guidance import cap_warning
from discreet.privacy.shares import accountings
from discreet.queries.classes import QueryClass, parse_class
from discreet.questions.derived import derived_columns
from discreet.releases.algorithms import algorithm_for
from discreet.schema import CsvOptions, Schema
from discreet.schema.drafting import draft

Workload = Sequence[QueryClass | str] | QueryClass | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """A release in all that public facts decide."""

    schema: Schema
    charge: Budget
    """The budget, without a delta that no mechanism uses."""
    accounting: Accounting
    parts: tuple[Prepared, ...]


def read_workload(workload: Workload, schema: Schema) -> tuple[QueryClass, ...]:
    """The classes of a workload, checked against the schema."""
    if isinstance(workload, str) or not isinstance(workload, Sequence):
        workload = [workload]
    classes = [parse_class(each) if isinstance(each, str) else each for each in workload]
    if not classes:
        raise BadInput(
            "The workload is empty. Say what the release is for, as in marginals(2) or means(age). "
            "Nothing was read or charged."
        )
    seen: set[str] = set()
    for each in classes:
        for needed in ("name", "text", "weight", "check"):
            if not hasattr(each, needed):
                raise BadInput(
                    f"A workload lists query classes such as Marginals(2), not {type(each).__name__}. "
                    "Nothing was read or charged."
                )
        if each.text in seen:
            raise BadInput(
                f"{each.text} is twice in the workload; give it a weight instead. "
                "Nothing was read or charged."
            )
        seen.add(each.text)
        each.check(schema)
    return tuple(classes)


def prepare(
    schema: Schema,
    *,
    budget: Budget,
    workload: Workload,
    algorithms: Mapping[str, str] | None = None,
    accounting: Accounting | None = None,
) -> Prospect:
    """Choose accounting, algorithms and noise, from public facts only.

    Where a delta allows both, the accounting is the one with the smaller error: the weighted
    geometric mean of the classes' expected errors, which no choice of units can sway. `accounting`
    asks for one of them by name.
    """
    if not isinstance(schema, Schema):
        raise BadInput(f"The schema must be a Schema, not {type(schema).__name__}.")
    if not isinstance(budget, Budget):
        raise BadInput(f"The budget must be a Budget, not {type(budget).__name__}.")
    derived_columns(schema)  # refuses an expression that is no function of cells
    classes = read_workload(workload, schema)
    named = {_class_text(text): name for text, name in (algorithms or {}).items()}
    strangers = set(named) - {each.text for each in classes}
    if strangers:
        raise BadInput(
            f"An algorithm is named for {min(strangers)}, which is not in the workload. "
            "Nothing was read or charged."
        )
    allowed = accountings(budget, notion=None if schema.cap is None else schema.cap.notion)
    if accounting is not None and accounting not in allowed:
        raise BadInput(f"A budget of {budget} cannot be counted by {accounting.value} accounting.")
    options = list(allowed) if accounting is None else [accounting]
    counted = [each for each in options if _serves(each, schema, classes, named)]
    prospects = [_under(each, schema, budget, classes, named) for each in counted or options]
    return min(prospects, key=_score)


def _serves(
    accounting: Accounting,
    schema: Schema,
    classes: tuple[QueryClass, ...],
    named: Mapping[str, str],
) -> bool:
    """Whether every algorithm has a cost in this accounting; one that says nothing has one in all of them."""
    chosen = (algorithm_for(each, schema, named=named.get(each.text)) for each in classes)
    return all(accounting in getattr(each, "accountings", Accounting) for each in chosen)


def _class_text(text: str) -> str:
    """As the class itself writes it, however it was spaced; what is no class stays as it is."""
    try:
        return parse_class(text).text
    except BadInput:
        return text


def _under(
    accounting: Accounting,
    schema: Schema,
    budget: Budget,
    classes: tuple[QueryClass, ...],
    named: Mapping[str, str],
) -> Prospect:
    allowed = allowance(budget, accounting)
    if budget.notion is not Notion.EPSILON:
        budget = allowed  # a delta beside a rho would buy nothing
    parts = tuple(
        algorithm_for(each, schema, named=named.get(each.text)).prepare(
            each, schema, share=share, accounting=accounting
        )
        for each, share in zip(
            classes, shares(allowed, [each.weight for each in classes]), strict=True
        )
    )
    instead = _counted_alike(parts, named)
    if instead:
        return _under(accounting, schema, budget, classes, {**named, **instead})
    uses_delta = any(cost.delta for part in parts for cost in part.costs())
    if accounting is Accounting.BASIC and budget.delta and not uses_delta:
        # Laplace noise won everywhere: a delta that buys nothing is not charged.
        return _under(accounting, schema, Budget(epsilon=budget.epsilon), classes, named)
    return Prospect(schema=schema, charge=budget, accounting=accounting, parts=parts)


def _counted_alike(parts: Sequence[Prepared], named: Mapping[str, str]) -> dict[str, str]:
    """Other algorithms for some classes, so that no column's rows without a cell are counted in two ways: such tables do not agree."""
    instead: dict[str, str] = {}
    own = [each for each in parts if isinstance(each, PreparedClass)]
    for part in own:
        for other in own:
            both = part.apart & other.spread
            if both and part.query_class.text in named:
                raise BadInput(
                    f"{part.query_class.text} by {part.algorithm} counts rows without a cell of column {min(both)!r} apart, and "
                    f"{other.query_class.text} by {other.algorithm} counts them evenly in all of its cells. Name another "
                    "algorithm for one of them. Nothing was read or charged."
                )
            if both:
                instead[part.query_class.text] = part.alternative
    return instead


def _score(prospect: Prospect) -> float:
    rows = prospect.schema.people or USUAL_ROWS
    total = 0.0
    for part in prospect.parts:
        total += float(part.query_class.weight) * math.log(max(part.comparable(rows), 1e-300))
    return round(total, 9)  # of equally good ones the first, whatever the last digits say


def purpose(prospect: Prospect) -> str:
    """The purpose that the ledger records with the charge."""
    listed = ", ".join(part.query_class.text for part in prospect.parts)
    return f"release: {listed}" if len(listed) <= 400 else f"release: {listed[:400]}..."


def warn_of_large_cap(cap: Budget | None) -> None:
    """Warn whoever called the public function that calls this; None, where no cap is set here, is silent."""
    said = None if cap is None else cap_warning(cap)
    if said is not None:
        warnings.warn(said, LargeCap, stacklevel=4)


def draft_schema(
    source: object, csv: CsvOptions | None = None, *, says_header: bool = False
) -> str:
    """TOML with each column's name and kind, and blanks for a person to fill in.

    `csv` says how a CSV file is written; the draft says so too. `says_header`: a person says that the first
    line holds names, so a number in it does not make it a row.
    """
    described = column_names_and_types(source, CsvOptions() if csv is None and says_header else csv)
    names = [name for name, _ in described]
    if csv is not None and csv.names is None and not says_header:
        refuse_row_as_header(names)
    return draft(names, dict(described), csv)
