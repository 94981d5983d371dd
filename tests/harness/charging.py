"""Does one cap hold for those whom it protects, whatever schemas are charged to it?

Charges under different units, adjacencies and notions are made to one dataset name, in fixed and in
random order. Then the loss of the worst unit is computed here, from the definition, and compared with the
cap. Nothing of the ledger's own rule is used: not its table of steps, not its group privacy.

The worst loss. Tables of at most four rows over two people and two households are listed. Two tables are
neighbours of a kind if one step of that kind leads from one to the other, and the distance of two tables is
the shortest such path. For each pair of the cap's neighbours, a charge that bounds what one step loses may
lose, at distance d:

    epsilon          d epsilon             attained by Laplace noise on the distance to one of the tables
    rho              d^2 rho               attained by Gaussian noise on that distance
    epsilon, delta   d epsilon, and delta (1 + e^epsilon + ... + e^((d-1) epsilon)), attained by a flag that is
                     raised with that probability at distance d from a table where it never is

and anything at all where no path exists. A loss that grows with the size of the tables shows at four rows.

    python -m tests.harness.charging --sequences 2000
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from discreet.core.vault import Vault
from discreet.curator import Curator, learn_schema
from discreet.errors import BadInput, Refused
from discreet.families.shared.estimate.public_random import generator
from discreet.ledger import Ledger
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.cost import Accounting
from discreet.privacy.protection import Protected
from discreet.queries.classes import parse_class
from discreet.releases import release
from discreet.schema import IntegerColumn, Schema
from tests.harness.progress import Progress

if TYPE_CHECKING:
    from numpy.random import Generator

IDENTIFIERS = ("person", "household")
ROWS = tuple(product("ab", "xy"))
"""Every row: whose it is, and of which household."""
MOST_ROWS = 4
UNBOUNDED = Decimal("Infinity")

Row = tuple[str, str]
Table = tuple[Row, ...]
"""Sorted: a table is a collection without order."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of neighbours: of rows (`column` None) or of the values of a column; one comes or goes, or is replaced."""

    replaces: bool
    column: int | None = None

    @property
    def protects(self) -> Protected:
        """As the product says it."""
        adjacency = Adjacency.CHANGE_ONE if self.replaces else Adjacency.ADD_REMOVE
        if self.column is None:
            return Protected(adjacency)
        return Protected(adjacency, IDENTIFIERS[self.column], 2)


KINDS = tuple(Kind(replaces, column) for column in (None, 0, 1) for replaces in (False, True))


def _tables() -> tuple[Table, ...]:
    return tuple(
        rows for size in range(MOST_ROWS + 1) for rows in combinations_with_replacement(ROWS, size)
    )


def _with(table: Table, rows: Sequence[Row]) -> Table:
    return tuple(sorted((*table, *rows)))


def _groups(column: int, value: str, room: int) -> Iterator[Table]:
    """Every way to have between one and `room` rows of a value."""
    own = [row for row in ROWS if row[column] == value]
    for size in range(1, room + 1):
        yield from combinations_with_replacement(own, size)


def neighbours(table: Table, kind: Kind) -> set[Table]:
    """The tables one step away, by the definition of the kind."""
    room = MOST_ROWS - len(table)
    found: set[Table] = set()
    if kind.column is None:
        less = [table[:place] + table[place + 1 :] for place in range(len(table))]
        if kind.replaces:
            found.update(_with(rest, [row]) for rest in less for row in ROWS)
        else:
            found.update(less)
            found.update(_with(table, [row]) for row in ROWS if room)
        return found - {table}
    column = kind.column
    present = {row[column] for row in table}
    every = sorted({row[column] for row in ROWS})
    for value in present:
        rest = tuple(row for row in table if row[column] != value)
        if not kind.replaces:
            found.add(rest)
            continue
        for other in every:
            if other == value or other not in present:
                for rows in _groups(column, other, MOST_ROWS - len(rest)):
                    found.add(_with(rest, rows))
    if not kind.replaces:
        for value in every:
            if value not in present:
                found.update(_with(table, rows) for rows in _groups(column, value, room))
    return found - {table}


@cache
def _distances(kind: Kind) -> dict[tuple[Table, Table], int]:
    """The distance of every two tables that steps of the kind connect."""
    steps = {table: neighbours(table, kind) for table in _tables()}
    found: dict[tuple[Table, Table], int] = {}
    for start in steps:
        reached, frontier, far = {start}, {start}, 0
        while frontier:
            found.update(((start, table), far) for table in frontier)
            frontier = {near for table in frontier for near in steps[table]} - reached
            reached |= frontier
            far += 1
    return found


