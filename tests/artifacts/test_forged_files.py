"""Files that were changed after they were signed, or that hold what no release holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.answering import new_signing_key, sign_release, verify_costs
from discreet.artifacts.files import read_members, read_release, write_members, write_release
from discreet.errors import BadRelease
from tests.releases_by_hand import people, release_of_tables


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
