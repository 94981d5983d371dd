"""The ways in which an engine may count are many; what it counts is one.

Inputs are drawn from fixed seeds and every comparison is of exact integers: no test fails by chance.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines import Engine, held_keys
from discreet.engines.duckdb import dialect as duckdb_dialect
from discreet.engines.duckdb import engine as duckdb_engine
from discreet.engines.duckdb import session as duckdb_session
from discreet.engines.duckdb.session import Session
from discreet.engines.held_keys import Interleaving
from discreet.errors import EngineFailed
from discreet.families.ranges.queries.ranges import range_tree
from discreet.privacy.adjacency import PrivacyUnit
from discreet.schema import (
    BooleanColumn,
    CategoryColumn,
    DateColumn,
    DatetimeColumn,
    IntegerColumn,
    NumberColumn,
    Schema,
)
from tests.engines.reference import OPENERS
from tests.harness.material.engine_rows import encoded_rows

LOWEST, HIGHEST = -(2**63), 2**63 - 1
START = datetime(2000, 1, 1)
COLUMNS = (
    IntegerColumn("id", LOWEST, HIGHEST, outside="other"),
    IntegerColumn("coarse", LOWEST, HIGHEST, width=1024),
    IntegerColumn("near", -5, 70_000, nulls="exclude"),
    DatetimeColumn("at", START, START + timedelta(days=9000), granularity="microsecond"),
    DateColumn("week", date(1, 1, 1), date(9990, 1, 1), granularity="week", outside="exclude"),
    DateColumn("month", date(1, 1, 1), date(9990, 1, 1), granularity="month"),
    NumberColumn("pay", 0.0, 8.0, bits=20, outside="exclude"),
    IntegerColumn("small", 0, 11),
    CategoryColumn("kind", ("a", "b", "c")),
    BooleanColumn("here"),
)
TREES = (
    ("id",),
    ("coarse",),
    ("at",),
    ("near",),
    ("week",),
    ("month",),
    ("small",),
    ("near", "pay"),
    ("pay", "small", "near"),
    ("at", "id"),
    ("id", "at", "coarse"),
)
ROWS = 120


def rows(seed: int) -> dict[str, list[Any]]:
    """Clumps, repeats, edges, nulls, and values beyond every range."""
    random = np.random.default_rng(seed)

    def some(values: list[Any], beyond: list[Any]) -> list[Any]:
        extra = [*beyond, *([None] * 3)]
        kept = values[: ROWS - len(extra)] + extra
        return [kept[n] for n in random.permutation(ROWS)]

    def clumpy(low: int, high: int) -> list[int]:
        centres = [int(random.integers(low, high, endpoint=True)) for _ in range(6)]
        drift = random.integers(-3, 4, ROWS)
        return [min(max(centres[n % 6] + int(drift[n]), low), high) for n in range(ROWS)]

    moments = [START + timedelta(microseconds=n) for n in clumpy(0, 9000 * 86_400_000_000 - 1)]
    far = [START - timedelta(days=1), START + timedelta(days=9001)]
    days = [date.fromordinal(n) for n in clumpy(1, date(9989, 12, 31).toordinal())]
    return {
        "person": [f"p{n}" for n in random.integers(0, 40, ROWS)],
        "id": some(clumpy(LOWEST, HIGHEST), [LOWEST, -1, 0, HIGHEST]),
        "coarse": some(
            clumpy(LOWEST, HIGHEST), [LOWEST, LOWEST + 1023, LOWEST + 1024, -1, HIGHEST]
        ),
        "near": some(clumpy(-5, 70_000), [-6, -5, 70_000, 70_001]),
        "at": some(moments, far),
        "week": some(days, [date(9995, 1, 1)]),
        "month": some(days, [date(9995, 1, 1)]),
        "pay": some(random.choice([0.0, 7.99, 8.0, 3.1, 3.2], ROWS).tolist(), [-1.0, 9.0]),
        "small": some(clumpy(0, 11), [-1, 12]),
        "kind": some(["abcx"[n % 4] for n in range(ROWS)], ["zz"]),
        "here": some([bool(n % 3) for n in range(ROWS)], []),
    }


def schema(unit: PrivacyUnit | None = None) -> Schema:
    return Schema(dataset="ways", columns=COLUMNS, unit=unit or PrivacyUnit())


def opened(how: str, data: dict[str, list[Any]], chosen: Schema, place: Path) -> Engine:
    return OPENERS[how](data, chosen, place)


def asked(
    names: tuple[str, ...], shifts: tuple[int, ...], data: Any, declared: Schema
) -> np.ndarray:
    """Nodes with rows, empty ones beside them, one that no code reaches, in no order, some twice."""
    random = np.random.default_rng(3)
    columns = [declared.column(name) for name in names]
    found = []
    for values in zip(*(data[name] for name in names), strict=True):
        codes = [column.code_of(value) for column, value in zip(columns, values, strict=True)]
        if all(
            code is not None and code < one.value_cells
            for code, one in zip(codes, columns, strict=True)
        ):
            found.append([int(code or 0) >> s for code, s in zip(codes, shifts, strict=True)])
    nodes = np.array([*found, [0] * len(names), [2**64 - 1] * len(names)], dtype=np.uint64)
    beside = nodes + random.integers(0, 2, nodes.shape, dtype=np.uint64)
    return random.permutation(np.concatenate([nodes, beside]))


WAYS: dict[str, tuple[Any, dict[str, object]]] = {
    "held": (held_keys, {}),
    "held, of few bits at a time": (held_keys, {"TOP_BITS": 7, "BLOCK_ROWS": 16, "PIECE_ROWS": 40}),
    "held, in memory that is mapped page by page": (held_keys, {"_MADV_POPULATE_WRITE": 1 << 20}),
    "held, without Arrow": (duckdb_session.Session, {"has_arrow": False}),
    "scanned": (duckdb_engine, {"MOST_HELD_BYTES": -1}),
}


@pytest.mark.parametrize("unit", [None, PrivacyUnit("person", 2)], ids=["rows", "people"])
@pytest.mark.parametrize("way", WAYS)
def test_every_level_of_every_tree_is_counted_as_the_reference_counts_it(
    way: str, unit: PrivacyUnit | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, changed = WAYS[way]
    for name, value in changed.items():
        monkeypatch.setattr(module, name, value)
    declared, data = schema(unit), rows(seed=1)
    reference = opened("reference", data, declared, tmp_path)
    with opened("duckdb-parquet", data, declared, tmp_path) as engine:
        for names in TREES if way == "held" else TREES[::3]:
            tree = range_tree(names, declared)
            for level in range(len(tree.depths)):
                shifts = tree.shifts(level)
                nodes = asked(names, shifts, data, declared)
                np.testing.assert_array_equal(
                    engine.node_counts(names, shifts, nodes),
                    reference.node_counts(names, shifts, nodes),
                    err_msg=f"{names} {shifts}",
                )


def test_levels_that_halve_in_any_other_order_are_counted_too(tmp_path: Path) -> None:
    declared, data = schema(), rows(seed=2)
    names = ("near", "pay")
    reference = opened("reference", data, declared, tmp_path)
    with opened("duckdb-parquet", data, declared, tmp_path) as engine:
        for shifts in [(0, 20), (17, 0), (0, 3), (64, 0), (3, 64), (64, 64), (9, 11), (40, 19)]:
            nodes = asked(names, shifts, data, declared)
            np.testing.assert_array_equal(
                engine.node_counts(names, shifts, nodes),
                reference.node_counts(names, shifts, nodes),
                err_msg=str(shifts),
            )


@pytest.mark.parametrize("bits", [(3, 9, 1), (64, 64), (32, 32), (13, 30, 20, 40), (5, 0, 40)])
def test_a_key_holds_the_bits_of_its_codes_in_the_order_of_the_halvings(
    bits: tuple[int, ...],
) -> None:
    random = np.random.default_rng(4)
    declared = [IntegerColumn(f"c{n}", 0, (1 << min(many, 62)) - 1) for n, many in enumerate(bits)]
    interleaving = Interleaving.of(declared)
    kept = interleaving.kept_bits
    codes = [random.integers(0, 1 << many, 50, dtype=np.uint64) for many in kept]
    keys = interleaving.keys(codes, len(interleaving.order))
    for number in range(50):
        left = [
            [code[number] >> np.uint64(many - 1 - place) & np.uint64(1) for place in range(many)]
            for code, many in zip(codes, kept, strict=True)
        ]
        key = 0
        for axis in interleaving.order:
            key = 2 * key + int(left[axis].pop(0))
        assert int(keys[number]) == key


@pytest.mark.parametrize(
    "changed",
    [{"TOP_BITS": 6}, {"TOP_BITS": 20}],
    ids=["few bits at a time", "many at a time"],
)
def test_a_deep_tree_is_counted_from_one_scan_and_from_another_where_it_turns_back(
    changed: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Down the tree, from any nodes to some of those below; then to nodes whose rows were let go."""
    scans = []
    stream = Session.stream
    for name, value in changed.items():
        monkeypatch.setattr(held_keys, name, value)

    def noted(*given: Any) -> Any:
        scans.append(given[1])
        return stream(*given)

    monkeypatch.setattr(Session, "stream", noted)
    declared, data = schema(), rows(seed=5)
    random = np.random.default_rng(5)
    reference = opened("reference", data, declared, tmp_path)
    with opened("duckdb-parquet", data, declared, tmp_path) as engine:
        for names in (("id",), ("near", "pay"), ("at",)):
            tree = range_tree(names, declared)
            alive, asked_before = tree.root(), []
            scans.clear()
            for level in range(len(tree.depths)):
                if level:
                    alive = tree.children(alive, level - 1, declared)
                shifts = tree.shifts(level)
                asked_before.append((shifts, alive))
                counts = engine.node_counts(names, shifts, alive)
                np.testing.assert_array_equal(counts, reference.node_counts(names, shifts, alive))
                alive = alive[(counts > 0) & (random.random(len(alive)) < 0.95)]
            assert len(scans) == 1
            again = [(shifts, asked(names, shifts, data, declared)), *asked_before[::-2]]
            for shifts, nodes in again:
                np.testing.assert_array_equal(
                    engine.node_counts(names, shifts, nodes),
                    reference.node_counts(names, shifts, nodes),
                )
            assert 1 < len(scans) <= 1 + len(again)