@cache
def distances_of_neighbours(cap: Kind) -> frozenset[tuple[int | None, ...]]:
    """For each pair of the cap's neighbours, how far apart it is in steps of each of `KINDS`."""
    return frozenset(
        tuple(_distances(kind).get((table, other)) for kind in KINDS)
        for table in _tables()
        for other in neighbours(table, cap)
    )


@dataclass(frozen=True, slots=True)
class Charge:
    """What was granted, as whoever asked knows it."""

    kind: Kind
    budget: Budget
    analyst: str | None = None


Lost = tuple[Decimal, Decimal]
"""Epsilon, rho or the square of mu, and delta."""


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def lost(budget: Budget, distance: int | None, notion: Notion) -> Lost:
    """The most that a charge can lose on tables `distance` steps of its kind apart."""
    if distance == 0:
        return Decimal(0), Decimal(0)
    if distance is None:
        return UNBOUNDED, Decimal(1)
    amount, delta = _decimal(budget.amount), _decimal(budget.delta)
    if notion is Notion.MU and budget.notion is Notion.EPSILON:
        return _in_mu(budget, distance), Decimal(0)
    if budget.notion is Notion.EPSILON:
        grown = sum(((amount * step).exp() for step in range(distance)), Decimal(0))
        if notion is Notion.RHO:  # a pure epsilon, the only one that a cap in rho takes
            return (distance * amount) ** 2 / 2, delta * grown
        return distance * amount, delta * grown
    if delta and distance > 1:
        return UNBOUNDED, Decimal(1)  # no theorem bounds it
    return distance * distance * amount, delta


def _in_mu(budget: Budget, distance: int) -> Decimal:
    """The square of mu, by floats, a hair below: of anything pure, or of Gaussian noise for an (epsilon, delta)."""
    normal, epsilon = NormalDist(), float(budget.epsilon)
    if budget.delta == 0:
        mu = 2 * normal.inv_cdf(1 / (1 + math.exp(-distance * epsilon)))
        return Decimal(mu * mu * (1 - 1e-9))
    low, high = 0.0, 100.0
    for _ in range(100):
        mu = (low + high) / 2
        beyond = math.exp(epsilon) * normal.cdf(-epsilon / mu - mu / 2)
        if normal.cdf(-epsilon / mu + mu / 2) - beyond <= float(budget.delta):
            low = mu
        else:
            high = mu
    return Decimal((distance * low) ** 2 * (1 - 1e-6))


def worst_loss(charges: Sequence[Charge], cap: Kind, notion: Notion) -> list[Lost]:
    """What each pair of the cap's neighbours loses by all charges, where no other pair loses more of both."""
    totals: set[Lost] = set()
    with localcontext() as context:
        context.prec = 60
        for apart in distances_of_neighbours(cap):
            parts = [
                lost(charge.budget, apart[KINDS.index(charge.kind)], notion) for charge in charges
            ]
            totals.add(
                (
                    sum((part[0] for part in parts), Decimal(0)),
                    sum((part[1] for part in parts), Decimal(0)),
                )
            )
    return [
        one
        for one in totals
        if not any(other != one and other[0] >= one[0] and other[1] >= one[1] for other in totals)
    ]


@dataclass(frozen=True, slots=True)
class Overspent:
    """A cap that did not hold."""

    what: str
    cap: Budget
    protects: Protected
    lost: Lost
    charges: tuple[Charge, ...]

    def __str__(self) -> str:
        granted = "; ".join(f"{one.budget} for {one.kind.protects}" for one in self.charges)
        return (
            f"{self.what}: the cap is {self.cap} for {self.protects}, and they may lose {self.lost[0]:.6g} "
            f"with delta {self.lost[1]:.3g}. Granted: {granted}."
        )


def overspent(what: str, cap: Budget, kind: Kind, charges: Sequence[Charge]) -> Overspent | None:
    """The worst loss, if it passes the cap; exact but for 60 digits, on the side of no alarm."""
    room = Decimal(1) + Decimal(10) ** -50
    for amount, delta in worst_loss(charges, kind, cap.notion):
        if amount > _decimal(cap.amount) * room or delta > _decimal(cap.delta) * room:
            return Overspent(what, cap, kind.protects, (amount, delta), tuple(charges))
    return None


@dataclass(frozen=True, slots=True)
class Asked:
    """One charge that is asked for, by any of the doors."""

    dataset: str
    kind: Kind
    budget: Budget
    request: str
    analyst: str | None = None

    @property
    def schema(self) -> Schema:
        protects = self.kind.protects
        return Schema(
            dataset=self.dataset,
            columns=(IntegerColumn("age", 0, 9),),
            adjacency=protects.adjacency,
            unit=protects.unit,
        )


Door = Callable[[Ledger, Asked], object]
"""Makes the charge, and raises if it is refused. Every door asks for the conversion, where one is proved."""


