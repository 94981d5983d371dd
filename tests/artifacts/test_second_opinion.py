"""`examples/check_release.py` agrees with the library on what releases cost, and uses nothing of it."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

import discreet as dc
from discreet.answering.verification.verify import opened
from discreet.artifacts.files import read_members, write_members
from discreet.families.groups.queries.group_ranges import GroupStrategy
from discreet.families.ranges.queries.cell_strategy import CellStrategy
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.laws import LAWS, DiscreteGaussianLaw
from discreet.queries.registry import query_types
from discreet.releases.verifying import verify
from tests.artifacts.older_formats import in_second_format, npy
from tests.harness.forgery import subjects

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "check_release.py"
_SPEC = importlib.util.spec_from_file_location("check_release", SCRIPT)
assert _SPEC is not None and _SPEC.loader is not None
second = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(second)

Members = Mapping[str, bytes]
PEOPLE = """
dataset = "people"
adjacency = "{adjacency}"
[unit]
identifier = "who"
max_rows = {rows}
[columns.age]
kind = "integer"
range = [0, 31]
[columns.pay]
kind = "number"
bounds = [-2.5, 10]
bits = 6
[columns.sex]
kind = "category"
values = ["F", "M"]
"""
NAN = float("nan")
ONE = second.ONE_COUNT | second.ONE_NUMBER | {"clamped-sum"}
"""Queries of one number."""
WORKLOAD = ["marginals(2)", "means(pay)", "intervals(age)"]


def test_it_imports_nothing_but_the_standard_library() -> None:
    imported = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8")))
        for name in _names(node)
    }
    assert imported <= sys.stdlib_module_names


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return [each.name for each in node.names] if isinstance(node, ast.Import) else []


@lru_cache
def of_every_kind() -> dict[str, Members]:
    """A release of every registered class and algorithm, and of several ways to add costs up."""
    return {each.title: each.members for each in subjects()} | dict(_of_other_promises())


def _of_other_promises() -> Iterator[tuple[str, Members]]:
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "who": rng.integers(0, 150, 400),
            "age": rng.integers(0, 32, 400),
            "pay": rng.normal(3, 2, 400),
            "sex": rng.choice(["F", "M"], 400),
        }
    )
    budgets = {
        "epsilon": dc.Budget(epsilon=1),
        "delta": dc.Budget(epsilon="1/2", delta=1e-7),
        "rho": dc.Budget(rho="1/9"),
        "mu": dc.Budget(mu="1/3"),
    }
    units = cycle([("add-remove", 3), ("change-one", 2), ("add-remove", 1)])
    for (adjacency, rows), (name, budget) in zip(units, [*budgets.items()] * 2, strict=False):
        schema = dc.Schema.loads(PEOPLE.format(adjacency=adjacency, rows=rows))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.release"
            dc.release_to_file(
                table, schema, path, budget=budget, workload=WORKLOAD, ledger=Path(folder) / "l.db"
            )
            yield f"{adjacency}, {rows} rows, {name}", read_members(path)


def opinion(members: Members, folder: Path) -> tuple[list[str], list[str]]:
    write_members(members, folder / "a.release")
    found: tuple[list[str], list[str]] = second.check(str(folder / "a.release"))
    return found


def test_it_agrees_on_every_release(tmp_path: Path) -> None:
    for title, members in of_every_kind().items():
        found, wrong = opinion(members, tmp_path)
        assert wrong == [], title
        assert verify(opened(members)).ok, title
        assert " in all " in f" {found[1].lower()}", title


def test_it_sees_half_the_noise(tmp_path: Path) -> None:
    """All noise is halved at once, so that no rounding in the file's favour can hide it."""
    tried = 0
    for title, members in of_every_kind().items():
        manifest = json.loads(members["manifest.json"])
        for each in _noisy(manifest):
            key = "scale" if "scale" in each["law"] else "sigma_squared"
            each["law"][key] = str(Fraction(each["law"][key]) / 2)
            tried += 1
        if any(True for _ in _noisy(manifest)):
            assert opinion(_with(members, manifest), tmp_path)[1], title
    assert tried > 100


