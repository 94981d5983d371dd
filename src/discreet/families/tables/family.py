"""The family of contingency tables: marginals, conjunctions, histograms, parities."""

from __future__ import annotations

from discreet.families.tables.queries.marginals import Marginals, parse_marginals, parse_tables
from discreet.families.tables.queries.parities import Parity, parse_parities, parse_split_parities
from discreet.families.tables.queries.residuals import ModelDistance, Residual
from discreet.queries.class_arguments import one_column, plain_names
from discreet.queries.registry import ClassReader, Family

_RELEASE = "discreet.families.tables.release"
_TABLES = ClassReader(parse_marginals, parse_tables)

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
    queries=(Residual, ModelDistance, Parity),
    algorithms={
        "marginals": (
            f"{_RELEASE}.automatic:AutomaticMarginals",
            f"{_RELEASE}.automatic:EvenAutomaticMarginals",
            f"{_RELEASE}.direct:DirectMarginals",
            f"{_RELEASE}.residual:ResidualMarginals",
            f"{_RELEASE}.residual:EvenResidualMarginals",
            f"{_RELEASE}.adaptive:AdaptiveMarginals",
            f"{_RELEASE}.adaptive:EvenAdaptiveMarginals",
            f"{_RELEASE}.fourier:FourierMarginals",
        ),
        "parities": (
            f"{_RELEASE}.fourier:FourierMarginals",
            f"{_RELEASE}.parities_splits:SplitParities",
        ),
    },
)
