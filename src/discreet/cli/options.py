"""Options that several commands share, spelt and explained once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from discreet.privacy.budget import Budget
    from discreet.schema import CsvOptions

Function = TypeVar("Function", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
"""Above 0 and below 1."""


def defaulted(flag: str, kind: Any, default: Any, words: str) -> Callable[[Function], Function]:
    """An option whose help shows its default."""
    return click.option(flag, type=kind, default=default, show_default=True, help=words)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
schema_option = click.option(
    "--schema", "schema_path", type=FILE, required=True, help="The table's public facts, in TOML."
)
force_option = click.option("--force", is_flag=True, help="Overwrite the output file.")


def _ledger_place(context: click.Context, option: click.Parameter, given: str | None) -> Any:
    """A path, or a database's address as it was written: as a path it would lose a slash."""
    if given is None or given.startswith(("postgresql://", "postgres://")):
        return given
    return Path(given)


ledger_option = click.option(
    "--ledger",
    "ledger_path",
    metavar="PLACE",
    callback=_ledger_place,
    help="The ledger's file, or postgresql://host/db for several machines. Default: $DISCREET_LEDGER, else "
    "~/.local/state/discreet/ledger.db.",
)
adjacency_option = click.option(
    "--adjacency",
    type=click.Choice(["add-remove", "change-one"]),
    help="Which tables are neighbours. Default: as the dataset's cap says, else add-remove.",
)
yes_option = click.option(
    "--yes",
    is_flag=True,
    help="Confirm a cap above epsilon 100, which gives almost no protection.",
)
convert_option = click.option(
    "--convert-unit",
    is_flag=True,
    help="If the dataset's cap protects another unit than the schema does, pay the price that "
    "group privacy gives, where a theorem gives one.",
)
confidence_option = click.option(
    "--confidence",
    type=SHARE,
    default=0.95,
    show_default=True,
    help="How often an interval contains the true value, such as 0.95.",
)
workload_option = click.option(
    "--for",
    "classes",
    metavar="CLASS",
    multiple=True,
    help="What the release must be good for: 'histogram(a)', 'marginals(a, b)', 'marginals(2)', 'means(a)', "
    "'sums(a)', 'means(a by b)', 'sums(a by b, c)', 'intervals(a)', 'intervals(a by b)', 'quantiles(a)', "
    "'quantiles(a by b)', 'rectangles(a, b)', 'unions(a, 3)', 'halfspaces(a, b)', 'parities(2)', "
    "'predicates(\"a >= 65\")', 'keys(a)' of a column that is declared `undeclared = true` (needs --delta); repeatable. Add '* 3' to give a class three times the weight.",
)


algorithm_option = click.option(
    "--algorithm",
    "algorithms",
    metavar="CLASS=NAME",
    multiple=True,
    help="Release a class by an algorithm other than the preferred one, such as "
    "'intervals(age)=noisy-search'; repeatable.",
)


def algorithms_of(typed: tuple[str, ...]) -> dict[str, str]:
    """The algorithms that were named, by the text of their class."""
    from discreet.queries.classes import parse_class

    found = {}
    for each in typed:
        query_class, equals, name = each.rpartition("=")
        if not equals or not name.strip():
            raise click.UsageError(
                f"--algorithm {each!r}: write CLASS=NAME, as in 'intervals(age)=noisy-search'."
            )
        found[parse_class(query_class).text] = name.strip()
    return found


@dataclass(frozen=True, slots=True)
class TypedBudget:
    """A budget as it was typed: exact, so 0.1 is one tenth."""

    epsilon: str | None
    delta: str
    rho: str | None
    mu: str | None

    @property
    def is_given(self) -> bool:
        return any(each is not None for each in (self.epsilon, self.rho, self.mu))

    def budget(self) -> Budget:
        """Its own error says what is wrong with it."""
        return budget_of(self.epsilon, self.delta, rho=self.rho, mu=self.mu)


def budget_options(function: Callable[..., None]) -> Callable[..., None]:
    """`--epsilon`, `--delta`, `--rho` and `--mu`, handed on as one value, `typed`."""

    @wraps(function)
    def command(
        *args: Any, epsilon: str | None, delta: str, rho: str | None, mu: str | None, **rest: Any
    ) -> None:
        function(*args, typed=TypedBudget(epsilon, delta, rho, mu), **rest)

    for option in (
        click.option(
            "--mu",
            metavar="NUMBER",
            help="The budget under Gaussian differential privacy, instead of epsilon.",
        ),
        click.option("--rho", metavar="NUMBER", help="The budget under zCDP, instead of epsilon."),
        click.option(
            "--delta",
            metavar="NUMBER",
            default="0",
            show_default=True,
            help="The probability with which the guarantee may fail, such as 1e-9. It allows Gaussian noise.",
        ),
        click.option("--epsilon", metavar="NUMBER", help="The budget in all, such as 1 or 1/2."),
    ):
        command = option(command)
    return command


def budget_of(epsilon: str | None, delta: str, **others: str | None) -> Budget:
    from discreet.privacy.budget import Budget

    return Budget(epsilon=epsilon, delta=delta, **others)


_CSV_OPTIONS = {
    "delimiter": ("CHARACTER", "The delimiter of a CSV file. Default: a comma."),
    "names": ("NAMES", "Every column of a CSV file without a header, in order, with commas."),
    "encoding": ("NAME", "The encoding of a CSV file, such as cp1252. Default: utf-8."),
    "decimal": ("CHARACTER", "The decimal mark of a CSV file's numbers, if not a point: ','."),
    "thousands": (
        "CHARACTER",
        "What stands between groups of three digits in a CSV file's numbers, as in 1.234,5.",
    ),
}
"""The metavar and the help of each option."""


def csv_options(*flags: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The named options of how a CSV file is written, handed on as one value, `csv`; None where nothing was said."""

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def command(*args: Any, **given: Any) -> None:
            said = {flag: given.pop(flag) for flag in flags}
            function(*args, csv=_csv_of(**said), **given)

        for flag in reversed(flags):
            metavar, words = _CSV_OPTIONS[flag]
            command = click.option(f"--{flag}", metavar=metavar, help=words)(command)
        return command

    return decorated


def _csv_of(**said: str | None) -> CsvOptions | None:
    import csv

    from discreet.schema import CsvOptions

    typed: dict[str, Any] = {flag: text for flag, text in said.items() if text is not None}
    if not typed:
        return None
    if "delimiter" in typed:
        typed["delimiter"] = typed["delimiter"].replace("\\t", "\t")
    if "names" in typed:
        listed = next(csv.reader([typed["names"]], skipinitialspace=True), [])
        typed |= {"header": False, "names": tuple(listed)}
    return CsvOptions(**typed)


def check_cap(cap: Any, *, yes: bool) -> None:
    """Warn of a large cap, and refuse a huge one without `--yes`; None, where no cap is set, is silent."""
    from discreet.errors import BadBudget
    from discreet.privacy.guidance import cap_warning, is_huge

    said = None if cap is None else cap_warning(cap)
    if said is None:
        return
    if is_huge(cap) and not yes:
        raise BadBudget(f"{said} Nothing was read or charged. To go ahead, add --yes.")
    click.echo(f"Warning: {said}", err=True)


def workload_of(classes: tuple[str, ...]) -> Any:
    """The query classes that were typed."""
    from discreet.queries.classes import parse_class

    if not classes:
        raise click.UsageError(
            "Say what it must be good for: --for 'marginals(2)', --for 'histogram(age)', ..."
        )
    return [parse_class(text) for text in classes]