def test_it_sees_a_sensitivity_that_is_too_small(tmp_path: Path) -> None:
    """Wherever it has a rule of its own; its rules give what the library computes."""
    tried = set()
    for title, members in of_every_kind().items():
        opinion(members, tmp_path)
        release = second.Release(str(tmp_path / "a.release"))
        manifest = json.loads(members["manifest.json"])
        for each in _noisy(manifest):
            kind, found = each["query"]["kind"], second.sensitivities(release, each)
            if found is None or kind in tried:
                continue
            assert found == (each["l1"], each["l2_squared"]), (title, each["query"])
            each["l1"] -= 1
            assert opinion(_with(members, manifest), tmp_path)[1], (title, each["query"])
            each["l1"] += 1
            tried.add(kind)
    rules = second.IN_ONE_CELL | second.ONE_COUNT | second.ONE_NUMBER | second.MATRICES
    assert tried >= rules - {"cell-count", "complete-table"}, "of these there is no release here"


@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_rows_of_a_strategy_may_be_left_out_or_change_their_group(adjacency: str) -> None:
    """Compared with the library's own sensitivities: the releases here have hardly any strategies."""
    schema = dc.Schema.loads(PEOPLE.format(adjacency=adjacency, rows=3))
    chance = np.random.default_rng(11)
    release = SimpleNamespace(max_rows=3, is_change_one=adjacency == "change-one")
    for low, high in ((1, 9), (-4, 5), (7, 8)):
        drawn = chance.integers(low, high, (3, 32)).tolist()
        matrix = tuple(map(tuple, drawn))
        for query in (CellStrategy("age", matrix), GroupStrategy("age", ("sex",), matrix)):
            moved = query.sensitivity(schema)
            stored = {"query": query.to_dict()}
            assert second.sensitivities(release, stored) == (moved.l1, moved.l2_squared)


def test_a_negative_loss_makes_up_for_no_other(tmp_path: Path) -> None:
    tried = set()
    for title, members in of_every_kind().items():
        manifest = json.loads(members["manifest.json"])
        for each in list(_noisy(manifest))[:1]:
            law = each["law"]
            key = "scale" if "scale" in law else "sigma_squared"
            law[key] = str(-Fraction(law[key]))
            assert opinion(_with(members, manifest), tmp_path)[1], title
            law[key] = "0"
            write_members(_with(members, manifest), tmp_path / "b.release")
            assert second.main([str(tmp_path / "b.release")]) == 2, title
            tried.add((key, manifest["accounting"]))
    assert {("scale", "basic"), ("sigma_squared", "concentrated")} <= tried


def test_it_sees_a_tree_that_spends_too_much(tmp_path: Path) -> None:
    members = of_every_kind()["intervals(age) by adaptive-tree"]
    manifest = json.loads(members["manifest.json"])
    tree = manifest["parts"][0]["measurements"][0]
    for place in ("stopped_epsilon", "refined_epsilon", "first_epsilon"):
        altered = json.loads(members["manifest.json"])
        level = altered["parts"][0]["measurements"][0]["levels"][0]
        level[place] = str(Fraction(tree["path_epsilon"]) * 2)
        assert opinion(_with(members, altered), tmp_path)[1], place
    tree["path_epsilon"] = str(Fraction(tree["path_epsilon"]) * 2)
    assert opinion(_with(members, manifest), tmp_path)[1]


def test_it_sees_a_tree_whose_first_numbers_nobody_paid_for(tmp_path: Path) -> None:
    """Two forgeries of a tree of several levels: first numbers with too little noise, and a level that gives epsilon back."""
    for title, members in of_every_kind().items():
        tree = json.loads(members["manifest.json"])["parts"][0]["measurements"][0]
        if "adaptive-tree" in title and len(tree["levels"]) > 1:
            break
    whole = tree["path_epsilon"]
    for each in (
        {"first_epsilon": whole, "stopped_epsilon": whole, "refined_epsilon": "1/1000000"},
        {"first_epsilon": "1/1000000", "stopped_epsilon": whole, "refined_epsilon": "-1"},
    ):
        altered = json.loads(members["manifest.json"])
        levels = altered["parts"][0]["measurements"][0]["levels"]
        levels[0] |= each
        assert "first" in opinion(_with(members, altered), tmp_path)[1][0], each
    levels = json.loads(members["manifest.json"])["parts"][0]["measurements"][0]["levels"]
    name = f"arrays/{levels[-1]['first']}.npy"
    buffer = io.BytesIO()
    np.save(buffer, np.load(io.BytesIO(members[name])) + 1)
    assert "drawn once" in opinion({**members, name: buffer.getvalue()}, tmp_path)[1][0]


