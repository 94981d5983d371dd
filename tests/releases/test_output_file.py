"""The file of a release: its name and its room are sure before the charge, and nothing paid is lost."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from discreet.artifacts import files
from discreet.artifacts.files import read_release
from discreet.errors import BadInput, NotWritten
from discreet.ledger import EntryState
from discreet.privacy.budget import Budget
from discreet.releases import output_file
from discreet.releases.output_file import OutputFile
from tests.releasing import release_to_file

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def publish(engines, ledger, make_schema, make_person, tmp_path):
    """Publish one person to a file, once a call."""

    def go(path, **more):
        return release_to_file(
            [make_person()], make_schema(), path,
            budget=Budget(epsilon="1/2"), workload="marginals(1)", ledger=ledger, **more,
        )  # fmt: skip

    return go


def full_disk(monkeypatch: pytest.MonkeyPatch, *full: Path) -> None:
    """Writing under one of these directories fails half-way, as on a disk without room."""
    really = files._zip

    def zipped(members, file):
        place = Path(f"/proc/self/fd/{file.fileno()}").readlink()
        file.write(b"half")
        if any(place.is_relative_to(directory) for directory in full):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        file.seek(0)
        really(members, file)

    monkeypatch.setattr(files, "_zip", zipped)


def test_a_disk_that_fills_up_after_the_charge_loses_no_number(
    publish, ledger, tmp_path, monkeypatch
):
    full, home = tmp_path / "full", tmp_path / "home"
    full.mkdir()
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    full_disk(monkeypatch, full)
    with pytest.raises(
        NotWritten, match=r"No space left.*The charge stands.*kept whole in"
    ) as told:
        publish(full / "people.release")
    assert list(full.iterdir()) == []
    (kept,) = home.glob("discreet-rescue-*/people.release")
    assert str(kept) in str(told.value)
    (entry,) = ledger.entries("people")
    assert entry.state is EntryState.PUBLISHED, "the numbers are in a file, and the ledger says so"
    assert read_release(kept).workload == ("marginals(1)",)
    assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_where_no_directory_can_be_written_to_the_sentence_says_that_the_charge_stands(
    publish, ledger, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    full_disk(monkeypatch, Path("/"))
    with pytest.raises(
        NotWritten, match=r"No space left.*The charge stands, and the numbers are lost"
    ):
        publish(tmp_path / "people.release")
    assert [entry.state for entry in ledger.entries("people")] == [EntryState.READING]
    assert not any("rescue" in each.name for each in tmp_path.iterdir())


def test_a_disk_without_room_is_seen_before_anything_is_charged(
    publish, ledger, tmp_path, monkeypatch
):
    monkeypatch.setattr(output_file.shutil, "disk_usage", lambda _: Usage(10**9, 10**9, 10**6))
    with pytest.raises(
        BadInput, match=r"needs about 1,\d+ kB.*has 1,000 kB left. Nothing was read or charged"
    ):
        publish(tmp_path / "people.release")
    assert list(ledger.entries("people")) == []
    assert not any("release" in each.name for each in tmp_path.iterdir())


def test_a_name_that_another_run_holds_is_refused_before_anything_is_charged(
    publish, ledger, tmp_path
):
    place = tmp_path / "people.release"
    for overwrite in (False, True):
        with (
            OutputFile(place, overwrite=overwrite).reserved(),
            pytest.raises(BadInput, match="Another release is being written to"),
        ):
            publish(place, overwrite=overwrite)
    assert list(ledger.entries("people")) == []
    publish(place)
    assert [each.name for each in tmp_path.iterdir() if "release" in each.name] == [place.name]
    with pytest.raises(BadInput, match="exists"):
        publish(place)


def test_a_run_that_waited_for_the_name_sees_the_file_that_was_written_meanwhile(tmp_path):
    place = tmp_path / "people.release"
    second = OutputFile(place, overwrite=False)
    place.write_text("of the first")
    with pytest.raises(BadInput, match="exists"), second.reserved():
        pass
    second.write({"manifest.json": b"{}"})
    assert place.read_text() == "of the first"
    assert second.not_written is not None and "in the meantime" in str(second.not_written)
    kept = Path(str(second.not_written).split("kept whole in ")[1].split(":")[0])
    kept.unlink()
    kept.parent.rmdir()


def test_a_missing_home_or_working_directory_does_not_stop_the_rescue(
    publish, ledger, tmp_path, monkeypatch
):
    """An account without a home, in a directory that was deleted: the release is kept all the same."""
    full, kept = tmp_path / "full", tmp_path / "kept"
    full.mkdir()
    kept.mkdir()

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    def no_directory():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    full_disk(monkeypatch, full)
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setattr(Path, "cwd", no_directory)
    monkeypatch.setattr(output_file.tempfile, "gettempdir", lambda: str(kept))
    with pytest.raises(NotWritten, match="kept whole in"):
        publish(full / "people.release")
    (found,) = kept.rglob("people.release")
    assert read_release(found).budget == Budget(epsilon="1/2")


@pytest.mark.parametrize("length", [200, 240, 241, 245, 246, 255])
def test_a_long_name_is_written_or_refused_before_anything_is_charged(
    publish, ledger, tmp_path, length
):
    """Other names are made from it. One that is too long for them alone must not lose what was paid."""
    place = tmp_path / "people.release".rjust(length, "n")
    try:
        publish(place)
    except BadInput as error:
        assert "File name too long. Nothing was read or charged." in str(error)
        assert list(ledger.entries("people")) == []
    else:
        assert read_release(place).budget == Budget(epsilon="1/2")
    assert length > 245 or place.exists()


def test_the_name_of_a_lock_that_is_a_link_or_no_file_is_refused(publish, ledger, tmp_path):
    """In a directory that others can write to, a link could make us create or open a file elsewhere."""
    place, lock = tmp_path / "people.release", tmp_path / ".people.release.reserved"
    for target in (tmp_path / "elsewhere", ledger.path):
        lock.symlink_to(target)
        with pytest.raises(BadInput, match=r"cannot be reserved.*Nothing was read or charged"):
            publish(place)
        lock.unlink()
    assert not (tmp_path / "elsewhere").exists()
    lock.mkdir()
    with pytest.raises(BadInput, match="cannot be reserved"):
        publish(place)
    assert list(ledger.entries("people")) == [] and not place.exists()


def test_a_process_that_is_killed_does_not_keep_the_name(tmp_path):
    place = tmp_path / "people.release"
    code = (
        "import os, signal, sys\n"
        "from discreet.releases.output_file import OutputFile\n"
        "with OutputFile(sys.argv[1], overwrite=False).reserved():\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    source = str(Path(output_file.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)],
        check=False,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert done.returncode == -9
    assert (tmp_path / ".people.release.reserved").exists()
    with OutputFile(place, overwrite=False).reserved():
        pass
    assert list(tmp_path.iterdir()) == []
