"""What was written cannot be changed, cut off or rolled back without being noticed."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from discreet.errors import LedgerDamaged, LedgerError
from discreet.ledger import Ledger
from discreet.ledger.chain import ORIGIN, SCHEMA, draft, link
from discreet.ledger.mark import Mark, MarkFile
from discreet.ledger.upkeep.repair import accept_mark
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected

FILES = ("ledger.db", "ledger.db-wal", "ledger.db.mark")


def write_history(path: Path) -> None:
    """Every kind of event, at least once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.ledger.journal.FORMAT", 1)
        Ledger.open(path).close()
    with Ledger.open(path) as ledger:
        ledger.declare("people", Budget(epsilon=1, delta="1e-9"))
        ledger.declare_analyst_cap("people", "ann", Budget(epsilon=1))
        charge(ledger, "q1")
        entry = charge(ledger, "q1")
        ledger.begin_reading(entry)
        ledger.record_answer(entry, b"the answer is 42 \x00\x01\x02")
        ledger.publish(entry, "digest")
        ledger.raise_cap("people", Budget(epsilon=2, delta="1e-9"), reason="more questions")
        ledger.charge(
            "people",
            Budget(epsilon="1/3"),
            protects=Protected(),
            purpose="p",
            request="q2",
            analyst="ann",
        )
        ledger.declare("firms", Budget(epsilon=1))
        ledger.declare_unit("firms", Protected(), reason="as in firms.toml")
    accept_mark(path, reason="to have such an event")


def charge(ledger: Ledger, request: str):
    return ledger.charge(
        "people",
        Budget(epsilon="1/10", delta="1e-10"),
        protects=Protected(),
        purpose="p",
        request=request,
    )


def state_of(ledger: Ledger) -> tuple[object, ...]:
    return (
        ledger.entries(),
        ledger.spent("people"),
        ledger.cap("people"),
        ledger.spent("people", analyst="ann"),
        ledger.cap("people", analyst="ann"),
        ledger.recorded_answer("people", "q1"),
    )


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """A ledger, closed; tests work on copies of it."""
    path = tmp_path_factory.mktemp("sound") / "ledger.db"
    write_history(path)
    return path


def copy_to(directory: Path, source: Path) -> Path:
    directory.mkdir(exist_ok=True)
    for name in FILES:
        (directory / name).unlink(missing_ok=True)
        (directory / f"{name}-shm").unlink(missing_ok=True)
        if (found := source.with_name(name)).exists():
            shutil.copyfile(found, directory / name)
    return directory / "ledger.db"


def checkpoint(path: Path) -> None:
    sql = sqlite3.connect(path)
    assert sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    sql.close()


def flipped(content: bytes, at: int, bit: int) -> bytes:
    return content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :]


# Changed records


def edit(path: Path, statement: str, *values: object) -> None:
    """Change events past the triggers, and leave the triggers as they were."""
    sql = sqlite3.connect(path, isolation_level=None)
    sql.execute("PRAGMA synchronous = OFF")
    sql.execute("BEGIN")
    triggers = [name for name in SCHEMA if name != "event"]
    for name in triggers:
        sql.execute(f"DROP TRIGGER {name}")
    sql.execute(statement, values)
    for name in triggers:
        sql.execute(SCHEMA[name])
    sql.execute("COMMIT")
    sql.close()


def test_every_kind_of_event_is_in_the_history_that_is_damaged_here(sound):
    sql = sqlite3.connect(sound)
    kinds = {row[0] for row in sql.execute("SELECT json_extract(body, '$.kind') FROM event")}
    sql.close()
    with Ledger.open(sound) as ledger:
        assert kinds == set(ledger._journal._book._rules)


def test_editing_around_the_triggers_is_itself_not_what_is_detected(sound, tmp_path):
    path = copy_to(tmp_path / "copy", sound)
    edit(path, "UPDATE event SET body = body WHERE seq = 1")
    with Ledger.open(path) as ledger:
        ledger.verify()


@pytest.mark.parametrize("column", ["seq", "body", "payload", "hash"])
def test_a_change_in_any_column_of_any_row_is_detected_at_opening(sound, tmp_path, column):
    sql = sqlite3.connect(sound)
    rows = sql.execute(f"SELECT seq, {column} FROM event").fetchall()
    sql.close()
    tried = 0
    for seq, value in rows:
        for changed in changes_of(value):
            path = copy_to(tmp_path / "copy", sound)
            edit(path, f"UPDATE event SET {column} = ? WHERE seq = ?", changed, seq)
            with pytest.raises(LedgerDamaged, match="event"):
                Ledger.open(path)
            tried += 1
    assert tried >= len(rows)