def test_it_believes_no_delta_of_discrete_gaussian_noise(tmp_path: Path) -> None:
    """A law that a file may state with any epsilon and delta: they are computed, as the library does."""
    for variance, moved, epsilon in (
        (30, 1, "1/2"),
        ("1/5", 1, "2"),
        (400, 7, "1"),
        (10**8, 30, "1/100"),
        (1, 1000, "1"),  # next to no noise: what the query moves by is far beyond it
        (1, 100, "100"),
        ("1/4", 10**6, "3"),
    ):
        law = DiscreteGaussianLaw(sigma_squared=Fraction(variance))
        exactly = law.cost(Sensitivity(moved, moved**2), size=1, epsilon=Fraction(epsilon)).delta
        found = second.delta_of_one_count(
            float(Fraction(variance)), moved, float(Fraction(epsilon))
        )
        assert found == pytest.approx(float(exactly), rel=second.ROUGHLY)
    tried = 0
    for title, members in of_every_kind().items():
        manifest = json.loads(members["manifest.json"])
        if manifest["accounting"] != "basic" or tried:
            continue
        for each in list(_noisy(manifest))[:1]:
            each["law"] = {"kind": "discrete-gaussian", "sigma_squared": "1/1000000"}
            each["cost"] = {"epsilon": "1/1000", "delta": "0", "rho": None}
            assert "delta" in " ".join(opinion(_with(members, manifest), tmp_path)[1]), title
            each["law"]["kind"] = "no-noise"
            assert "law" in " ".join(opinion(_with(members, manifest), tmp_path)[1]), title
            tried += 1
    assert tried


def test_it_sees_counts_below_a_node_that_was_stopped(tmp_path: Path) -> None:
    for title, members in of_every_kind().items():
        if "adaptive-tree" not in title:
            continue
        levels = json.loads(members["manifest.json"])["parts"][0]["measurements"][0]["levels"]
        if len(levels) > 1:
            name = f"arrays/{levels[0]['stopped']}.npy"
            buffer = io.BytesIO()
            np.save(buffer, np.ones_like(np.load(io.BytesIO(members[name]))))
            assert "stopped" in opinion({**members, name: buffer.getvalue()}, tmp_path)[1][0]
            return
    raise AssertionError("no tree has two levels")


def test_it_refuses_what_can_be_read_in_two_ways(tmp_path: Path) -> None:
    """Each makes a costlier release look cheaper to a reader that believes one of the two."""
    members = of_every_kind()["intervals(age) by tree"]
    text = members["manifest.json"].decode()
    manifest = json.loads(text)
    schemas = [
        'adjacency = "none"\n' + manifest["schema"].replace("adjacency = ", "was = "),
        manifest["schema"] + "\n[unit]\nmax_rows = 0\n",
        manifest["schema"] + "\n[unit]\nmax_rows = 0.5\n",
    ]
    altered = [_with(members, {**manifest, "schema": each}) for each in schemas]
    twice = text.rstrip().rstrip("}") + ', "budget": {"epsilon": "1000", "delta": "0"}}'
    altered.append({**members, "manifest.json": twice.encode()})
    name = f"arrays/{list(_noisy(manifest))[-1]['values']}.npy"
    many = len(np.load(io.BytesIO(members[name])))
    fewer = members[name].replace(f"({many},)".encode(), b"(1,)".ljust(len(str(many)) + 3))
    assert fewer != members[name]
    altered.append({**members, name: fewer})
    for place, each in enumerate(altered):
        write_members(each, tmp_path / "a.release")
        assert second.main([str(tmp_path / "a.release")]) == 2, place


