"""The service's commands, its settings, and a backup that is put back."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.ledger.upkeep.repair import accept_mark
from discreet.service.accounts import SqliteAccounts
from discreet.service.datasets import Question
from discreet.service.house import open_house
from discreet.service.keeping import back_up, put_back
from discreet.service.settings import load_settings
from tests.service.running import COUNT, SCHEMA, make_table


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a settings file goes, beside a table and its schema."""
    make_table(tmp_path)
    (tmp_path / "people.toml").write_text(SCHEMA)
    return tmp_path / "curator.toml"


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    code = run(application, ["curator", *map(str, words)])
    printed = capsys.readouterr()
    return code, printed.out + (printed.err if code else "")


def begun(capsys: pytest.CaptureFixture[str], place: Path) -> str:
    code, printed = command(
        capsys, "init", place, "--table", "people.csv", "--schema", "people.toml"
    )
    assert code == 0
    return printed.strip()


def ask(place: Path, who: str, number: int) -> None:
    """A live question, as the service asks it."""
    house = open_house(load_settings(place))
    asked = Question(sql=COUNT.format(number), budget=dc.Budget(epsilon="0.1"))
    house.datasets["people"].ask(who, asked)
    house.close()


def test_a_service_is_set_up_filled_watched_and_emptied(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    custodian = begun(capsys, place)
    code, token = command(capsys, "add-analyst", place, "ann", "--epsilon", "0.5")
    assert code == 0
    assert command(capsys, "add-analyst", place, "rita", "--role", "reviewer")[0] == 0
    ask(place, "ann", 1)
    assert command(capsys, "budget", place, "ann", "--epsilon", "0.75", "--reason", "more")[0] == 0
    code, printed = command(capsys, "status", place, "--json")
    status = json.loads(printed)
    assert status["datasets"] == {"people": {"spent": "epsilon 0.1", "cap": "epsilon 10"}}
    (ann,) = [each for each in status["accounts"] if each["name"] == "ann"]
    assert ann["budgets"] == {"people": {"spent": "epsilon 0.1", "cap": "epsilon 0.75"}}
    assert "people" in command(capsys, "status", place)[1]
    store = SqliteAccounts(load_settings(place).accounts)
    people = [store.by_token(each.strip()) for each in (custodian, token)]
    assert [None if each is None else each.name for each in people] == ["custodian", "ann"]
    assert command(capsys, "revoke", place, "ann", "--token", ann["tokens"][0])[0] == 0
    assert store.by_token(token.strip()) is None
    assert command(capsys, "revoke", place, "ann")[0] == 0
    store.close()
    with Ledger.open(load_settings(place).ledger) as ledger:
        (raised,) = [each for each in ledger.changes() if each.reason == "more"]
        assert str(raised.cap) == "epsilon 0.75"


def test_a_source_is_a_path_beside_the_settings_or_an_address(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    begun(capsys, place)
    text = place.read_text()
    (before,) = re.findall(r'^source = "(.*)"$', text, re.MULTILINE)
    for source, read in (
        ("postgresql://host/db#public.people", "postgresql://host/db#public.people"),
        ("spark:clinic.people", "spark:clinic.people"),
        ("people.duckdb::people", str(place.parent / "people.duckdb::people")),
        ("people::people", str(place.parent / "people::people")),
    ):
        place.write_text(text.replace(f'source = "{before}"', f'source = "{source}"'))
        (dataset,) = load_settings(place).datasets
        assert dataset.source == read


def test_more_for_one_analyst_than_for_all_together_is_said(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    begun(capsys, place)
    assert run(application, ["curator", "add-analyst", str(place), "ann", "--epsilon", "0.1"]) == 0
    assert "Warning" not in capsys.readouterr().err
    assert run(application, ["curator", "add-analyst", str(place), "ben", "--epsilon", "5000"]) == 0
    assert "for all analysts together is" in capsys.readouterr().err


def test_commands_refuse_in_one_sentence_and_change_nothing(
    capsys: pytest.CaptureFixture[str], place: Path
) -> None:
    begun(capsys, place)
    for words, said in (
        (("init", place), "exists"),
        (("add-analyst", place, "a b"), "letters"),
        (("add-analyst", place, "custodian"), "already"),
        (("add-analyst", place, "dan", "--days", "0"), "1 to 3650 days"),
        (("add-analyst", place, "eli", "--epsilon", "1", "--dataset", "x"), "--dataset"),
        (("budget", place, "nobody", "--epsilon", "1"), "no active analyst"),
        (("revoke", place, "nobody"), "no account"),
        (
            ("init", place.parent / "b.toml", "--table", "people.csv", "--schema", "no.toml"),
            "There is no schema",
        ),
        (
            ("init", place.parent / "b.toml", "--table", "no.csv", "--schema", "people.toml"),
            "There is no table",
        ),
        (("status", place.parent / "none.toml"), "cannot be read"),
        (("restore", place, place.parent), "no backup"),
        (("backup", place, "-o", place.parent), "exists"),
    ):
        code, printed = command(capsys, *words)
        assert code == 2 and said in printed, (words, printed)
    assert not Path(load_settings(place).ledger).exists()


def test_a_backup_is_put_back_and_an_old_one_is_refused_until_somebody_answers_for_it(
    capsys: pytest.CaptureFixture[str], place: Path, tmp_path: Path
) -> None:
    begun(capsys, place)
    command(capsys, "add-analyst", place, "ann", "--epsilon", "1")
    ask(place, "ann", 1)
    code, printed = command(capsys, "backup", place, "-o", tmp_path / "one")
    assert code == 0 and "1 charge," in printed
    assert not list((tmp_path / "one").glob("*.mark"))
    assert command(capsys, "restore", place, tmp_path / "one")[0] == 0  # nothing happened since
    ask(place, "ann", 1)  # from the record: the backup holds answers too
    ask(place, "ann", 2)
    settings = load_settings(place)
    code, printed = command(capsys, "restore", place, tmp_path / "one")
    assert code == 2 and "an older copy was put back" in printed
    with pytest.raises(LedgerError):
        ask(place, "ann", 3)
    accept_mark(settings.ledger, reason="the disk is lost")
    ask(place, "ann", 3)
    with Ledger.open(settings.ledger) as ledger:
        assert len(ledger.entries("people")) == 2


def test_a_backup_on_a_new_machine_needs_a_decision_about_the_mark(
    capsys: pytest.CaptureFixture[str], place: Path, tmp_path: Path
) -> None:
    begun(capsys, place)
    command(capsys, "add-analyst", place, "ann", "--epsilon", "1")
    ask(place, "ann", 1)
    back_up(place, tmp_path / "one")
    shutil.rmtree(load_settings(place).folder)
    with pytest.raises(LedgerError, match="no mark"):
        put_back(load_settings(place), tmp_path / "one")
    accept_mark(load_settings(place).ledger, reason="new machine, newest backup")
    ask(place, "ann", 1)
    with Ledger.open(load_settings(place).ledger) as ledger:
        assert str(ledger.spent("people")) == "epsilon 0.1"


def test_a_backup_while_the_ledger_is_charged_is_whole(
    capsys: pytest.CaptureFixture[str], place: Path, tmp_path: Path
) -> None:
    begun(capsys, place)
    command(capsys, "add-analyst", place, "ann", "--epsilon", "3")
    house = open_house(load_settings(place))
    for at in range(3):
        asked = Question(sql=COUNT.format(at), budget=dc.Budget(epsilon="0.1"))
        house.datasets["people"].ask("ann", asked)
        back_up(place, tmp_path / f"copy{at}")
    house.close()
    for at in range(3):
        copy = tmp_path / f"copy{at}" / "ledger.db"
        accept_mark(copy, reason="looking into a copy")
        with Ledger.open(copy) as ledger:
            ledger.verify()
            assert len(ledger.entries("people")) == at + 1


def test_every_mistake_in_the_settings_is_named_at_once(place: Path) -> None:
    place.write_text(
        '[service]\nprot = 1\nhttps = "yes"\n[limits]\nquantum_ms = -1\n[[dataset]]\nsource = "x"\n[datasets]\n'
    )
    with pytest.raises(dc.BadInput) as refused:
        load_settings(place)
    said = str(refused.value)
    for word in (
        "'prot'. Did you mean 'port'",
        "https",
        "quantum_ms",
        "schema is missing",
        "'datasets'",
    ):
        assert word in said, said


def test_two_datasets_of_one_name_and_missing_releases_stop_the_start(place: Path) -> None:
    twice = '[[dataset]]\nsource = "people.csv"\nschema = "people.toml"\n' * 2
    place.write_text(twice)
    with pytest.raises(dc.BadInput, match="one cap"):
        open_house(load_settings(place))
    place.write_text('[[release]]\nfile = "none.release"\n')
    with pytest.raises(dc.BadInput, match="no release file"):
        open_house(load_settings(place))