def changes_of(value: object) -> list[object]:
    if value is None:
        return [b"", b"payload", ""]
    if isinstance(value, int):
        return [value + 1000, -value]
    if isinstance(value, bytes):
        return [
            None,
            value + b"\x00",
            value[:-1],
            flipped(value, 0, 0),
            flipped(value, -1 % len(value), 7),
        ]
    assert isinstance(value, str)
    raw = value.encode()
    spots = {0, len(raw) - 1, *(random.randrange(len(raw)) for _ in range(2))}
    # The same text as bytes, a blank at the end, and single characters.
    return [raw, value + " ", *(flipped(raw, at, 0).decode() for at in spots)]


def test_a_changed_event_with_a_hash_to_match_breaks_the_chain_after_it(sound, tmp_path):
    sql = sqlite3.connect(sound)
    rows = dict(sql.execute("SELECT seq, hash FROM event"))
    (body,) = sql.execute("SELECT body FROM event WHERE seq = 5").fetchone()
    sql.close()
    forged = body.replace("a test", "no test").replace('"p"', '"other"')
    assert forged != body
    path = copy_to(tmp_path / "copy", sound)
    new_hash = link(rows[4], 5, forged)
    edit(path, "UPDATE event SET body = ?, hash = ? WHERE seq = 5", forged, new_hash)
    with pytest.raises(LedgerDamaged, match="event 6 was altered"):
        Ledger.open(path)


def test_a_deleted_event_is_detected_wherever_it_was(sound, tmp_path):
    with Ledger.open(sound) as ledger:
        last = ledger._journal._book.seq
    for seq in range(1, last + 1):
        path = copy_to(tmp_path / "copy", sound)
        edit(path, "DELETE FROM event WHERE seq = ?", seq)
        with pytest.raises(LedgerDamaged):
            Ledger.open(path)


def record_bytes(path: Path) -> list[int]:
    """Where in the file the events' texts and answers lie."""
    content = path.read_bytes()
    sql = sqlite3.connect(path)
    places: list[int] = []
    for values in sql.execute("SELECT body, payload, hash FROM event"):
        for value in values:
            if value is not None:
                raw = value if isinstance(value, bytes) else value.encode()
                start = content.find(raw)
                assert start >= 0
                places.extend(range(start, start + len(raw)))
    sql.close()
    return places


def assert_flips_of_records_are_detected(sound: Path, directory: Path, places: list[int]) -> None:
    content = sound.read_bytes()
    for at in places:
        path = copy_to(directory, sound)
        path.write_bytes(flipped(content, at, random.randrange(8)))
        with pytest.raises(LedgerDamaged):
            Ledger.open(path)


def test_a_flipped_bit_in_a_record_is_detected_at_opening(sound, tmp_path):
    """Some of the places, with fresh choices on each run; all of them in the long run."""
    places = record_bytes(sound)
    assert len(places) > 2000
    assert_flips_of_records_are_detected(sound, tmp_path / "copy", random.sample(places, 200))


@pytest.mark.trust
def test_a_flipped_bit_in_any_byte_of_any_record_is_detected_at_opening(sound, tmp_path):
    assert_flips_of_records_are_detected(sound, tmp_path / "copy", record_bytes(sound))


@pytest.mark.parametrize("part", ["ledger.db", "ledger.db-wal", "ledger.db.mark"])
def test_a_flipped_bit_anywhere_is_detected_or_changes_nothing(tmp_path, part):
    """Unused space, checksummed log frames and spare slots may flip unnoticed, if nothing is lost by it."""
    live = tmp_path / "live" / "ledger.db"
    write_history(live)
    with Ledger.open(live) as ledger:
        charge(ledger, "q3")  # so that the log is not empty
        expected = state_of(ledger)
        base = copy_to(tmp_path / "base", live)
    content = base.with_name(part).read_bytes()
    detected = 0
    for at in random.sample(range(len(content)), 60):
        path = copy_to(tmp_path / "copy", base)
        path.with_name(part).write_bytes(flipped(content, at, random.randrange(8)))
        try:
            with Ledger.open(path) as ledger:
                assert state_of(ledger) == expected
                ledger.verify()
        except LedgerError:
            detected += 1
    assert detected or part == "ledger.db.mark"


