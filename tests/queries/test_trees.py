"""Nodes of trees: exactly those that hold a cell of the domain, and never more than are allowed."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.baselines.histogram_engine import histogram_schema
from discreet.errors import BadInput
from discreet.queries.tree import Tree, bits_of


@given(sizes=st.lists(st.integers(1, 40), min_size=1, max_size=3), data=st.data())
def test_children_are_the_nodes_below_that_hold_a_cell(sizes, data):
    schema = histogram_schema(sizes)
    names = tuple(f"x{axis}" for axis in range(len(sizes)))
    last = tuple(bits_of(size) for size in sizes)
    depths = [(0,) * len(sizes)]
    while depths[-1] != last:
        step = [data.draw(st.integers(0, b - a)) for a, b in zip(depths[-1], last, strict=True)]
        if any(step):
            depths.append(tuple(a + s for a, s in zip(depths[-1], step, strict=True)))
    tree, alive = Tree(names, tuple(depths)), np.zeros((1, len(sizes)), dtype=np.uint64)
    cells = np.array(list(product(*map(range, sizes))), dtype=np.uint64)
    for level in range(len(depths) - 1):
        here, below = (np.array(tree.shifts(each), dtype=np.uint64) for each in (level, level + 1))
        inside = (cells[:, np.newaxis] >> here == alive).all(axis=2).any(axis=1)
        expected = {tuple(node) for node in (cells[inside] >> below).tolist()}
        found = tree.children(alive, level, schema)
        assert len(found) == len(expected) and set(map(tuple, found.tolist())) == expected
        assert len(tree.children(alive, level, schema, most=len(found))) == len(found)
        with pytest.raises(BadInput, match="more than"):
            tree.children(alive, level, schema, most=len(found) - 1)
        kept = data.draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found)))
        alive = found[np.array(kept, dtype=bool)]


@pytest.mark.parametrize("bits", [27, 40, 63])
def test_nodes_beyond_the_last_cell_take_no_memory(bits):
    """The second half of a domain of one cell more than a power of two has a single cell."""
    schema = histogram_schema([(1 << (bits - 1)) + 1])
    tree = Tree(("x0",), ((0,), (1,), (bits,)))
    half = np.ones((1, 1), dtype=np.uint64)
    tracemalloc.start()
    try:
        assert tree.children(half, 1, schema).tolist() == [[1 << (bits - 1)]]
        with pytest.raises(BadInput, match="more than"):
            tree.children(np.zeros((1, 1), dtype=np.uint64), 1, schema, most=1000)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
