"""The table of release algorithms: which ones serve a query class, the preferred one first.

Adding an algorithm is a file and a line here; the contract tests go through the table.
"""

from __future__ import annotations

from discreet.errors import BadInput, did_you_mean
from discreet.families.halfspaces.release.cells import HalfspaceCells
from discreet.families.halfspaces.release.choice import BestHalfspaces
from discreet.families.halfspaces.release.tree import HalfspaceTree
from discreet.families.numbers.release.means import MeanOfAllRows, MeanOfValues
from discreet.families.numbers.release.sums import ClampedSums
from discreet.families.predicates.release.mwem import MwemPredicates
from discreet.families.predicates.release.strategy import BestPredicates, IndependentPredicates
from discreet.families.ranges.release.adaptive import AdaptiveTree
from discreet.families.ranges.release.choice import BestTree
from discreet.families.ranges.release.strategy import RangeStrategy
from discreet.families.ranges.release.tree import FullTree
from discreet.families.ranges.release.two_stage import TwoStageTree
from discreet.families.shared.release.protocol import Algorithm, ClassError, Prepared
from discreet.families.tables.release.adaptive import AdaptiveMarginals, EvenAdaptiveMarginals
from discreet.families.tables.release.automatic import AutomaticMarginals, EvenAutomaticMarginals
from discreet.families.tables.release.direct import DirectMarginals
from discreet.families.tables.release.fourier import FourierMarginals
from discreet.families.tables.release.parities_splits import SplitParities
from discreet.families.tables.release.residual import EvenResidualMarginals, ResidualMarginals
from discreet.queries.classes import QueryClass
from discreet.reference.contingency.all_cells import AllCells
from discreet.reference.halfspaces.net_release import HalfspaceNet
from discreet.reference.intervals.search import NoisySearch
from discreet.schema import Schema

ALGORITHMS: dict[str, tuple[Algorithm, ...]] = {
    "marginals": (
        AutomaticMarginals(),
        EvenAutomaticMarginals(),
        DirectMarginals(),
        AllCells(),
        ResidualMarginals(),
        EvenResidualMarginals(),
        AdaptiveMarginals(),
        EvenAdaptiveMarginals(),
        FourierMarginals(),
    ),
    "parities": (FourierMarginals(), SplitParities()),
    "means": (MeanOfAllRows(), MeanOfValues()),
    "sums": (ClampedSums(),),
    "intervals": (
        BestTree(),
        AdaptiveTree(),
        FullTree(),
        RangeStrategy(),
        TwoStageTree(),
        NoisySearch(),
    ),
    "rectangles": (BestTree(), AdaptiveTree(), FullTree(), TwoStageTree(), NoisySearch()),
    "unions": (
        BestTree(),
        AdaptiveTree(),
        FullTree(),
        RangeStrategy(),
        TwoStageTree(),
        NoisySearch(),
    ),
    "halfspaces": (
        BestHalfspaces(),
        HalfspaceTree(),
        HalfspaceCells(),
        HalfspaceNet(),
    ),
    "predicates": (BestPredicates(), IndependentPredicates(), MwemPredicates()),
}

CHOOSERS = (AutomaticMarginals, BestTree, BestHalfspaces, BestPredicates)
"""Those that choose among the other algorithms of their class."""
UNTOUCHED = "Nothing was read or charged."


def algorithm_for(
    query_class: QueryClass, schema: Schema, *, named: str | None = None
) -> Algorithm:
    """The first algorithm of the table that serves the class, or the one named, if it does."""
    options = ALGORITHMS.get(query_class.name, ())
    if not options:
        raise BadInput(
            f"No algorithm releases {query_class.text}; there are some for "
            f"{', '.join(sorted(ALGORITHMS))}. Nothing was read or charged."
        )
    if named is not None:
        chosen = [each for each in options if each.name == named]
        if not chosen:
            names = [each.name for each in options]
            raise BadInput(
                f"{query_class.text} has no algorithm {named!r}.{did_you_mean(named, names)} Choose among "
                f"{', '.join(names)}. Nothing was read or charged."
            )
        options = tuple(chosen)
    refusals: list[str] = []
    for each in options:
        refusal = each.refusal(query_class, schema)
        if refusal is None:
            return each
        refusals.append(refusal)
    # An algorithm that chooses among the others knows why none of them serves.
    reason = refusals[0] if isinstance(options[0], CHOOSERS) else refusals[-1]
    refusal = reason.removesuffix(UNTOUCHED).strip()
    raise BadInput(f"{query_class.text}: {refusal} {UNTOUCHED}")


__all__ = ["ALGORITHMS", "Algorithm", "ClassError", "Prepared", "algorithm_for"]