def test_an_event_that_breaks_the_rules_is_detected_though_its_hash_is_right(sound, tmp_path):
    for forged in (
        draft("reading", entry=5, token="0" * 32),
        draft("claim", entry=999, token="0" * 32),
        draft("nonsense"),
        draft("declare", dataset="people", analyst=None, cap="epsilon 9 delta 0"),
        draft("raise", dataset="people", analyst=None, cap="epsilon 1/9 delta 0", reason="lower"),
        draft("genesis", format=1, ledger="0"),
        *(
            draft(
                "charge",
                dataset="people",
                analyst=None,
                cost=cost,
                spent=spent,
                analyst_spent=None,
                purpose="p",
                request="forged",
                token="0" * 32,
            )
            for cost, spent in (
                ("epsilon 1/2 delta 0", "epsilon 1/2 delta 0"),
                ("epsilon 2/4 delta 0", "epsilon 14/15 delta 1/10000000000"),
                ("epsilon 100 delta 0", "epsilon 3013/30 delta 1/10000000000"),
                ("rho 1/2 delta 0", "rho 14/15 delta 1/10000000000"),
            )
        ),
    ):
        path = copy_to(tmp_path / "copy", sound)
        with Ledger.open(path) as ledger, ledger._journal.newest() as (book, store):
            row = forged.row(after=book.seq, previous=book.hash)
            with store.writing():
                store.insert(row)
        with pytest.raises(LedgerDamaged, match=f"event {row[0]}"):
            Ledger.open(path)


def test_events_are_only_appended(sound, tmp_path):
    path = copy_to(tmp_path / "copy", sound)
    sql = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "UPDATE event SET body = '{}' WHERE seq = 3",
        "UPDATE event SET seq = 99 WHERE seq = 3",
        "DELETE FROM event",
        "DELETE FROM event WHERE seq = 3",
        "INSERT OR REPLACE INTO event VALUES (3, '{}', NULL, '')",
        "INSERT INTO event VALUES (99, '{}', NULL, '')",
        "INSERT INTO event VALUES (0, '{}', NULL, '')",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="ledger events are"):
            sql.execute(statement)
    sql.close()
    with Ledger.open(path) as ledger:
        ledger.verify()


@pytest.mark.parametrize("name", list(SCHEMA)[1:])
def test_a_missing_trigger_is_detected(sound, tmp_path, name):
    path = copy_to(tmp_path / "copy", sound)
    sql = sqlite3.connect(path)
    sql.execute(f"DROP TRIGGER {name}")
    sql.close()
    with pytest.raises(LedgerDamaged, match="triggers"):
        Ledger.open(path)


def test_a_foreign_file_is_not_taken_for_a_ledger(tmp_path):
    path = tmp_path / "other.db"
    sql = sqlite3.connect(path)
    sql.execute("CREATE TABLE t (x)")
    sql.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a discreet ledger"):
        Ledger.open(path)
    (tmp_path / "text.db").write_text("a,b\n1,2\n" * 1000)
    with pytest.raises(LedgerDamaged, match="not a database"):
        Ledger.open(tmp_path / "text.db")
    assert path.read_bytes() == before


def test_a_ledger_of_a_later_format_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.ledger.journal.FORMAT", 3)
    with pytest.raises(LedgerError, match="newer version"):
        Ledger.open(tmp_path / "ledger.db")


# Older copies and the mark


def test_a_restored_old_copy_is_detected_at_opening(sound, tmp_path):
    path = copy_to(tmp_path / "now", sound)
    with Ledger.open(path) as ledger:
        charge(ledger, "one more")
    shutil.copyfile(sound, path)
    with pytest.raises(LedgerDamaged, match="older copy was put back"):
        Ledger.open(path)


@pytest.mark.parametrize("how", ["written over in place", "moved over", "removed"])
def test_a_restored_old_copy_is_detected_by_a_running_process_at_its_next_charge(
    sound, tmp_path, how
):
    path = copy_to(tmp_path / "now", sound)
    with Ledger.open(path) as ledger:
        charge(ledger, "one more")
        checkpoint(path)
        ledger.entries()  # SQLite now has the pages in memory, where no copy reaches them
        if how == "written over in place":
            shutil.copyfile(sound, path)
        elif how == "moved over":
            shutil.copyfile(sound, tmp_path / "old.db")
            (tmp_path / "old.db").replace(path)
        else:
            path.unlink()
        with pytest.raises(LedgerDamaged):
            charge(ledger, "and another")
        with pytest.raises(LedgerDamaged):
            ledger.verify()


