"""Files are written whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from discreet.answering import ReleaseReader
from discreet.cli.failures import _file_text
from discreet.cli.files import refuse_overwriting, write_text
from discreet.errors import BadInput
from tests.releases_by_hand import people, release_of_tables


@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError, MemoryError])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    kind: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "page.html"
    write_text(target, "old")

    def fail(path: Path, to: Path) -> None:
        raise kind

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(kind):
        write_text(target, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert target.read_text() == "old"


def test_a_written_file_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    write_text(tmp_path / "a", "ä\n")
    (tmp_path / "b").write_text("b")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
    assert (tmp_path / "a").read_bytes() == "ä\n".encode()


def test_only_a_new_file_in_an_existing_directory_may_be_written_without_force(
    tmp_path: Path,
) -> None:
    refuse_overwriting(tmp_path / "new", force=False)
    (tmp_path / "old").write_text("")
    refuse_overwriting(tmp_path / "old", force=True)
    for path in (tmp_path / "old", tmp_path, tmp_path / "nowhere" / "new"):
        with pytest.raises(BadInput, match="Nothing was done"):
            refuse_overwriting(path, force=False)


def test_a_failed_write_names_the_file_that_was_typed_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the file beside it, through which it is written."""

    def fail(path: Path, to: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "replace", fail)
    release = release_of_tables(people(), [("sex", "owns")], [{"sex": "F", "owns": True}] * 9)
    rows = ReleaseReader(release).synthesize(seed=1)
    with pytest.raises(OSError, match="No space left") as caught:
        write_text(tmp_path / "page.html", "new")
    named = f"{tmp_path / 'page.html'}: No space left on device."
    assert _file_text(caught.value) == f"{named} Make room, or write to another disk."
    with pytest.raises(BadInput, match="was not written: No space left on device"):
        rows.write(tmp_path / "rows.csv")
    assert list(tmp_path.iterdir()) == []
