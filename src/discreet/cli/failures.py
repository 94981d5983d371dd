"""The message of a failed command, and its exit code.

    0    done
    1    a check was made and failed (`verify`, `ledger verify`, `audit`)
    2    bad input, or refused by a guarantee: one clear sentence, nothing half-done
    70   a fault in discreet: its kind is named, its text is not shown
    130  interrupted

An unexpected exception may hold a row's value in its text or its traceback, so neither is
printed. DISCREET_DEBUG=1 prints both: for the custodian's own eyes, never in production.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import traceback
import warnings
from collections.abc import Sequence

import click

from discreet.cli.output import visible
from discreet.errors import DiscreetError, LargeCap

DONE, CHECK_FAILED, BAD_INPUT, INTERNAL, INTERRUPTED = 0, 1, 2, 70, 130
DEBUG_VARIABLE = "DISCREET_DEBUG"

INTERRUPTED_TEXT = "Interrupted. No file was half-written."
CHARGE_STANDS = " A charge already made stands: see `discreet ledger show`."
CHARGING = ("release", "curator", "demo")
"""Commands that may have charged a ledger when they are interrupted."""


_REMEDIES = {
    errno.ENOSPC: " Make room, or write to another disk.",
    errno.EDQUOT: " Make room, or write to another disk.",
    errno.EROFS: " Name a file in another folder.",
}


class CheckFailed(click.ClickException):
    """A check was made, and failed; its findings are already printed."""

    exit_code = CHECK_FAILED


def wants_json(words: Sequence[str]) -> bool:
    """Whether `--json` is among the options, also where they cannot be parsed."""
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


def run(application: click.Group, words: Sequence[str]) -> int:
    """Run one command line, and turn whatever it raises into a sentence and an exit code."""
    as_json = wants_json(words)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LargeCap)  # the commands say it themselves, in a line
            outcome = application.main(
                args=list(words),
                prog_name="discreet",
                standalone_mode=False,
                windows_expand_args=False,
            )
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (click.Abort, KeyboardInterrupt):
        charging = any(word in CHARGING for word in words[:1])
        text = INTERRUPTED_TEXT + (CHARGE_STANDS if charging else "")
        return _say("Interrupted", text, INTERRUPTED, as_json)
    except click.ClickException as error:
        return _say(type(error).__name__, _usage_text(error, as_json), error.exit_code, as_json)
    except DiscreetError as error:
        _debug()
        return _say(type(error).__name__, str(error), BAD_INPUT, as_json)
    except BrokenPipeError:
        return _silenced()
    except OSError as error:
        _debug()
        return _say("OSError", _file_text(error), BAD_INPUT, as_json)
    except Exception as error:
        _debug()
        text = (
            f"Internal error ({type(error).__name__}): a fault in discreet, not in what you asked. "
            "Its text is not shown, because it may hold a row's value. A charge already made stands: "
            f"see `discreet ledger show`. {DEBUG_VARIABLE}=1 shows all, to the custodian only."
        )
        return _say("InternalError", text, INTERNAL, as_json)
    return outcome if isinstance(outcome, int) else DONE


def _say(kind: str, text: str, code: int, as_json: bool) -> int:
    if as_json:
        text = json.dumps(
            {"error": {"kind": kind, "message": text, "exit_code": code}}, ensure_ascii=False
        )
    try:
        click.echo(text if as_json else visible(text), err=True)
    except BrokenPipeError:
        return _silenced()
    return code


def _usage_text(error: click.ClickException, as_json: bool) -> str:
    text = error.format_message()
    if isinstance(error, click.UsageError) and error.ctx is not None and not as_json:
        text += f"\nSee `{error.ctx.command_path} --help`."
    return text


def _file_text(error: OSError) -> str:
    """A file that cannot be read or written: its name was typed by the user, so it may be shown."""
    name = f"{error.filename}: " if error.filename else ""
    remedy = _REMEDIES.get(error.errno or 0, "")
    return f"{name}{error.strerror or type(error).__name__}.{remedy}"


def _silenced() -> int:
    """The reader of our output went away (`| head`): say nothing, now and when Python exits."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - it must outlive this function
    return CHECK_FAILED


def _debug() -> None:
    if os.environ.get(DEBUG_VARIABLE) == "1":
        traceback.print_exc()