def test_an_old_copy_that_was_charged_again_is_detected(sound, tmp_path):
    """The copy has as many events as the mark says, but not those."""
    path = copy_to(tmp_path / "now", sound)
    fork = copy_to(tmp_path / "fork", sound)
    for place, number in ((path, 2), (fork, 3)):
        with Ledger.open(place) as ledger:
            for request in range(number):
                charge(ledger, f"{place.parent.name} {request}")
    shutil.copyfile(fork, path)
    with pytest.raises(LedgerDamaged, match="disagree about event"):
        Ledger.open(path)


def test_another_ledger_in_its_place_is_detected(sound, tmp_path):
    path = copy_to(tmp_path / "now", sound)
    with Ledger.open(tmp_path / "other.db") as other:
        other.declare("people", Budget(epsilon=1000))
        for request in range(20):
            other.charge(
                "people", Budget(epsilon=1), protects=Protected(), purpose="p", request=str(request)
            )
    shutil.copyfile(tmp_path / "other.db", path)
    with pytest.raises(LedgerDamaged, match="disagree"):
        Ledger.open(path)


@pytest.mark.parametrize("how", ["removed", "emptied"])
def test_a_ledger_that_is_gone_is_not_begun_anew(sound, tmp_path, how):
    path = copy_to(tmp_path / "now", sound)
    path.unlink()
    if how == "emptied":
        path.touch()
    with pytest.raises(LedgerDamaged, match="says that it had events"):
        Ledger.open(path)
    assert not path.exists() or path.stat().st_size == 0


def test_a_mark_left_behind_by_a_crash_is_accepted_and_healed(sound, tmp_path):
    path = copy_to(tmp_path / "now", sound)
    mark = path.with_name("ledger.db.mark")
    older = mark.read_bytes()
    with Ledger.open(path) as ledger:
        charge(ledger, "one more")
    newer = mark.read_bytes()
    mark.write_bytes(older)
    with Ledger.open(path) as ledger:
        assert len(ledger.entries()) == 3
    assert mark.read_bytes() == newer
    shutil.copyfile(sound, path)
    with pytest.raises(LedgerDamaged, match="older copy"):
        Ledger.open(path)


