"""Ways that were made shorter give what the long ways give."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Schema
from discreet.families.tables.estimate import settling
from discreet.families.tables.estimate.mixture import (
    Blocks,
    Mixture,
    PairsApart,
    PairsAtOnce,
    Target,
    bin_matrix,
)
from discreet.families.tables.estimate.residuals import Piece, centred
from discreet.families.tables.queries.residuals import binned
from discreet.releases.preparing import prepare

SIZES = ([2, 3, 4, 300, 5], [2, 2], [7, 1, 9, 40, 3, 3, 3], [300, 300])


@pytest.mark.parametrize("sizes", SIZES)
def test_pairs_counted_several_at_once_are_those_counted_one_by_one(sizes):
    draw = np.random.default_rng()
    edges = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.stack([draw.integers(0, size, 500) for size in sizes], axis=1)
    missing = np.zeros((edges[-1],) * 2, dtype=np.float32)
    settling._take_off(missing, rows, edges)
    there = np.zeros((500, edges[-1]))
    for column, start in enumerate(edges[:-1]):
        there[np.arange(500), start + rows[:, column]] = 1
    assert np.array_equal(missing, -(there.T @ there))


@pytest.mark.parametrize("listed", [0, 10**9])
@pytest.mark.parametrize("sizes", SIZES)
def test_moved_rows_change_the_cells_that_they_leave_and_reach(sizes, listed, monkeypatch):
    """By a list of all cells, and by sorting those that are met."""
    monkeypatch.setattr(settling, "LISTED", listed)
    draw = np.random.default_rng()
    edges = np.concatenate([[0], np.cumsum(sizes)])
    places = np.stack([draw.integers(0, size, 200) for size in sizes], axis=1) + edges[:-1]
    width = int(edges[-1])
    for column in range(len(sizes)):
        own = slice(int(edges[column]), int(edges[column + 1]))
        there = draw.integers(own.start, own.stop, 200)
        others = np.delete(places, column, axis=1)
        cells, steps = settling._moves(others, places[:, column], there, own, width)
        change = np.zeros((width, width))
        for now, row in ((places[:, column], 1), (there, -1)):
            for met in (*others.T, now):
                np.add.at(change, (now, met), row)
        assert len(np.unique(cells)) == len(cells)
        found = np.zeros(width * width)
        found[cells] = steps
        assert np.array_equal(found, change.ravel())


def test_pairs_compared_at_once_pull_as_those_compared_one_by_one():
    """Two targets of one pair, one of another, one of a single column; and pairs that are counted in bins."""
    draw = np.random.default_rng()
    model = Mixture.independent([draw.dirichlet(np.ones(size)) for size in (3, 4, 5)], draw)

    def target(columns, shape, std, bins=(None, None)):
        table = centred(draw.normal(size=shape)).astype(np.float32)
        return Target(columns, bins[: len(columns)], table, std)

    halves, thirds = bin_matrix((0, 0, 1, 1)), bin_matrix((0, 1, 1, 2, 0))
    pairs = [
        target((0, 1), (3, 4), 0.1),
        target((0, 1), (3, 4), 0.3),
        target((1, 2), (4, 5), 0.2),
        target((1, 2), (2, 5), 0.2, (halves, None)),
        target((1, 2), (2, 3), 0.1, (halves, thirds)),
        target((0, 2), (3, 3), 0.4, (None, thirds)),
    ]
    alone = [target((2,), 5, 0.2), target((2,), 3, 0.3, (thirds,))]
    long_way, total, loss = pulled_one_by_one(model, [*pairs, *alone])
    together = model._compared([*pairs, *alone])
    kinds = [PairsAtOnce] * 3  # cells; up to 4 bins; up to 8 bins or cells
    assert [type(each) for each in together] == kinds
    apart = PairsApart.of(pairs, Blocks.of(pairs, model), len(model.theta))
    for compared in (together, [apart]):
        assert model._gradient(alone, compared, total) == pytest.approx(loss, rel=1e-4)
        assert np.allclose(total, long_way, rtol=1e-3, atol=1e-3 * np.abs(long_way).max())


def pulled_one_by_one(model, targets):
    """What the errors of all targets pull each component's shares by, room for that, and the squared errors."""
    theta = model.theta.astype(np.float64)
    pulled, loss = np.zeros_like(theta), 0.0
    for each in targets:
        places = [model.cells_of(column) for column in each.columns]
        bins = [
            np.eye(place.stop - place.start) if matrix is None else matrix.astype(np.float64)
            for place, matrix in zip(places, each.bins, strict=True)
        ]
        own = [theta[:, place] @ matrix.T for place, matrix in zip(places, bins, strict=True)]
        table = own[0].mean(axis=0) if len(own) == 1 else own[0].T @ own[1] / len(theta)
        missing = centred(table) - each.table
        loss += float((missing**2).sum()) / each.std**2
        pull = missing / each.std**2
        if len(own) == 1:
            pulled[:, places[0]] += pull @ bins[0]
            continue
        pulled[:, places[0]] += own[1] @ pull.T @ bins[0]
        pulled[:, places[1]] += own[0] @ pull @ bins[1]
    return pulled, np.empty_like(model.theta), loss


@pytest.mark.parametrize("bins", [(0, 0, 1, 1, 2), (2, 0, 1, 0, 2), (0, 0, 0, 0, 0)])
def test_cells_add_up_to_bins_in_any_order(bins):
    table = np.random.default_rng().integers(0, 2**40, (3, 5, 2))
    found = binned(table, bins, 1)
    for place in range(max(bins) + 1):
        inside = [cell for cell, each in enumerate(bins) if each == place]
        assert np.array_equal(found[:, place], table[:, inside].sum(axis=1))


def test_a_plan_asks_for_the_noise_of_tables_and_for_no_table(monkeypatch):
    """Tables of millions of zeros were put together dozens of times, before anything was measured."""
    text = "\n".join(
        f'[columns.{name}]\nkind = "integer"\nrange = [0, 99]' for name in ("a", "b", "c")
    )
    schema = Schema.loads(f'dataset = "t"\npeople = 1000\n{text}\n')

    def never(piece: object) -> None:
        raise AssertionError("a plan put a table together")

    monkeypatch.setattr(Piece, "table", property(never))
    budget = Budget(epsilon=1, delta=Fraction(1, 10**9))
    for algorithm in ("automatic", "residuals", "adaptive"):
        prospect = prepare(
            schema, budget=budget, workload=["marginals(2)"], algorithms={"marginals(2)": algorithm}
        )
        assert prospect.parts[0].error(rows=1000, confidence=0.9).expected > 0


@pytest.mark.parametrize("sizes", [(1, 3), (1, 1, 2), (3, 1, 5000, 1, 2)])
def test_counts_of_pairs_are_taken_off_where_a_column_has_a_single_cell(
    sizes: tuple[int, ...],
) -> None:
    """Where it was the first one, rows of such a release could not be drawn."""
    drawn = np.stack([np.arange(40) * 7 % size for size in sizes], axis=1)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    missing = np.zeros((int(edges[-1]),) * 2, dtype=np.float32)
    settling._take_off(missing, drawn, edges)
    one_hot = np.zeros((len(drawn), int(edges[-1])), dtype=np.float32)
    one_hot[np.arange(len(drawn))[:, None], drawn + edges[:-1]] = 1
    assert np.array_equal(-missing, one_hot.T @ one_hot)
