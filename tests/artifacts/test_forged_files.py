"""Files that were changed after they were signed, or that hold what no release holds."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.answering import new_signing_key, sign_release, verify_costs
from discreet.artifacts.files import read_members, read_release, write_members, write_release
from discreet.errors import BadInput, BadRelease
from discreet.families.shared.queries.matrices import column_moves
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.queries.classes import parse_class
from discreet.queries.measurable import ClampedSum
from discreet.releases import release_to_file
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.artifacts.test_second_opinion import second
from tests.releases_by_hand import people, release_of_tables

SHAPES = [(0, 10**30), (0, 2**62), (2**62, 0, 2**62), (0,) * 70, (True,)]
"""Shapes that no array can have, although their product is 0 or 1."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_release(release_of_tables(people(), [("age",), ("sex",)], []), tmp_path / "a.release")
    return tmp_path / "a.release"


def test_a_signature_covers_every_array(path: Path) -> None:
    private, public = new_signing_key()
    sign_release(path, private)
    assert verify_costs(path, public_key=public).signed_by == public
    members = read_members(path)
    for name in [name for name in members if name.startswith("arrays/")]:
        changed = bytearray(members[name])
        changed[-8] ^= 1
        write_members({**members, name: bytes(changed)}, path)
        with pytest.raises(BadRelease, match="signature"):
            verify_costs(path)


@pytest.mark.parametrize(
    "name", ["x/arrays/0.npy", "arrays/0.npy.exe", "../manifest.json", "arrays/-1.npy"]
)
def test_a_member_whose_name_holds_a_good_one_is_refused(path: Path, name: str) -> None:
    members = read_members(path)
    write_members({**members, name: members["arrays/0.npy"]}, path)
    with pytest.raises(BadRelease, match="no release has"):
        read_release(path)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_array_of_an_impossible_shape_is_refused_in_a_sentence(
    path: Path, shape: tuple[int, ...]
) -> None:
    members, header = read_members(path), io.BytesIO()
    declared = {"descr": "|i1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, declared)
    one = b"x" if shape == (True,) else b""
    write_members({**members, "arrays/0.npy": header.getvalue() + one}, path)
    with pytest.raises(BadRelease, match="an array"):
        read_release(path)


@pytest.mark.parametrize("word", ["marginals", "parities"])
def test_a_class_of_more_tables_than_any_memory_holds_is_refused(path: Path, word: str) -> None:
    """In a file of a few kilobytes: the tables of 30 of 60 columns are 10^17."""
    members = read_members(path)
    manifest = json.loads(members["manifest.json"])
    columns = [f'[columns.c{n}]\nkind = "boolean"\nnulls = "exclude"' for n in range(60)]
    manifest["schema"] = "\n".join(['dataset = "people"', *columns])
    manifest["parts"][0]["class"] = f"{word}(30)"
    write_members({**members, "manifest.json": json.dumps(manifest).encode()}, path)
    with pytest.raises(BadRelease, match=r"more than 10\^12 tables; at most 100,000"):
        read_release(path)


def test_as_many_tables_are_refused_before_they_are_listed(path: Path) -> None:
    members = read_members(path)
    manifest = json.loads(members["manifest.json"])
    columns = [f'[columns.c{n}]\nkind = "boolean"\nnulls = "exclude"' for n in range(20)]
    manifest["schema"] = "\n".join(['dataset = "people"', *columns])
    for word in ("marginals", "parities"):
        manifest["parts"][0]["class"] = f"{word}(9)"
        write_members({**members, "manifest.json": json.dumps(manifest).encode()}, path)
        with pytest.raises(BadRelease, match="167,960 tables"):
            read_release(path)


def test_the_least_integer_in_a_strategy_does_not_pass_for_a_small_one(tmp_path: Path) -> None:
    """In 64 bits the absolute value of -2^63 is negative: a query that costs 2^63 times its budget would verify."""
    path = tmp_path / "a.release"
    release_to_file(
        pd.DataFrame({"age": [3, 17] * 9}),
        Schema.loads('dataset = "d"\n[columns.age]\nkind = "integer"\nrange = [0, 99]'),
        path,
        budget=Budget(epsilon=2),
        workload=["predicates(age > 3, age > 7, age < 12)"],
        ledger=tmp_path / "ledger.db",
    )
    assert verify(path).ok
    members = read_members(path)
    manifest = json.loads(members["manifest.json"])
    manifest["parts"][0]["measurements"][0]["query"]["matrix"][0][0] = -(2**63)
    # What an older version measured cannot be computed again.
    manifest["software"] = manifest["privacy"]["data"]["software"] = "discreet 0.1.0"
    write_members({**members, "manifest.json": json.dumps(manifest).encode()}, path)
    with pytest.raises(BadRelease, match="not too large"):
        assert not verify(path).ok
    for adjacency in Adjacency:
        with pytest.raises(BadInput, match="too large"):
            column_moves(np.array([[1, -(2**63)], [0, 1]]), adjacency)


def test_an_exponent_is_not_written_out(path: Path) -> None:
    """`1e999999999` takes ten characters, and as a fraction any memory."""
    with pytest.raises(BadInput, match="gamma"):
        parse_class("halfspaces(a, b, gamma=1e-500)")
    with pytest.raises(BadInput, match="center"):
        ClampedSum.from_dict({"column": "x", "grid": 1, "center": "1e500"})


@lru_cache
def weighted() -> Mapping[str, bytes]:
    """A release of ranges whose root is a weighted count."""
    schema = Schema.loads('dataset = "t"\n[columns.age]\nkind = "integer"\nrange = [0, 65535]')
    table = pd.DataFrame({"age": np.random.default_rng(3).integers(0, 65_536, 500)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.release"
        ledger = Path(folder) / "l.db"
        release_to_file(
            table,
            schema,
            path,
            budget=Budget(epsilon=1),
            workload=["intervals(age)"],
            ledger=ledger,
        )
        return read_members(path)


FORGED_WEIGHTS: dict[str, Any] = {
    "none": lambda was: [],
    "all 0": lambda was: [0] * len(was),
    "one below 0": lambda was: [-1, *was[1:]],
    "one too large": lambda was: [1025, *was[1:]],
    "one that no array holds": lambda was: [10**30, *was[1:]],
    "one that is no number": lambda was: [float("nan"), *was[1:]],
    "one that is infinite": lambda was: [float("inf"), *was[1:]],
    "a fraction": lambda was: [0.5, *was[1:]],
    "a truth": lambda was: [True, *was[1:]],
    "a text": lambda was: ["1", *was[1:]],
    "one too few": lambda was: was[1:],
    "no list": lambda was: {str(place): each for place, each in enumerate(was)},
}


@pytest.mark.parametrize("name", FORGED_WEIGHTS)
def test_no_weights_are_believed_that_no_release_has(name: str, tmp_path: Path) -> None:
    """Neither by the library nor by the second opinion; and no weight stops the library but with a sentence."""
    members, path = weighted(), tmp_path / "a.release"
    write_members(members, path)
    assert second.main([str(path)]) == 0 and verify_costs(path).ok
    manifest = json.loads(members["manifest.json"])
    tree = manifest["parts"][0]["measurements"][0]
    tree["weights"] = FORGED_WEIGHTS[name](tree["weights"])
    write_members({**members, "manifest.json": json.dumps(manifest).encode()}, path)
    assert second.main([str(path)]) != 0
    with suppress(BadRelease):
        dc.open_release(path).ask("SELECT count(*) FROM t WHERE age < 3000")
    with suppress(BadRelease):
        assert not verify_costs(path).ok
