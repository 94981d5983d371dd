"""A release file comes back as it was; a damaged, foreign, newer or hostile one is refused in a sentence."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.answering.verification.verify import opened
from discreet.artifacts.files import (
    read_members,
    read_release,
    release_from_members,
    release_members,
    write_members,
    write_release,
)
from discreet.artifacts.measurement import Selection, TreeLevel, TreeMeasurement
from discreet.artifacts.release import Release
from discreet.errors import BadRelease
from discreet.families.numbers.queries.one_number import Sums
from discreet.families.tables.queries.cell_count import CellCount
from discreet.families.tables.queries.marginals import Marginals
from discreet.privacy.cost import Cost
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw
from discreet.queries.measurable import ClampedSum
from discreet.releases.verifying import verify
from tests.artifacts.older_formats import in_first_format, in_second_format, npy
from tests.harness.forgery import subjects
from tests.releases_by_hand import measured, part_of, people, release_of_tables, small_tree

ROWS: list[dict[str, Any]] = [{"age": 3, "sex": "F"}, {"age": 17, "sex": None}]


def rich_release() -> Release:
    schema = people(people=50)
    parts = [
        part_of(
            Sums("pay", weight=Fraction(1, 3)),
            measured(schema, ClampedSum("pay", grid=8, center=Fraction(3, 8)), [-5]),
            estimates={"sum": np.array([1.5])},
            facts={"note": "größe", "grid": 8},
        ),
        part_of(
            Marginals("sex"),
            measured(schema, CellCount(("sex",), (0, 2)), [4], DiscreteLaplaceLaw(Fraction(2, 3))),
            Selection(
                chosen=1, candidates=4, sensitivity=1, cost=Cost.bounded_range(Fraction(1, 3))
            ),
            small_tree(),
        ),
    ]
    return release_of_tables(
        schema,
        [("age", "sex"), ("born",)],
        ROWS,
        law=DiscreteLaplaceLaw(Fraction(7, 3)),
        parts=parts,
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    release = rich_release()
    write_release(release, tmp_path / "a.release")
    again = read_release(tmp_path / "a.release")
    assert release_members(again) == release_members(release)
    assert again.schema == release.schema and again.budget == release.budget
    assert again.parts[2].query_class == release.parts[2].query_class
    first, second = release.parts[0].measurements[0], again.parts[0].measurements[0]
    assert second.law == first.law and second.cost == first.cost  # type: ignore[union-attr]
    assert np.array_equal(second.values, first.values)  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize("bits", [7, 8, 15, 16, 31, 32, 63])
def test_whole_numbers_come_back_from_short_types(kind: type[np.integer[Any]], bits: int) -> None:
    """About every end of a type's range, alone and beside small numbers."""
    limits = np.iinfo(kind)
    ends = (sign * 2**bits + step for sign in (-1, 1) for step in (-1, 0, 1))
    for end in (end for end in ends if limits.min <= end <= limits.max):
        for numbers in ([end], [0, end], [1, end, 2]):
            given = np.array(numbers, dtype=kind)
            part = part_of(Sums("pay"), estimates={"numbers": given})
            made = replace(rich_release(), parts=(part,))
            found = release_from_members(release_members(made)).parts[0].estimates["numbers"]
            assert found.dtype == kind and not found.flags.writeable
            assert found.tolist() == numbers


def test_counts_take_no_more_room_than_they_need() -> None:
    part = part_of(Sums("pay"), estimates={"numbers": np.arange(-100, 100).repeat(100)})
    members = release_members(replace(rich_release(), parts=(part,)))
    assert len(members["arrays/0.npy"]) == 128 + 20_000


def test_a_file_of_the_first_format_is_read_and_verified_as_before() -> None:
    """Its whole numbers have eight bytes; a shorter type was no type of that format."""
    members = next(subjects()).members
    first = in_first_format(members)
    assert release_members(release_from_members(first)) == members
    assert verify(opened(first)).ok
    with pytest.raises(BadRelease, match="type"):
        release_from_members({**members, "manifest.json": first["manifest.json"]})


def test_a_tree_of_the_second_format_is_read_and_verified_as_before() -> None:
    """It lists the nodes of each level; since then they follow from those above that were not stopped."""
    trees = [each for each in subjects() if _levels(release_from_members(each.members))]
    assert len(trees) >= 2
    for subject in trees:
        second = in_second_format(subject.members)
        assert len(second) > len(subject.members)
        again = release_from_members(second)
        assert release_members(again) == subject.members
        assert verify(opened(second)).ok
        renamed = json.loads(subject.members["manifest.json"]) | {"version": 2}
        altered = {**subject.members, "manifest.json": json.dumps(renamed).encode()}
        assert not verify(opened(altered)).ok
        levels = zip(_levels(again), _levels(release_from_members(subject.members)), strict=True)
        for one, other in levels:
            np.testing.assert_array_equal(one.nodes, other.nodes)