def test_it_believes_no_sensitivity_that_is_not_a_number(tmp_path: Path) -> None:
    """NaN is above no limit, so noise of next to nothing passed; a grid below 0 made the sum of a column move by 1."""
    tried = set()
    for title, members in of_every_kind().items():
        text = members["manifest.json"]
        accounting, (_, *rows) = json.loads(text)["accounting"], text.split(b"max_rows = ")
        most = int(rows[0].split(b"\\n")[0]) if rows else 1
        for place, each in enumerate(_noisy(json.loads(text))):
            kind = each["query"]["kind"]
            forged: list[dict[str, Any]] = [{"l1": one, "l2_squared": one} for one in (NAN, 0.5)]
            if kind == "clamped-sum":
                turned = {**each["query"], "grid": -each["query"]["grid"]}
                forged.append({"l1": most, "l2_squared": most**2, "query": turned})
            for other in forged if (accounting, kind) not in tried else ():
                manifest = json.loads(text)
                altered = list(_noisy(manifest))[place]
                altered |= other
                key = "scale" if "scale" in altered["law"] else "sigma_squared"
                altered["law"][key] = str(10**30)  # so that nothing else is wrong with it
                write_members(_with(members, manifest), tmp_path / "a.release")
                assert second.main([str(tmp_path / "a.release")]) != 0, (title, other)
            tried.add((accounting, kind))
    assert {"basic", "concentrated", "gaussian"} <= {accounting for accounting, _ in tried}
    assert "clamped-sum" in {kind for _, kind in tried}


def test_it_sees_more_numbers_than_a_query_has(tmp_path: Path) -> None:
    """Several draws of one count would cost as much as one."""
    tried = set()
    for title, members in of_every_kind().items():
        for each in _noisy(json.loads(members["manifest.json"])):
            kind = each["query"]["kind"]
            is_matrix = kind in second.MATRICES and each["query"].get("matrix") is not None
            if kind in tried or not (kind in ONE or is_matrix):
                continue
            name = f"arrays/{each['values']}.npy"
            numbers = np.load(io.BytesIO(members[name]))
            buffer = io.BytesIO()
            np.save(
                buffer,
                np.append(np.tile(numbers, 9), numbers[:1] if is_matrix else ()).astype("<i8"),
            )
            wrong = opinion({**members, name: buffer.getvalue()}, tmp_path)[1]
            assert "numbers, and its query has" in " ".join(wrong), (title, kind)
            tried.add(kind)
    assert tried >= {"clamped-sum", "range-count", "strategy-counts"}


def test_it_says_that_it_takes_the_number_of_cells_as_recorded(tmp_path: Path) -> None:
    """A thousand draws of each cell would cost as much as one, and it has no rule for how many cells there are."""
    tried = set()
    for title, members in of_every_kind().items():
        for each in _noisy(json.loads(members["manifest.json"])):
            kind = each["query"]["kind"]
            if kind in second.IN_ONE_CELL | {"group-strategy"} and kind not in tried:
                said = opinion(members, tmp_path)[0][-1]
                assert "as recorded" in said and f"how many cells there are in {kind}" in said, (
                    title
                )
                tried.add(kind)
    assert {"marginal", "block-counts", "group-counts"} <= tried


@pytest.mark.parametrize("matrix", [[], [[]], [[], []]])
def test_it_believes_no_strategy_without_weights(tmp_path: Path, matrix: list[list[int]]) -> None:
    """With an empty matrix, a strategy of any number of draws seemed to move by nothing."""
    tried = 0
    for title, members in of_every_kind().items():
        for place, each in enumerate(_noisy(json.loads(members["manifest.json"]))):
            if each["query"]["kind"] == "marginal" and not tried:
                manifest = json.loads(members["manifest.json"])
                forged = list(_noisy(manifest))[place]
                forged["query"] = {"kind": "cell-strategy", "column": "age", "matrix": matrix}
                wrong = opinion(_with(members, manifest), tmp_path)[1]
                assert "without weights" in " ".join(wrong), title
                tried += 1
    assert tried


