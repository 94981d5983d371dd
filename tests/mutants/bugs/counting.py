"""Bugs in how an engine counts, where it does so by itself instead of by a query."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TREES = (
    "tests/engines/test_counting.py::"
    "test_every_level_of_every_tree_is_counted_as_the_reference_counts_it"
)
DESCENT = (
    "tests/engines/test_counting.py::"
    "test_a_deep_tree_is_counted_from_one_scan_and_from_another_where_it_turns_back"
)
MARGINALS = (
    "tests/engines/test_counting.py::test_many_marginals_are_counted_as_the_reference_counts_them"
)

COUNTING = (
    Mutant(
        name="a-tree-is-counted-over-the-unbounded-table",
        trap=3,
        file="src/discreet/engines/duckdb/rows.py",
        old='        if self._kept_once or self.layers.unit_type(column) != "BIGINT":\n',
        new='        if self.layers.unit_type(column) != "BIGINT":\n',
        tests=(TREES,),
    ),
    Mutant(
        name="units-beyond-the-range-wrap-into-cells",
        trap=4,
        file="src/discreet/engines/unit_lines.py",
        old="            units = np.clip(units, self.low, self.high)\n",
        new="            units = np.clip(units, None, self.high)\n",
        tests=(TREES,),
    ),
    Mutant(
        name="the-number-of-a-joint-cell-wraps",
        trap=9,
        file="src/discreet/engines/passes.py",
        old="grouping.cells <= np.iinfo(one).max",
        new="max(grouping.slots) <= np.iinfo(one).max",
        tests=(MARGINALS,),
    ),
    Mutant(
        name="rows-that-were-let-go-are-not-read-again",
        trap=27,
        file="src/discreet/engines/held_keys.py",
        old="        if not self._counted.holds(depth, wanted):\n",
        new="        if depth <= self._counted.start:\n",
        tests=(DESCENT,),
    ),
    Mutant(
        name="a-node-counts-rows-of-the-first-node-too",
        trap=27,
        file="src/discreet/engines/held_keys.py",
        old="np.flatnonzero(inside[: len(keys)])",
        new="np.arange(len(keys))",
        tests=(DESCENT,),
    ),
    Mutant(
        name="rows-that-were-let-go-stay-in-their-piece",
        trap=27,
        file="src/discreet/engines/held_keys.py",
        old="                self._filled[number] = kept\n",
        new="",
        tests=(DESCENT,),
    ),
)