def test_a_mark_that_was_cut_short_while_written_falls_back_to_the_one_before(sound, tmp_path):
    path = copy_to(tmp_path / "now", sound)
    mark = path.with_name("ledger.db.mark")
    before = mark.read_bytes()
    with Ledger.open(path) as ledger:
        charge(ledger, "one more")
    after = mark.read_bytes()
    changed = [at for at, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    for cut in (changed[0] + 1, changed[len(changed) // 2], changed[-1]):
        mark.write_bytes(after[:cut] + before[cut:])
        with Ledger.open(path) as ledger:
            assert len(ledger.entries()) == 3
        assert mark.read_bytes() == after


def test_a_mark_only_moves_forward(tmp_path):
    marks = MarkFile(tmp_path / "mark", lock=tmp_path / "lock", patience=1)
    marks.replace(Mark(7, "7" * 64))
    for mark in (Mark(6, "f" * 64), Mark(7, "7" * 64), Mark(1, "f" * 64)):
        assert marks.advance(mark) == Mark(7, "7" * 64)
        assert marks.read() == Mark(7, "7" * 64)
    marks.advance(Mark(9, "9" * 64))
    assert marks.read() == Mark(9, "9" * 64)


def test_a_mark_of_the_same_number_and_another_hash_is_refused(tmp_path):
    """Two processes that each wrote event 7 wrote to two copies: one of them must hear of it."""
    marks = MarkFile(tmp_path / "mark", lock=tmp_path / "lock", patience=1)
    marks.replace(Mark(7, "7" * 64))
    with pytest.raises(LedgerDamaged, match="Event 7 was written twice"):
        marks.advance(Mark(7, "f" * 64))
    assert marks.read() == Mark(7, "7" * 64)


def test_a_mark_cut_short_anywhere_is_the_new_one_or_the_one_before(tmp_path):
    marks = MarkFile(tmp_path / "mark", lock=tmp_path / "lock", patience=1)
    old = Mark(0, ORIGIN)
    marks.replace(old)
    for seq in range(1, 5):
        before, new = marks.path.read_bytes(), Mark(seq, f"{seq:064x}")
        marks.advance(new)
        after = marks.path.read_bytes()
        for cut, (was, now) in enumerate(zip(before, after, strict=True)):
            if was != now:
                marks.path.write_bytes(after[:cut] + before[cut:])
                assert marks.read() == old
        marks.path.write_bytes(after)
        assert marks.read() == new
        old = new


@pytest.mark.parametrize("content", [None, b"", b"garbage", b"\x00" * 8192])
def test_a_lost_or_unreadable_mark_stops_everything_until_it_is_accepted(sound, tmp_path, content):
    path = copy_to(tmp_path / "now", sound)
    mark = path.with_name("ledger.db.mark")
    with Ledger.open(path) as running:
        if content is None:
            mark.unlink()
        else:
            mark.write_bytes(content)
        with pytest.raises(LedgerDamaged, match="accept_mark"):
            Ledger.open(path)
        with pytest.raises(LedgerDamaged, match="accept_mark"):
            charge(running, "q")
    accept_mark(path, reason="the disk with the mark died")
    with Ledger.open(path) as ledger:
        assert len(ledger.entries()) == 2
        charge(ledger, "q")
        ledger.verify()


def test_an_old_copy_can_be_accepted_on_purpose_and_the_record_says_so(sound, tmp_path):
    path = copy_to(tmp_path / "now", sound)
    with Ledger.open(path) as ledger:
        charge(ledger, "lost for good")
    shutil.copyfile(sound, path)
    accept_mark(path, reason="no newer backup")
    with Ledger.open(path) as ledger:
        assert [entry.request for entry in ledger.entries()] == ["q1", "q2"]
    sql = sqlite3.connect(path)
    body = sql.execute("SELECT body FROM event ORDER BY seq DESC").fetchone()[0]
    sql.close()
    assert "no newer backup" in body and '"mark":"at event' in body


def test_a_damaged_ledger_cannot_be_accepted(sound, tmp_path):
    path = copy_to(tmp_path / "now", sound)
    edit(path, "UPDATE event SET body = replace(body, '1/10', '1/99') WHERE seq = 5")
    with pytest.raises(LedgerDamaged, match="event 5"):
        accept_mark(path, reason="please")


def test_a_mark_kept_elsewhere_survives_a_restore_of_the_whole_directory(tmp_path):
    path, mark = tmp_path / "data" / "ledger.db", tmp_path / "other disk" / "mark"
    with Ledger.open(path, mark=mark) as ledger:
        ledger.declare("people", Budget(epsilon=1, delta="1e-9"))
    shutil.copytree(path.parent, tmp_path / "backup")
    with Ledger.open(path, mark=mark) as ledger:
        charge(ledger, "q")
    shutil.rmtree(path.parent)
    shutil.copytree(tmp_path / "backup", path.parent)
    with pytest.raises(LedgerDamaged, match="older copy"):
        Ledger.open(path, mark=mark)
    with pytest.raises(LedgerDamaged, match="no mark"):
        Ledger.open(path)


def test_verify_finds_damage_that_came_after_opening(sound, tmp_path):
    path = copy_to(tmp_path / "now", sound)
    with Ledger.open(path) as ledger:
        ledger.verify()
        edit(path, "UPDATE event SET body = replace(body, '1/10', '1/99') WHERE seq = 5")
        charge(ledger, "this process knows the true totals")
        assert ledger.spent("people").amount == Budget(epsilon="8/15").amount
        with pytest.raises(LedgerDamaged, match="event 5"):
            ledger.verify()
        with pytest.raises(LedgerDamaged, match="event 5"):
            charge(ledger, "and now it refuses")


def test_a_recorded_answer_that_was_altered_is_not_handed_out(sound, tmp_path):
    path = copy_to(tmp_path / "now", sound)
    with Ledger.open(path) as ledger:
        edit(path, "UPDATE event SET payload = x'00' WHERE payload IS NOT NULL")
        with pytest.raises(LedgerDamaged, match="answer"):
            ledger.recorded_answer("people", "q1")