def test_it_reads_no_array_that_numpy_reads_in_another_way(tmp_path: Path) -> None:
    """One number for this check, and eight draws of it for NumPy, which believes the second shape of a header."""
    members = next(
        each for each in of_every_kind().values() if b'"clamped-sum"' in each["manifest.json"]
    )
    manifest = json.loads(members["manifest.json"])
    (one, *_) = (each for each in _noisy(manifest) if each["query"]["kind"] == "clamped-sum")
    name, plain = f"arrays/{one['values']}.npy", "'fortran_order': False"

    def array(header: str, magic: bytes = b"\x93NUMPY\x01\x00") -> bytes:
        padded = header.ljust(117) + "\n"
        return magic + len(padded).to_bytes(2, "little") + padded.encode() + bytes(range(8))

    eight = f"{{'descr': '<i8', {plain}, 'shape': (1,), 'descr': '|i1', 'shape': (8,), }}"
    assert np.load(io.BytesIO(array(eight))).tolist() == list(range(8))
    one_number = f"{{'descr': '<i8', {plain}, 'shape': (1,), }}"
    assert not opinion({**members, name: array(one_number)}, tmp_path)[1]
    for forged in (
        array(eight),
        array(f"{{'shape': (8,), 'descr': '|i1', {plain}, 'descr': '<i8', 'shape': (1,), }}"),
        array(one_number, b"\x93NUMPY\x02\x00"),
        array(one_number, b"\x93NUMPI\x01\x00"),
    ):
        write_members({**members, name: forged}, tmp_path / "a.release")
        assert second.main([str(tmp_path / "a.release")]) != 0, forged


def test_it_sees_several_draws_of_the_number_of_rows(tmp_path: Path) -> None:
    """A residual over no column is one number: a thousand draws of it cost as much as one."""
    tried = 0
    for title, members in of_every_kind().items():
        for each in _noisy(json.loads(members["manifest.json"])):
            if each["query"]["kind"] != "residual" or each["query"]["columns"]:
                continue
            name = f"arrays/{each['values']}.npy"
            buffer = io.BytesIO()
            np.save(buffer, np.tile(np.load(io.BytesIO(members[name])), 1000).astype("<i8"))
            wrong = opinion({**members, name: buffer.getvalue()}, tmp_path)[1]
            assert "1,000 numbers, and its query has 1" in " ".join(wrong), title
            tried += 1
    assert tried


def test_it_believes_no_bounds_and_no_budget_that_can_be_read_in_two_ways(tmp_path: Path) -> None:
    """With its bounds turned around, a sum seemed to move by 1. Of two promises, it compared with the larger one."""
    tried = set()
    for title, members in of_every_kind().items():
        text = members["manifest.json"]
        manifest = json.loads(text)
        for turned in ("bounds = [10, -2.5]", "bounds = [-2.5, 10]\nrange = [0, 0]"):
            forged = {
                **manifest,
                "schema": manifest["schema"].replace("bounds = [-2.5, 10.0]", turned),
            }
            if forged["schema"] == manifest["schema"] or "clamped-sum" not in text.decode():
                continue
            sums = [one for one in _noisy(forged) if one["query"]["kind"] == "clamped-sum"]
            for one in sums:
                one["l1"] = one["l2_squared"] = 1
                key = "scale" if "scale" in one["law"] else "sigma_squared"
                one["law"][key] = str(10**30)
            write_members(_with(members, forged), tmp_path / "a.release")
            assert second.main([str(tmp_path / "a.release")]) != 0, (title, turned)
            tried.add(turned)
        for other in {"epsilon", "rho", "mu_squared"} - manifest["budget"].keys():
            forged = {**manifest, "budget": {**manifest["budget"], other: "1000", "delta": "1/2"}}
            assert opinion(_with(members, forged), tmp_path)[1], (title, other)
            tried.add(other)
    assert len(tried) == 5


def test_it_takes_no_query_as_recorded_that_it_does_not_know(tmp_path: Path) -> None:
    """If it has no rule for a query, it believes the sensitivity in the file, and says so; but not 0, and not for any name."""
    tried = 0
    for title, members in of_every_kind().items():
        manifest = json.loads(members["manifest.json"])
        for each in list(_noisy(manifest))[:1]:
            each["query"]["kind"] = "marginal 2"
            assert "does not know" in " ".join(opinion(_with(members, manifest), tmp_path)[1]), (
                title
            )
            each["query"]["kind"] = "residual"
            each["l1"] = each["l2_squared"] = 0
            assert "at least 1" in " ".join(opinion(_with(members, manifest), tmp_path)[1]), title
            tried += 1
    assert tried > 10
    named = {*second.IN_ONE_CELL, *second.COUNTS_APART, *second.MATRICES, *second.NO_RULE, *ONE}
    assert named == set(query_types())


