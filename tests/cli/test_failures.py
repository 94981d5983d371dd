"""What a failed command says, and with which exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import click
import pytest

from discreet.cli.application import application
from discreet.cli.failures import run, wants_json
from discreet.errors import BadInput

SECRET = "Ada Lovelace, 36"


def application_that(does: Callable[[], Any]) -> click.Group:
    @click.group()
    def application() -> None: ...

    @application.command()
    @click.option("--json", "as_json", is_flag=True)
    def go(as_json: bool) -> Any:
        return does()

    return application


def raising(error: BaseException) -> Callable[[], None]:
    def does() -> None:
        raise error

    return does


def test_bad_input_is_one_sentence_on_standard_error_and_exit_code_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = run(application_that(raising(BadInput("The age is missing."))), ["go"])
    printed = capsys.readouterr()
    assert (code, printed.out, printed.err) == (2, "", "The age is missing.\n")


def test_an_unexpected_exception_shows_its_kind_and_never_its_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)
    code = run(application_that(raising(KeyError(SECRET))), ["go"])
    printed = capsys.readouterr()
    assert code == 70
    assert "Internal error (KeyError)" in printed.err
    assert (
        "the charge" in printed.err.lower() or "a charge already made stands" in printed.err.lower()
    )
    assert SECRET not in printed.out + printed.err
    assert "Traceback" not in printed.err


def test_debugging_shows_the_traceback_to_the_custodian_who_asks_for_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCREET_DEBUG", "1")
    assert run(application_that(raising(KeyError(SECRET))), ["go"]) == 70
    assert SECRET in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (BadInput("Ünïcode, no."), 2, "BadInput"),
        (RuntimeError(SECRET), 70, "InternalError"),
        (KeyboardInterrupt(), 130, "Interrupted"),
        (FileNotFoundError(2, "No such file", "x"), 2, "OSError"),
        (click.UsageError("no"), 2, "UsageError"),
    ],
)
def test_with_json_an_error_is_json_too(
    error: BaseException, code: int, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(application_that(raising(error)), ["go", "--json"]) == code
    printed = json.loads(capsys.readouterr().err)
    assert printed["error"]["kind"] == kind
    assert printed["error"]["exit_code"] == code
    assert SECRET not in printed["error"]["message"]


def test_an_interruption_says_that_the_charge_stands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(application_that(raising(KeyboardInterrupt())), ["go"]) == 130
    assert "No file was half-written" in capsys.readouterr().err


def test_a_reader_that_went_away_is_no_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # put back what `run` replaces
    try:
        code = run(application_that(raising(BrokenPipeError(32, "Broken pipe"))), ["go"])
    except SystemExit as exit_:  # click ends such a run by itself
        code = int(exit_.code or 0)
    assert code in (0, 1)
    assert capsys.readouterr().err == ""


def test_json_is_wanted_only_before_a_double_dash() -> None:
    assert wants_json(["ask", "--json"])
    assert not wants_json(["ask", "--", "--json"])


@pytest.mark.parametrize(
    ("command", "charges"), [("report", False), ("synthesize", False), ("release", True)]
)
def test_an_interruption_speaks_of_charges_only_where_there_may_be_one(
    command: str, charges: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(application, "main", interrupted)
    assert run(application, [command, "x"]) == 130
    said = capfd.readouterr().err
    assert "No file was half-written" in said
    assert ("charge" in said) is charges
