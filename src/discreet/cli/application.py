"""The `discreet` command: the table of its commands, and how each is loaded when it is needed."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from discreet import __version__
from discreet.cli.failures import run
from discreet.errors import did_you_mean

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "Publish a bundled table and ask it three questions."),
    "schema": ("schema", "Declare the public facts about a table."),
    "plan": ("plan", "Show the expected errors, before any row is read."),
    "release": ("release", "Publish a table once, under a privacy budget."),
    "show": ("reading.showing:show", "Show what a release holds, with questions that it answers."),
    "ask": ("reading.ask", "Ask a release a question in SQL: free, any number of times."),
    "synthesize": ("reading.showing:synthesize", "Draw synthetic rows from a release."),
    "compare": ("reading.verify:compare", "Compare a release with the true table. NOT PRIVATE."),
    "curator": ("curator", "Ask a table live questions, each charged to the ledger."),
    "serve": ("service.serving", "Serve live questions and releases over HTTP, with a web page."),
    "report": ("reading.showing:report", "Write a release's report: one HTML file."),
    "verify": (
        "reading.verify:verify",
        "Recompute a release's cost and estimates, and check its signature.",
    ),
    "key": ("key", "Make a key to sign releases with."),
    "audit": ("auditing", "Audit a mechanism or a whole release: is the promised epsilon kept?"),
    "explain": ("disclosure.explain", "Explain what an epsilon means to one person."),
    "attack": ("disclosure.attack", "Attack publications, before and after protection."),
    "theory": ("theory.group", "Compute sample sizes, bounds and separations from the theory."),
    "anonymity": (
        "disclosure.anonymity",
        "Make and check k-anonymous tables: baselines only. NOT PRIVATE.",
    ),
    "local": ("disclosure.local", "Ask people in the local model: every person adds noise alone."),
    "ledger": ("ledger", "Show or check what datasets have spent."),
    "completion": ("completion", "Print a completion script for your shell."),
    "version": ("version", "Print the version."),
}
"""Name -> module in this package (with its `command`, or `module:name`), and the line that `--help` shows."""

EPILOG = """\b
A first walk:
  discreet demo; cd demo-output
  discreet schema draft people.csv
  discreet plan people.toml --epsilon 1 --for 'marginals(age, sex)'
  discreet release people.csv --schema people.toml --epsilon 1 --for 'marginals(age, sex)' -o mine.release
  discreet ask mine.release "SELECT count(*) FROM people WHERE age >= 65"
"""


class LazyGroup(click.Group):
    """Lists its commands from the table, and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        found = importlib.import_module(f"discreet.cli.commands.{module}")
        command: click.Command = getattr(found, name or "command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            # click asks every command for its name to suggest one, which would import them all
            near = did_you_mean(args[0], COMMANDS) or f" Commands: {', '.join(COMMANDS)}."
            raise click.UsageError(f"No such command {args[0]!r}.{near}", ctx) from error


@click.group(
    cls=LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="discreet %(version)s")
def application() -> None:
    """Publish a sensitive table once, under differential privacy. Answer any number of questions from
    the release, each with an honest error bound.

    A command prints help with examples: `discreet release --help`.
    """


@application.command("help", hidden=True)
@click.pass_context
def _help(ctx: click.Context) -> None:
    """`discreet help` is what people type first."""
    click.echo(application.get_help(ctx.find_root()))


def main(arguments: list[str] | None = None) -> Any:
    """The entry point; ends the process with an exit code of `failures`."""
    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(run(application, words))
