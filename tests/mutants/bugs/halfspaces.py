"""Bugs in what halfspaces and predicates measure, and in the intervals that they promise."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

STRATEGY = "src/discreet/queries/strategy.py"
PREDICATES = "tests/halfspaces/test_predicates.py"
ANSWERS = "tests/halfspaces/test_halfspace_answers.py"

HALFSPACES: tuple[Mutant, ...] = (
    Mutant(
        name="a strategy's sensitivity forgets the row that has no cell",
        trap=1,
        file=STRATEGY,
        old="np.concatenate([array, np.zeros((len(array), 1), dtype=np.int64)], axis=1).T",
        new="array.T",
        tests=(
            f"{PREDICATES}::test_the_sensitivity_of_a_strategy_is_the_furthest_any_neighbour_moves_it",
        ),
    ),
    Mutant(
        name="many halfspaces are charged as one",
        trap=2,
        file=STRATEGY,
        old="return Sensitivity(l1=many * rows, l2_squared=many * rows * rows)",
        new="return Sensitivity(l1=rows, l2_squared=rows * rows)",
        tests=(
            "tests/halfspaces/test_net.py::test_a_net_of_halfspaces_is_charged_for_every_count",
        ),
    ),
    Mutant(
        name="blocks under change-one are charged as if a row were added",
        trap=1,
        file="src/discreet/queries/grid_counts.py",
        old="return sensitivity_of_disjoint_counts(schema.adjacency, schema.unit)",
        new="return sensitivity_of_disjoint_counts(type(schema.adjacency).ADD_REMOVE, schema.unit)",
        tests=(f"{ANSWERS}::test_blocks_move_as_far_as_their_sensitivity_says",),
    ),
    Mutant(
        name="the literal net runs where the number of rows is a secret",
        trap=20,
        file="src/discreet/releases/halfspaces_net.py",
        old="if not rows_are_public(schema):",
        new="if False:",
        tests=(
            "tests/halfspaces/test_net.py::test_the_net_is_refused_where_the_number_of_rows_is_a_secret",
        ),
    ),
)
