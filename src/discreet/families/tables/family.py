"""The family of contingency tables: marginals, conjunctions, histograms, parities."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from discreet.families.tables.queries.cell_count import CellCount
from discreet.families.tables.queries.complete_tables import CompleteTable
from discreet.families.tables.queries.marginals import Marginals, parse_marginals, parse_tables
from discreet.families.tables.queries.parities import Parity, parse_parities, parse_split_parities
from discreet.families.tables.queries.residuals import BinnedTable, ModelDistance, Residual
from discreet.queries.class_arguments import one_column, plain_names
from discreet.queries.registry import ClassReader, Family
from discreet.questions.spelling import conditions, quoted
from discreet.schema import Schema

_RELEASE = "discreet.families.tables.release"
_ANSWER = "discreet.families.tables.answer"
_TABLES = ClassReader(parse_marginals, parse_tables)


def _examples(schema: Schema) -> Iterator[str]:
    names = [quoted(name) for name in schema.names]
    pairs = list(combinations(names, 2))
    yield from (f"marginals({degree})" for degree in (0, 1, 2))
    yield from (f"marginals({name})" for name in names)
    yield from (f"marginals({one}, {two})" for one, two in pairs)
    yield from (f"marginals({one}; {two} * 3)" for one, two in pairs)
    if len(names) > 2:  # pairs of unequal weight, between which a release may choose
        yield f"marginals({names[0]}, {names[1]}; {names[0]}, {names[2]} * 3)"
    yield from (f"parities({degree})" for degree in (1, 2))
    splits = [quoted(each[0]) for each in conditions(schema)]
    yield from (f"parities(2; {one}, {two})" for one, two in combinations(splits, 2))


FAMILY = Family(
    name="tables",
    readers={
        "marginals": _TABLES,
        "conjunctions": _TABLES,  # a conjunction of k values is a cell of a table of k columns
        "parities": ClassReader(
            parse_parities,
            lambda groups: parse_split_parities([plain_names(group) for group in groups]),
        ),
        "histogram": ClassReader(
            one_column("histogram", lambda column: Marginals(columns=[column]))
        ),
    },
    queries=(Residual, BinnedTable, ModelDistance, Parity, CellCount, CompleteTable),
    algorithms={
        "marginals": (
            f"{_RELEASE}.automatic:AutomaticMarginals",
            f"{_RELEASE}.automatic:AutomaticMarginals(even)",
            f"{_RELEASE}.direct:DirectMarginals",
            f"{_RELEASE}.residual:ResidualMarginals",
            f"{_RELEASE}.residual:ResidualMarginals(even)",
            f"{_RELEASE}.adaptive:AdaptiveMarginals",
            f"{_RELEASE}.adaptive:AdaptiveMarginals(even)",
            f"{_RELEASE}.fourier:FourierMarginals",
        ),
        "parities": (
            f"{_RELEASE}.fourier:FourierMarginals",
            f"{_RELEASE}.parities_splits:SplitParities",
        ),
    },
    sources={
        "marginals": f"{_ANSWER}.evidence:marginals_of",
        "residuals": f"{_ANSWER}.evidence:residuals_of",
        "model": f"{_ANSWER}.evidence:model_of",
        "split-parities": f"{_ANSWER}.evidence:splits_of",
    },
    measured={
        "marginal": f"{_ANSWER}.evidence:table_of",
        "complete-table": f"{_ANSWER}.evidence:complete_table_of",
        "cell-count": f"{_ANSWER}.evidence:count_of",
        **dict.fromkeys(("residual", "binned-table", "parity"), f"{_ANSWER}.evidence:residual_of"),
    },
    pooled=(f"{_ANSWER}.table_source:TableSource",),
    additive=(f"{_ANSWER}.additive:AdditiveSource",),
    drawn=(f"{_ANSWER}.models.drawn_rows:rows_of_tables",),
    usefulness={
        "marginals": f"{_ANSWER}.usefulness:marginals_bound",
        "parities": f"{_ANSWER}.usefulness:parities_bound",
    },
    agreed=(f"{_RELEASE}.side_by_side:agreeing_tables",),
    moved=dict.fromkeys(("marginals", "parities"), f"{_RELEASE}.side_by_side:moved_tables"),
    foreseen={"marginals": f"{_RELEASE}.whole_answers:is_quick"},
    remarks={"marginals": "discreet.families.tables.queries.remarks:remarks"},
    fitted=frozenset({"model"}),
    counts=frozenset({"marginals"}),
    examples=_examples,
)