def by_ledger(ledger: Ledger, asked: Asked) -> object:
    return ledger.charge(
        asked.dataset,
        asked.budget,
        purpose="audit",
        request=asked.request,
        protects=asked.kind.protects,
        analyst=asked.analyst,
        convert_unit=True,
    )


def by_vault(ledger: Ledger, asked: Asked) -> object:
    accounting = {
        Notion.EPSILON: Accounting.BASIC,
        Notion.RHO: Accounting.CONCENTRATED,
        Notion.MU: Accounting.GAUSSIAN,
    }
    nothing_to_read: Any = None
    return Vault(nothing_to_read, asked.schema, ledger, convert_unit=True).charge(
        asked.budget,
        purpose="audit",
        request=asked.request,
        analyst=asked.analyst,
        accounting=accounting[asked.budget.notion],
    )


NAMELESS = ("by_release", "by_learning")
"""A release and a learnt schema are charged to no analyst."""
DIRECT: tuple[Door, ...] = (by_ledger, by_vault)


def public_doors(folder: Path) -> tuple[Door, ...]:
    """The ways to spend that the public API has: a release, a live question, an alert, a learnt schema."""
    source = folder / "people.csv"
    lines = [f"{person},{household},{age}" for age, (person, household) in enumerate(ROWS)]
    source.write_text("\n".join(["person,household,age", *lines]) + "\n", encoding="utf-8")

    def curator(ledger: Ledger, asked: Asked) -> Curator:
        return Curator(
            source,
            asked.schema,
            ledger=ledger,
            analyst=asked.analyst,
            data_version=asked.request,
            convert_unit=True,
        )

    def by_release(ledger: Ledger, asked: Asked) -> object:
        workload = [parse_class("histogram(age)")]
        return release(
            source,
            asked.schema,
            budget=asked.budget,
            workload=workload,
            ledger=ledger,
            convert_unit=True,
        )

    def by_question(ledger: Ledger, asked: Asked) -> object:
        with curator(ledger, asked) as opened:
            return opened.ask("SELECT count(*) FROM people", budget=asked.budget)

    def by_alert(ledger: Ledger, asked: Asked) -> object:
        with curator(ledger, asked) as opened:
            return opened.alert(10, budget=asked.budget)

    def by_learning(ledger: Ledger, asked: Asked) -> object:
        return learn_schema(
            source,
            dataset=asked.dataset,
            columns=["age"],
            budget=asked.budget,
            ledger=ledger,
            adjacency=asked.kind.protects.adjacency,
            unit=asked.kind.protects.unit,
            convert_unit=True,
        )

    return by_release, by_question, by_alert, by_learning


@dataclass(slots=True)
class Report:
    """What was tried, and every cap that did not hold."""

    progress: Progress | None = None

    sequences: int = 0
    attempts: int = 0
    granted: int = 0
    found: list[Overspent] = field(default_factory=list)

    @property
    def text(self) -> str:
        lines = [
            *map(str, self.found),
            f"{self.sequences:,} sequences, {self.attempts:,} charges asked for, {self.granted:,} granted, "
            f"{len(self.found)} caps that did not hold.",
        ]
        return "\n".join(lines)


class Spending:
    """Charges to one dataset, known here by what was asked and granted alone."""

    def __init__(self, ledger: Ledger, name: str, cap: Budget, kind: Kind | None = None) -> None:
        """With `kind` the cap is declared to protect it; else the first charge that is granted says whom."""
        self._ledger, self._name, self._cap, self._kind = ledger, name, cap, kind
        self._analyst_caps: dict[str, Budget] = {}
        self._granted: list[Charge] = []
        self.attempts = 0
        ledger.declare(name, cap, protects=None if kind is None else kind.protects)

    def cap_analyst(self, analyst: str, cap: Budget) -> None:
        self._ledger.declare_analyst_cap(self._name, analyst, cap)
        self._analyst_caps[analyst] = cap

    def ask(self, door: Door, kind: Kind, budget: Budget, analyst: str | None = None) -> bool:
        """Whether the charge was granted."""
        self.attempts += 1
        request = f"{self._name} {self.attempts}"
        by_name = None if door.__name__ in NAMELESS else analyst
        try:
            door(self._ledger, Asked(self._name, kind, budget, request, by_name))
        except (Refused, BadInput):
            return False
        self._kind = self._kind or kind
        self._granted.append(Charge(kind, budget, by_name))
        return True

    def settle(self, report: Report) -> None:
        """Add what was found to the report."""
        report.sequences += 1
        if report.progress is not None:
            report.progress.advance()
        report.attempts += self.attempts
        report.granted += len(self._granted)
        if self._kind is None:
            return
        checks = [(self._name, self._cap, self._granted)]
        for analyst, cap in self._analyst_caps.items():
            own = [charge for charge in self._granted if charge.analyst == analyst]
            checks.append((f"{self._name}, analyst {analyst}", cap, own))
        for what, cap, charges in checks:
            found = overspent(what, cap, self._kind, charges)
            if found is not None:
                report.found.append(found)