def test_it_sees_nodes_that_a_tree_does_not_have(tmp_path: Path) -> None:
    """Several draws of the root, each under the number of another node, would cost as much as one."""
    members = in_second_format(of_every_kind()["intervals(age) by adaptive-tree"])
    level = json.loads(members["manifest.json"])["parts"][0]["measurements"][0]["levels"][0]
    assert not opinion(members, tmp_path)[1]
    name = f"arrays/{level['nodes']}.npy"
    more = npy(np.load(io.BytesIO(members[name])) + 1)
    assert "does not have" in opinion({**members, name: more}, tmp_path)[1][0]


def test_it_sees_more_counts_than_a_tree_has_nodes(tmp_path: Path) -> None:
    """Since the third format nodes are not listed. Two draws of the root would otherwise cost as much as one."""
    members = of_every_kind()["intervals(age) by adaptive-tree"]
    root = json.loads(members["manifest.json"])["parts"][0]["measurements"][0]["levels"][0]
    twice = {
        name: npy(np.repeat(np.load(io.BytesIO(members[name])), 2))
        for name in (f"arrays/{root[key]}.npy" for key in ("first", "values", "stopped"))
    }
    assert "more nodes than there are" in opinion({**members, **twice}, tmp_path)[1][0]


def test_its_command_says_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    members = of_every_kind()["intervals(age) by tree"]
    write_members(members, tmp_path / "a.release")
    assert second.main([str(tmp_path / "a.release")]) == 0
    assert "epsilon 1 and delta 0" in capsys.readouterr().out
    manifest = json.loads(members["manifest.json"])
    manifest["budget"]["epsilon"] = "1/2"
    write_members(_with(members, manifest), tmp_path / "b.release")
    assert second.main([str(tmp_path / "b.release")]) == 1
    assert "the file promises 0.5" in capsys.readouterr().out
    manifest["budget"]["epsilon"] = "1e999999999"
    write_members(_with(members, manifest), tmp_path / "d.release")
    assert second.main([str(tmp_path / "d.release")]) == 2
    assert "not an exact fraction" in capsys.readouterr().err
    with zipfile.ZipFile(tmp_path / "a.release", "a") as archive, pytest.warns(UserWarning):
        archive.writestr("manifest.json", members["manifest.json"])
    assert second.main([str(tmp_path / "a.release")]) == 2
    assert "twice" in capsys.readouterr().err
    (tmp_path / "c.release").write_text("nothing")
    assert second.main([str(tmp_path / "c.release")]) == 2
    assert second.main([]) == 2


def test_the_format_that_it_reads_is_described_whole() -> None:
    """Every field of a manifest, every type and kind that a release may hold."""
    text = (SCRIPT.parents[1] / "docs" / "file-format.md").read_text(encoding="utf-8")
    manifests = [json.loads(members["manifest.json"]) for members in of_every_kind().values()]
    parts = [part for manifest in manifests for part in manifest["parts"]]
    measured = [each for part in parts for each in part["measurements"]]
    words = {*query_types(), *LAWS}
    for each in (*manifests, *parts):
        words |= set(each)
    words |= {each["type"] for each in measured}
    words |= {manifest["accounting"] for manifest in manifests}
    words |= {name for manifest in manifests for name in manifest["budget"]}
    words |= {name for each in measured for level in each.get("levels", ()) for name in level}
    words -= {"level", "first_epsilon"}  # told in a sentence
    assert {word for word in words if f"`{word}`" not in text} == set()


def test_a_signature_is_made_as_the_format_says() -> None:
    members = next(each for title, each in of_every_kind().items() if title.endswith("signed"))
    stored = json.loads(members["signature.json"])
    lines = "".join(
        f"{hashlib.sha256(members[name]).hexdigest()} {name}\n"
        for name in sorted(members.keys() - {"signature.json"})
    )
    first = b"discreet release signature 1\n"
    digest = hashlib.sha256(first + lines.encode()).digest()
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(stored["public_key"]))
    key.verify(bytes.fromhex(stored["signature"]), first + digest)
    assert stored["algorithm"] == "Ed25519"


def _noisy(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in manifest["parts"]:
        yield from (each for each in part["measurements"] if each["type"] == "noise")


def _with(members: Members, manifest: dict[str, Any]) -> Members:
    return {**members, "manifest.json": json.dumps(manifest).encode()}