def test_a_scan_that_breaks_off_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared, data = schema(), rows(seed=7)
    tree = range_tree(("id",), declared)
    nodes = tree.children(tree.root(), 0, declared)
    stream = Session.stream

    def broken(self: Session, query: str, take: Any) -> None:
        stream(self, query, take)
        raise EngineFailed("The disk is full.")

    with opened("duckdb-parquet", data, declared, tmp_path) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(Session, "stream", broken)
            with pytest.raises(EngineFailed):
                engine.node_counts(("id",), tree.shifts(1), nodes)
        np.testing.assert_array_equal(
            engine.node_counts(("id",), tree.shifts(1), nodes),
            opened("reference", data, declared, tmp_path).node_counts(
                ("id",), tree.shifts(1), nodes
            ),
        )


@pytest.mark.parametrize("unit", [None, PrivacyUnit("person", 2)], ids=["rows", "people"])
@pytest.mark.parametrize("has_arrow", [True, False], ids=["streamed", "without Arrow"])
def test_many_marginals_are_counted_as_the_reference_counts_them(
    has_arrow: bool,
    unit: PrivacyUnit | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Among them sets in several orders, sets alike, a pair of 2^17 cells, and rows that a column excludes."""
    columns = (
        *(column for column in COLUMNS if column.name in ("small", "kind", "here")),
        IntegerColumn("near", -5, 1000, nulls="exclude"),
        NumberColumn("pay", 0.0, 8.0, bits=7, outside="exclude", nulls="exclude"),
    )
    declared = Schema(dataset="ways", columns=columns, unit=unit or PrivacyUnit())
    data = rows(seed=6)
    sets = [
        *((name,) for name in declared.names),
        *permutations(declared.names, 2),
        *combinations(("small", "kind", "here", "pay"), 3),
        *([("here", "kind")] * 40),
    ]
    monkeypatch.setattr(duckdb_session, "STREAMED_ROWS", 7)
    monkeypatch.setattr(duckdb_session.Session, "has_arrow", has_arrow)
    wanted = opened("reference", data, declared, tmp_path).marginals(sets)
    with opened("duckdb-parquet", data, declared, tmp_path) as engine:
        for names, found, right in zip(sets, engine.marginals(sets), wanted, strict=True):
            np.testing.assert_array_equal(found, right, err_msg=str(names))
            assert found.dtype == np.int64
        few = sets[:25]
        for found, right in zip(engine.marginals(few), wanted, strict=False):
            np.testing.assert_array_equal(found, right)


def test_many_marginals_of_no_rows_are_zeros(tmp_path: Path) -> None:
    declared = Schema(
        dataset="ways", columns=(IntegerColumn("small", 0, 11), BooleanColumn("here"))
    )
    data = pa.table({"small": pa.array([], pa.int64()), "here": pa.array([], pa.bool_())})
    sets = [("small", "here"), ("here",)] * 20
    with OPENERS["duckdb-arrow"](data, declared, tmp_path) as engine:
        for names, counts in zip(sets, engine.marginals(sets), strict=True):
            assert counts.shape == declared.sizes(names)
            assert not counts.any()


@pytest.mark.parametrize("unit", [None, PrivacyUnit("person", 2)], ids=["rows", "people"])
@pytest.mark.parametrize("longest", [0, 1000], ids=["joined", "cast"])
def test_a_category_is_looked_up_alike_by_a_join_and_by_a_cast(
    longest: int, unit: PrivacyUnit | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts with quotes, blanks and case, numbers kept as numbers, values not declared, nulls."""
    monkeypatch.setattr(duckdb_dialect, "MOST_ENUMERATED", longest)
    columns = (
        CategoryColumn("text", ("it's", "It's", "", " ", "ä", 'a"b', "value", "place")),
        CategoryColumn("strict", ("b", "a"), other=False, nulls="exclude"),
        CategoryColumn("number", ("1", "2.5", "x")),
        IntegerColumn("small", 0, 3),
    )
    declared = Schema(dataset="ways", columns=columns, unit=unit or PrivacyUnit())
    data: dict[str, list[Any]] = {
        "person": [f"p{n % 9}" for n in range(60)],
        "text": ["it's", "It's", "", " ", "ä", 'a"b', "value", "place", "A", None] * 6,
        "strict": ["a", "b", "c", None, "B"] * 12,
        "number": [1.0, 2.5, 3.0, None, float("nan"), -1.0] * 10,
        "small": [0, 1, 2, 3, 4, None] * 10,
    }
    names = declared.names
    sets = [*((name,) for name in names), *combinations(names, 2), names]
    reference = opened("reference", data, declared, tmp_path)
    with opened("duckdb-parquet", data, declared, tmp_path) as engine:
        for found, right in zip(engine.marginals(sets), reference.marginals(sets), strict=True):
            np.testing.assert_array_equal(found, right)
        nodes = np.arange(9, dtype=np.uint64)[:, np.newaxis]
        for name in names:
            np.testing.assert_array_equal(
                engine.node_counts((name,), (0,), nodes),
                reference.node_counts((name,), (0,), nodes),
            )
        rows_found = np.concatenate([*encoded_rows(engine, names, 7)])
        rows_right = np.concatenate([*encoded_rows(reference, names, 7)])
        assert sorted(rows_found.tolist()) == sorted(rows_right.tolist())