CAPS = {
    Notion.EPSILON: Budget(epsilon=4, delta="1e-6"),
    Notion.RHO: Budget(rho=1),
    Notion.MU: Budget(mu=1),
}


def every_pair(ledger: Ledger, report: Report) -> None:
    """Each kind of cap filled by each kind of charge, in each notion, until it refuses: nothing is left to chance."""
    fillings = {
        "epsilon": (Budget(epsilon=1), Budget(epsilon="1/5")),
        "delta": (Budget(epsilon=9, delta="1e-6"), Budget(epsilon="1/2", delta="1e-7")),
        "rho": (Budget(rho=1), Budget(rho="1/9")),
        "mu": (Budget(mu=1), Budget(mu="1/3")),
    }
    for number, (door, cap_kind, kind, notion) in enumerate(
        product(DIRECT, KINDS, KINDS, fillings)
    ):
        if door is by_vault and notion not in ("rho", "mu"):
            continue  # it charges the ledger as `by_ledger` does; two notions show it
        cap, part = fillings[notion]
        spending = Spending(ledger, f"pair {number}", cap, cap_kind)
        while spending.ask(door, kind, part):
            pass
        spending.settle(report)


def random_sequences(
    ledger: Ledger,
    report: Report,
    *,
    doors: Sequence[Door],
    sequences: int,
    length: int,
    random: Generator,
) -> None:
    """Charges of random kinds, sizes and doors to a cap of a random notion, declared with a kind or without."""
    for number in range(sequences):
        notion = list(Notion)[int(random.integers(3))]
        cap = CAPS[notion]
        declared = KINDS[int(random.integers(len(KINDS)))] if random.integers(2) else None
        name = f"{doors[0].__name__} {report.sequences} {number}"
        spending = Spending(ledger, name, cap, declared)
        if random.integers(2):
            spending.cap_analyst("ann", cap.times(Fraction(1, 2)))
        # Two kinds in a sequence: with six, the cap refuses nearly all.
        kinds = [KINDS[int(place)] for place in random.integers(len(KINDS), size=2)]
        for _ in range(length):
            door = doors[int(random.integers(len(doors)))]
            kind = kinds[int(random.integers(2))]
            budget = _part(notion, door, int(random.integers(1, 9)), bool(random.integers(2)))
            spending.ask(door, kind, budget, "ann" if random.integers(2) else None)
        spending.settle(report)


def _part(notion: Notion, door: Door, eighths: int, other: bool) -> Budget:
    """Something between an eighth and all of half a cap; with a delta where the door takes one."""
    amount = Fraction(eighths, 4)
    if door.__name__ in ("by_alert", "by_learning"):
        return Budget(epsilon=amount)
    if notion is Notion.EPSILON:
        return Budget(epsilon=amount, delta=Fraction(eighths, 10**8) if other else 0)
    if door is not by_ledger and other:
        with_delta = notion is Notion.MU and door is not by_vault and eighths % 2
        return Budget(epsilon=amount, delta=Fraction(eighths, 10**8) if with_delta else 0)
    return CAPS[notion].times(amount / 4)


def audit(folder: Path, *, sequences: int, seed: int | None = None) -> Report:
    """Every pair, and as many random sequences by the ledger itself as by the public API four times over."""
    fixed = len(KINDS) ** 2 * 6  # four fillings by the ledger, and two by the vault
    random, report = generator(seed), Report(Progress("sequences", fixed + 5 * sequences))
    with Ledger.open(folder / "ledger.db") as ledger:
        every_pair(ledger, report)
        random_sequences(
            ledger, report, doors=DIRECT, sequences=4 * sequences, length=12, random=random
        )
        random_sequences(
            ledger,
            report,
            doors=public_doors(folder),
            sequences=sequences,
            length=8,
            random=random,
        )
    return report


def main(words: Sequence[str]) -> int:
    """Print the report; exit code 1 if a cap did not hold."""
    if len(words) not in (0, 2) or (
        words and (words[0] != "--sequences" or not words[1].isdigit())
    ):
        sys.stderr.write("Usage: python -m tests.harness.charging [--sequences N]\n")
        return 2
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = audit(Path(folder), sequences=int(words[1]) if words else 100)
    sys.stdout.write(f"{report.text} {time.monotonic() - started:.0f} s.\n")
    return 1 if report.found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