def _levels(release: Release) -> list[TreeLevel]:
    measured = [each for part in release.parts for each in part.measurements]
    return [
        level for each in measured if isinstance(each, TreeMeasurement) for level in each.levels
    ]


def test_a_tree_has_no_more_and_no_fewer_counts_than_nodes() -> None:
    """Nodes are made as a file is read: never more of them than it has counts, so no small file makes many."""
    subject = next(each for each in subjects() if "adaptive-tree" in each.title)
    manifest = json.loads(subject.members["manifest.json"])
    (measured,) = manifest["parts"][0]["measurements"]
    for change in (lambda array: array[:-1], lambda array: np.append(array, array[-1:])):
        last = measured["levels"][-1]
        altered = {
            f"arrays/{last[name]}.npy": npy(
                change(np.load(io.BytesIO(subject.members[f"arrays/{last[name]}.npy"])))
            )
            for name in ("first", "values", "stopped")
        }
        with pytest.raises(BadRelease, match=r"nodes|shape"):
            release_from_members({**subject.members, **altered})
    measured["levels"].reverse()
    with pytest.raises(BadRelease, match="out of order"):
        release_from_members({**subject.members, "manifest.json": json.dumps(manifest).encode()})


def test_equal_releases_are_equal_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_release(rich_release(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with zipfile.ZipFile(tmp_path / "a") as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_exact_numbers_are_texts_and_nothing_is_pickled(tmp_path: Path) -> None:
    write_release(rich_release(), tmp_path / "a")
    members = read_members(tmp_path / "a")
    manifest = json.loads(members["manifest.json"])
    assert manifest["parts"][0]["measurements"][0]["law"] == {
        "kind": "discrete-laplace",
        "scale": "7/3",
    }
    assert manifest["privacy"]["data"]["adjacency"] == "add-remove"
    assert any("differentially private" in line for line in manifest["privacy"]["words"])
    assert all(
        data.startswith(b"\x93NUMPY\x01") for name, data in members.items() if name.endswith("npy")
    )


def test_writing_leaves_no_other_file_and_replaces_the_old_one_whole(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    write_release(rich_release(), target)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    read_release(target)


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a"
    target.write_text("old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_release(rich_release(), target)
    assert [path.name for path in tmp_path.iterdir()] == ["a"] and target.read_text() == "old"


def test_a_killed_write_never_leaves_a_half_release_under_its_name(tmp_path: Path) -> None:
    code = (
        "import numpy, sys; from discreet.artifacts.files import write_members\n"
        "print('go', flush=True)\n"
        "while True: write_members({'manifest.json': b'{}' * 4_000_000}, sys.argv[1])"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "a")], stdout=subprocess.PIPE, env=os.environ
    )
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    child.wait(120)
    child.stdout.close()
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"a"}
    if left:
        assert len(read_members(tmp_path / "a")["manifest.json"]) == 8_000_000


def repacked(data: bytes, change: Callable[[zipfile.ZipFile, dict[str, bytes]], None]) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        change(archive, members)
    return buffer.getvalue()


def with_manifest(**changes: object) -> Callable[[zipfile.ZipFile, dict[str, bytes]], None]:
    def change(archive: zipfile.ZipFile, members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"]) | changes
        members["manifest.json"] = json.dumps(manifest).encode()
        for name, data in members.items():
            archive.writestr(name, data)

    return change


def adding(name: str, data: bytes = b"x") -> Callable[[zipfile.ZipFile, dict[str, bytes]], None]:
    def change(archive: zipfile.ZipFile, members: dict[str, bytes]) -> None:
        for each, content in members.items():
            archive.writestr(each, content)
        archive.writestr(name, data)

    return change


def a_symlink(archive: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    for name, data in members.items():
        info = zipfile.ZipInfo(name)
        info.external_attr = (0o120777 if name == "arrays/0.npy" else 0o644) << 16
        archive.writestr(info, data)


def compressed(archive: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    for name, data in members.items():
        archive.writestr(name, data, zipfile.ZIP_DEFLATED)


def a_bomb(archive: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    members["arrays/0.npy"] = bytes(50_000_000)
    compressed(archive, members)


def a_huge_shape(archive: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (9999999999999,), }"
    members["arrays/0.npy"] = header.ljust(127) + b"\n"
    for name, data in members.items():
        archive.writestr(name, data)


def an_object_array(archive: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    members["arrays/0.npy"] = buffer.getvalue()
    for name, data in members.items():
        archive.writestr(name, data)


def a_short_array(archive: zipfile.ZipFile, members: dict[str, bytes]) -> None:
    members["arrays/0.npy"] = members["arrays/1.npy"]
    for name, data in members.items():
        archive.writestr(name, data)


HOSTILE = {
    "newer": (with_manifest(version=99), "newer"),
    "foreign": (with_manifest(format="something else"), "not a release"),
    "no version": (with_manifest(version=True), "which format"),
    "path traversal": (adding("../../evil"), "no release has"),
    "absolute path": (adding("/etc/passwd"), "no release has"),
    "twice": (adding("arrays/0.npy"), "twice"),
    "unreferenced": (
        adding("arrays/99.npy", release_members(rich_release())["arrays/0.npy"]),
        "nothing refers",
    ),
    "symlink": (a_symlink, "no release has"),
    "compressed": (compressed, "stores them uncompressed"),
    "bomb": (a_bomb, "stores them uncompressed"),
    "huge shape": (a_huge_shape, "size or type"),
    "object array": (an_object_array, "size or type"),
    "short array": (a_short_array, "as many numbers"),
    "bad budget": (with_manifest(budget={"epsilon": "1/0"}), "budget"),
    "bad schema": (with_manifest(schema="dataset = 3"), "does not make sense"),
    "no parts": (with_manifest(parts=None), "list"),
    "infinite": (with_manifest(public_rows=float("inf")), "not readable"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    change, says = HOSTILE[name]
    write_release(rich_release(), tmp_path / "good")
    bad = tmp_path / "bad"
    bad.write_bytes(repacked((tmp_path / "good").read_bytes(), change))
    with pytest.raises(BadRelease, match=says):
        read_release(bad)


def test_an_overlapping_bomb_is_refused_because_it_declares_more_than_it_holds(
    tmp_path: Path,
) -> None:
    """Many directory entries that point at the same bytes."""
    write_members({"manifest.json": bytes(1000), "arrays/0.npy": bytes(100_000)}, tmp_path / "a")
    data = (tmp_path / "a").read_bytes()
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    second = data.index(b"PK\x01\x02", start + 4)
    entries = [data[start:second]]
    for number in range(10):
        entry = bytearray(data[second:end])
        entry[-5:-4] = str(number).encode()  # arrays/0.npy, arrays/1.npy, ...
        entries.append(bytes(entry))
    directory = b"".join(entries)
    tail = bytearray(data[end:])
    tail[8:10] = tail[10:12] = len(entries).to_bytes(2, "little")
    tail[12:16] = len(directory).to_bytes(4, "little")
    (tmp_path / "b").write_bytes(data[:start] + directory + bytes(tail))
    with pytest.raises(BadRelease, match="declares more than"):
        read_release(tmp_path / "b")


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    write_release(rich_release(), tmp_path / "good")
    data = (tmp_path / "good").read_bytes()
    for length in [0, 1, 10, *range(100, len(data), len(data) // 40), len(data) - 1]:
        (tmp_path / "cut").write_bytes(data[:length])
        with pytest.raises(BadRelease):
            read_release(tmp_path / "cut")


def test_flipped_bytes_are_refused_or_change_nothing(tmp_path: Path) -> None:
    write_release(rich_release(), tmp_path / "good")
    data = (tmp_path / "good").read_bytes()
    expected = release_members(read_release(tmp_path / "good"))
    for place in range(0, len(data), 97):
        flipped = bytearray(data)
        flipped[place] ^= 0x10
        (tmp_path / "bad").write_bytes(bytes(flipped))
        try:
            found = release_members(read_release(tmp_path / "bad"))
        except BadRelease:
            continue
        assert found == expected  # a date or a comment


def test_an_offset_that_leads_nowhere_is_called_damage_and_not_an_invalid_argument(
    tmp_path: Path,
) -> None:
    write_release(rich_release(), tmp_path / "good")
    data = bytearray((tmp_path / "good").read_bytes())
    end = data.rindex(b"PK\x05\x06")
    for place in (*range(end + 12, end + 20), data.rindex(b"PK\x01\x02") + 45):
        bad = data.copy()
        bad[place] ^= 0xFF
        (tmp_path / "bad").write_bytes(bytes(bad))
        with pytest.raises(
            BadRelease, match=r"damaged, altered or cut short; fetch it again|has no manifest"
        ):
            read_release(tmp_path / "bad")


@pytest.mark.parametrize("name", ["missing", "folder"])
def test_what_is_no_file_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadRelease):
        read_release(tmp_path / name)


def test_gaussian_laws_survive_the_file(tmp_path: Path) -> None:
    from discreet.privacy.budget import Budget
    from discreet.privacy.cost import Accounting

    law = DiscreteGaussianLaw(Fraction(123456789, 1000))
    release = release_of_tables(
        people(),
        [("age",)],
        ROWS,
        law=law,
        budget=Budget(rho=1),
        accounting=Accounting.CONCENTRATED,
    )
    write_release(release, tmp_path / "a")
    assert read_release(tmp_path / "a").parts[0].measurements[0].law == law  # type: ignore[union-attr]
