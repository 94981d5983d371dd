"""Planted bugs about columns that are declared to be functions of others."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TESTS = "tests/schema/test_derived.py"
REFUSED = f"{TESTS}::test_what_is_no_function_of_cells_is_refused_in_a_sentence"

DERIVED = (
    Mutant(
        name="synthetic-rows-keep-what-was-drawn-of-a-derived-column",
        trap=42,
        file="src/discreet/questions/derived.py",
        old="        columns[each.column] = np.where(cells == ANY, open_cells.astype(np.int64), cells)\n",
        new="        columns[each.column] = np.where(cells <= len(cells), open_cells.astype(np.int64), cells)\n",
        tests=(f"{TESTS}::test_no_synthetic_row_breaks_a_declaration",),
    ),
    Mutant(
        name="an-expression-that-changes-inside-a-cell-is-a-derived-column",
        trap=42,
        file="src/discreet/questions/derived.py",
        old="    return first if first == last else None\n",
        new="    return first if first is not None else last\n",
        tests=(REFUSED,),
    ),
    Mutant(
        name="a-derived-value-beyond-the-range-is-clamped-into-it",
        trap=42,
        file="src/discreet/questions/derived.py",
        old="        if not least <= value <= most:\n",
        new="        if not least <= most:\n",
        tests=(REFUSED,),
    ),
    Mutant(
        name="cells-that-a-derived-column-allows-are-taken-to-be-empty",
        trap=42,
        file="src/discreet/questions/cells/impossible.py",
        old="            differs = differs.T\n",
        new="            differs = differs.copy()\n",
        tests=(f"{TESTS}::test_every_other_combination_is_an_empty_cell",),
    ),
)
