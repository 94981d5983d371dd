"""Bugs in how an engine counts, where it does so by itself instead of by a query."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TREES = (
    "tests/engines/test_counting.py::"
    "test_every_level_of_every_tree_is_counted_as_the_reference_counts_it"
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
        old="            np.clip(units, self.low, self.high, out=units)\n",
        new="            np.clip(units, None, self.high, out=units)\n",
        tests=(TREES,),
    ),
    Mutant(
        name="the-number-of-a-joint-cell-wraps",
        trap=9,
        file="src/discreet/engines/coded_marginals.py",
        old="grouping.cells <= np.iinfo(one).max",
        new="max(grouping.slots) <= np.iinfo(one).max",
        tests=(MARGINALS,),
    ),
    Mutant(
        name="a-row-is-counted-in-two-nodes-side-by-side",
        trap=27,
        file="src/discreet/engines/sorted_codes.py",
        old="        last = first + span\n",
        new="        last = first + span + np.uint64(1)\n",
        tests=(TREES,),
    ),
    Mutant(
        name="the-last-row-of-a-run-of-nodes-is-passed-over",
        trap=27,
        file="src/discreet/engines/sorted_codes.py",
        old="keys[low:high].searchsorted",
        new="keys[low : max(low, high - 1)].searchsorted",
        tests=(TREES,),
    ),
)
