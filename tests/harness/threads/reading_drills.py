"""Drills of what is read after the noise: releases, their readers, the public functions, and plain values.

Everything here must give each thread what it would have been given alone. Values are found by walking
through what the functions return, so a class that is added there is drilled too; its methods without
arguments are called as they are, and for the others this module says with what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import discreet
from discreet.answering import ReleaseReader, open_release
from discreet.artifacts.answers import AddedNoise, SharedDraws
from discreet.artifacts.files import write_release
from discreet.core.test_door import observed_vaults
from discreet.errors import BudgetExceeded, DiscreetError
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.families.numbers.queries.one_number import Means, Sums
from discreet.families.predicates.queries.predicates import Predicates
from discreet.families.tables.queries.marginals import Marginals
from discreet.ledger import Ledger
from discreet.privacy.adjacency import PrivacyUnit
from discreet.privacy.budget import Budget, Notion
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.measurable import Marginal
from discreet.releases import release, release_to_file
from discreet.releases.planning import plan
from discreet.schema.impossible import CellTest, Impossible
from discreet.schema.views import View
from tests.harness.threads.client_drills import client_drills
from tests.harness.threads.curator_drills import curator_drills
from tests.harness.threads.drill_questions import UNIT
from tests.harness.threads.drills import Drill, exactly
from tests.harness.threads.engine_drills import engine_drills
from tests.harness.threads.interleaving import Outcome
from tests.harness.threads.ledger_drills import ledger_drills
from tests.harness.threads.public_objects import (
    needs_arguments,
    public_classes,
    public_functions,
    public_members,
)
from tests.harness.threads.shared_world import BANDS, CHARGED_WELL, World, rows_in, without_noise
from tests.harness.threads.vault_drills import vault_drills

WORKLOAD = ("marginals(band, kind)", "halfspaces(band, score)")
HELD_BACK = frozenset(
    {
        "Curator",
        "CuratorAlert",
        "Ledger",
        "ReleaseReader",
        "RemoteDataset",
        "RemoteRelease",
        "Service",
    }
)
"""Classes whose every method has a drill written for it."""
ABSTRACT = ("Column", "NoiseLaw")
"""Classes of which only subclasses have instances."""


# --- readers ------------------------------------------------------------------------------


def _reader(world: World) -> ReleaseReader:
    """Freshly opened, so that it has kept nothing yet."""
    return ReleaseReader(world.made)


def _small_reader(world: World) -> ReleaseReader:
    return ReleaseReader(world.small)


def _written(reader: ReleaseReader, _: int) -> Any:
    """What the file says that a thread writes."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "copy.release"
        reader.write(path)
        found = open_release(path).ask("SELECT kind, count(*) FROM released GROUP BY kind")
        return [row.answer.estimate for row in found]


def _reader_calls() -> dict[str, Callable[[ReleaseReader, int], Any]]:
    codes = [[n % BANDS, n % 2] for n in range(20)]

    def ask(reader: ReleaseReader, n: int) -> Any:
        return [
            reader.ask(text)
            for text in (
                f"SELECT count(*) FROM released WHERE band BETWEEN {n % 4} AND {n % 4 + 2}",
                f"SELECT kind, count(*) FROM released WHERE band <= {n % 4} GROUP BY kind",
                f"SELECT count(*) FROM released WHERE score >= {100 * (n % 4)}",
            )
        ]

    return {
        "ask": ask,
        "ask_many": lambda r, n: r.ask_many(
            [f"SELECT count(*) FROM released WHERE band <= {each % 4}" for each in (n, n + 1)]
        ),
        "count_many": lambda r, n: (
            r.count_many("band", [0, 1], [2, 3 + n % 4]),
            r.count_many("score", [0.0], [100.0 * (n % 4 + 1)], confidence=0.5 + n % 4 / 10),
        ),
        "count_cells": lambda r, n: r.count_cells(("band", "kind"), codes[n:], confidence=0.9),
        "count_boxes": lambda r, n: r.count_boxes(("band", "score"), [[0, 0]], [[n, 500 + n]]),
        "count_halfspaces": lambda r, n: r.count_halfspaces(
            ("band", "score"), [[1.0, 0.01 * n]], [2.0 + n]
        ),
        "count_near_halfspaces": lambda r, n: r.count_near_halfspaces(
            ("band", "score"), [[1.0, 0.01 * n]], [2.0 + n]
        ),
        "count_within_margin": lambda r, n: r.count_within_margin(
            ("band", "score"), [[1.0, 0.01 * n]], [2.0 + n], gamma="0.1"
        ),
        "noise_covariance": lambda r, n: r.noise_covariance(
            f"band <= {n % 4}", "band >= 2", by="kind"
        ),
        "distribution": lambda r, n: r.distribution("score", most=4 + n % 4),
        "noisy_table": lambda r, n: r.noisy_table(("kind", "band") if n % 2 else ("kind",)),
        "parity": lambda r, n: r.parity("even"),
        "schema": lambda r, _: r.schema.names,
        "workload": lambda r, _: r.workload,
        "statement": lambda r, _: str(r.statement()),
        "overview": lambda r, _: r.overview(),
        "write": _written,
        "__repr__": lambda r, _: repr(r),
        "_repr_html_": lambda r, _: r._repr_html_(),
        "population": lambda r, n: r.population(
            "SELECT kind, count(*) FROM released GROUP BY kind", confidence=0.9 + n % 4 / 100
        ),
        "usefulness": lambda r, n: r.usefulness("marginals(even)", delta=Fraction(1, 10 + n % 4)),
    }


# --- functions ----------------------------------------------------------------------------


def _plan(world: World, number: int) -> Any:
    return plan(
        world.schema(0, "planned"),
        workload=WORKLOAD,
        budget=Budget(epsilon=1 + number % 4),
        rows=2000,
    )


def _releases(write: bool) -> Iterator[Drill]:
    """Eight releases want what five may have; those that are made hold the exact numbers."""

    def prepare(world: World) -> Any:
        dataset = f"released {world.next_number()}"
        world.ledger.declare(dataset, Budget(epsilon=CHARGED_WELL))
        return world, world.schema(0, dataset)

    def call(shared: Any, number: int) -> Any:
        world, schema = shared
        asked: dict[str, Any] = {
            "budget": UNIT,
            "workload": ["marginals(band)"],
            "ledger": world.ledger,
            "confidence": 0.5 + number / 100,  # each is another request
            "threads": 1,
        }
        with observed_vaults(without_noise):
            if not write:
                made = release(world.source(0), schema, **asked)
            else:
                place = world.folder / f"{schema.dataset} {number}.release"
                release_to_file(world.source(0), schema, place, **asked)
                made = open_release(place)
        return made.noisy_table(("band",))[0].tolist()[:BANDS]

    def judge(world: World, shared: Any, outcomes: Sequence[Outcome]) -> Iterator[str]:
        world.pay(shared[1].dataset, "all of it", Budget(epsilon=CHARGED_WELL))
        yield from exactly(outcomes, CHARGED_WELL, BudgetExceeded)
        right = [rows_in(band) for band in range(BANDS)]
        for each in outcomes:
            if each.is_well and each.result != right:
                yield f"the release of thread {each.thread} holds {each.result}"

    name = "release_to_file" if write else "release"
    yield Drill("discreet", name, prepare, call, judge, across=True)


def _function_drills() -> Iterator[Drill]:
    def written(world: World) -> Any:
        place = world.folder / f"{world.next_number()}.release"
        write_release(world.made, place)
        return place

    yield Drill("discreet", "open_release", written, lambda place, _: open_release(place))
    yield Drill("discreet", "plan", lambda world: world, _plan)
    yield Drill(
        "discreet", "render_report", _reader, lambda reader, _: discreet.render_report(reader)
    )
    yield from _releases(write=False)
    yield from _releases(write=True)


# --- plain values -------------------------------------------------------------------------


def _roots(world: World) -> list[Any]:
    """Values that hold an instance of every other public class."""
    reader = _reader(world)
    schema = world.schema(0, "values")
    view = View(
        "SELECT p.person, p.band FROM people p",
        (("people", "people.parquet"),),
        identifier="person",
    )
    impossible = Impossible((CellTest("band", "<", 3), CellTest("kind", "=", "a")))
    entries = Ledger.entries(world.ledger)
    calls = [call(reader, 1) for name, call in _reader_calls().items() if name not in _REFUSED]
    calls.append(_small_reader(world).synthesize(30, seed=1))
    band = schema.column("band")
    curator = world.curator(0)
    world.pay(curator.schema.dataset, "choice", UNIT)
    world.pay(curator.schema.dataset, "discovery", UNIT)
    everyone = f'SELECT count(*) FROM "{curator.schema.dataset}"'
    return [
        reader.release, calls, schema, view, impossible, entries, _plan(world, 0),
        Marginals(2), Means("score"), Sums("score"), Halfspaces("band", "score"),
        Predicates("band < 3"), PrivacyUnit(identifier="person", max_rows=3),
        reader.statement(), band.codes_where("<", 3), Cost.pure(Fraction(1)),
        DiscreteLaplaceLaw(scale=Fraction(3)),
        curator.choose({"all": everyone}, budget=UNIT),
        curator.preview(everyone, budget=UNIT),
        curator.discover("town", budget=Budget(epsilon=1, delta="1e-6")),
        AddedNoise(np.arange(3.0), ()), SharedDraws(np.arange(3.0), ()),
    ]  # fmt: skip


_REFUSED = ("count_near_halfspaces",)


def specimens(world: World) -> dict[type, Any]:
    """One instance of each public class that is a plain value."""
    wanted = [each for each in public_classes() if each.__name__ not in HELD_BACK]
    found: dict[type, Any] = {}
    seen: set[int] = set()
    left: list[Any] = _roots(world)
    keep = [left]  # so that no two objects share an identity
    while left:
        value = left.pop()
        if id(value) in seen or isinstance(value, (str, bytes, int, float, np.ndarray)):
            continue
        seen.add(id(value))
        keep.append(value)
        for each in wanted:
            if type(value) is each or (each.__name__ in ABSTRACT and isinstance(value, each)):
                found.setdefault(each, value)
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, (tuple, list)):
            left += value
        elif is_dataclass(value) and not isinstance(value, type):
            left += [getattr(value, name) for name in value.__dataclass_fields__]
            left += [getattr(value, name) for name in ("only",) if _has_one(value, name)]
        if hasattr(value, "to_columns"):  # answers: their rows
            left += list(value)[:1]
    return found


def _has_one(value: Any, name: str) -> bool:
    try:
        return hasattr(value, name)
    except DiscreetError:
        return False


def _arguments() -> dict[str, Callable[[World, Any, int], Any]]:
    """With what a method is called that cannot be called without arguments, by class and name."""
    return {
        "AddedNoise.taken": lambda w, v, n: v.taken(np.zeros(n, dtype=np.int64)),
        "SharedDraws.taken": lambda w, v, n: v.taken(np.zeros(n, dtype=np.int64)),
        "Answer.compare": lambda w, v, n: v.compare(v),
        "Answer.minus": lambda w, v, n: v.minus(v),
        "AnswerColumn.at": lambda w, v, n: v.at(0, 0.5 + n / 20),
        "AnswerColumn.taken": lambda w, v, n: v.taken(np.zeros(n, dtype=np.int64)),
        "AnswerColumn.values": lambda w, v, n: v.values(np.arange(n, dtype=np.float64)),
        "AnswerRow.__getitem__": lambda w, v, n: v[next(iter(v.answers))],
        "Answers.__getitem__": lambda w, v, n: v[0],
        "Answers.minus": lambda w, v, n: v.minus(v),
        "Answers.value": lambda w, v, n: v.value(0, 0) if v.groups else None,
        "Budget.covers": lambda w, v, n: v.covers(v.times(n + 1)),
        "Budget.from_dict": lambda w, v, n: v.from_dict(v.times(n + 1).to_dict()),
        "Budget.minus": lambda w, v, n: v.minus(v),
        "Budget.nothing": lambda w, v, n: v.nothing(Notion.EPSILON),
        "Budget.of_mu_squared": lambda w, v, n: v.of_mu_squared(Fraction(n + 1)),
        "Budget.times": lambda w, v, n: v.times(n + 1),
        "ClassError.in_rows": lambda w, v, n: v.in_rows(
            1000 + n,
            **{
                each.name: getattr(v, each.name)
                for each in fields(v)
                if each.name not in ("unit", "scale")
            },
        ),
        "CodeSelection.both": lambda w, v, n: v.both(v),
        "CodeSelection.either": lambda w, v, n: v.either(v),
        "CodeSelection.within": lambda w, v, n: v.within(BANDS + n),
        "Cost.approximate": lambda w, v, n: v.approximate(
            epsilon=Fraction(n + 1), delta=Fraction(1, 9)
        ),
        "Cost.bounded_range": lambda w, v, n: v.bounded_range(Fraction(n + 1)),
        "Cost.concentrated": lambda w, v, n: v.concentrated(Fraction(n + 1)),
        "Cost.of_mu": lambda w, v, n: v.of_mu(Fraction(n + 1)),
        "Cost.pure": lambda w, v, n: v.pure(Fraction(n + 1)),
        "Cost.under": lambda w, v, n: v.under(list(Accounting)[n % 2]),
        "NoiseLaw.cdf": lambda w, v, n: v.cdf(np.arange(-n, n + 1)),
        "NoiseLaw.characteristic": lambda w, v, n: v.characteristic(np.arange(n + 1) / 10),
        "NoiseLaw.cost": lambda w, v, n: v.cost(
            Marginal(("band",)).sensitivity(w.made.schema), size=BANDS + n
        ),
        "NoiseLaw.from_stored": lambda w, v, n: v.from_stored(v.to_dict()),
        "NoiseLaw.half_width": lambda w, v, n: v.half_width(Fraction(80 + n, 100)),
        "NoiseLaw.joint_loss_shape": lambda w, v, n: v.joint_loss_shape(
            Marginal(("band",)).sensitivity(w.made.schema)
        ),
        "NoiseLaw.log_mgf": lambda w, v, n: v.log_mgf(np.arange(n + 1) / 1000),
        "NoiseLaw.loss_shape": lambda w, v, n: getattr(v.loss_shape(n + 1), "first", None),
        "NoiseLaw.pmf": lambda w, v, n: v.pmf(np.arange(-n, n + 1)),
        "NoiseLaw.scaled": lambda w, v, n: v.scaled(Fraction(n + 1)),
        "NoiseLaw.tail": lambda w, v, n: v.tail(np.arange(n + 1, dtype=np.float64)),
        "Column.code_of": lambda w, v, n: v.code_of(v.value_in(0, 0.5)),
        "Column.codes_where": lambda w, v, n: v.codes_where("=", v.label(0)),
        "Column.label": lambda w, v, n: v.label(n % v.cells),
        "Column.value_in": lambda w, v, n: v.value_in(0, n / 10),
        "Halfspaces.check": lambda w, v, n: v.check(w.made.schema),
        "Halfspaces.named": lambda w, v, n: v.named(w.made.schema),
        "Impossible.cells": lambda w, v, n: v.cells(
            {column.name: column for column in w.made.schema.columns}
        ),
        "ManyCounts.covers": lambda w, v, n: v.covers(0),
        "Protected.by": lambda w, v, n: v.by(v.adjacency, PrivacyUnit("person", n + 1)),
        "Protected.is_same": lambda w, v, n: v.is_same(v.by(v.adjacency, v.unit)),
        "ManyHalfspaces.covers": lambda w, v, n: v.covers(0),
        "Marginals.check": lambda w, v, n: v.check(w.made.schema),
        "Marginals.left_out": lambda w, v, n: v.left_out(w.made.schema),
        "Marginals.sets": lambda w, v, n: v.sets(w.made.schema),
        "Marginals.weights": lambda w, v, n: v.weights(w.made.schema),
        "Means.check": lambda w, v, n: v.check(w.made.schema),
        "Predicates.check": lambda w, v, n: v.check(w.made.schema),
        "CsvOptions.rewritings": lambda w, v, n: v.rewritings(("number", "date")[n % 2]),
        "CsvOptions.telling_people_apart": lambda w, v, n: v.telling_people_apart("a"),
        "Schema.column": lambda w, v, n: v.column(v.names[n % len(v.names)]),
        "Schema.load": lambda w, v, n: v.load(w.folder / "no such file.toml"),
        "Schema.loads": lambda w, v, n: v.loads(v.dumps()).digest(),
        "Schema.sizes": lambda w, v, n: v.sizes(v.names[: n % len(v.names)]),
        "Sums.check": lambda w, v, n: v.check(w.made.schema),
        "SyntheticTable.column": lambda w, v, n: v.column(v.names[n % len(v.names)]),
        "SyntheticTable.to_csv": lambda w, v, n: v.to_csv(w.folder / f"synthetic {n}.csv"),
        "SyntheticTable.to_parquet": lambda w, v, n: v.to_parquet(
            w.folder / f"synthetic {n}.parquet"
        ),
        "SyntheticTable.write": lambda w, v, n: v.write(w.folder / f"synthetic {n}.arrow"),
    }


def _bare(owner: type, member: str) -> Callable[[World, Any, int], Any]:
    def call(world: World, value: Any, number: int) -> Any:
        found = getattr(value, member)
        return found() if callable(found) else found

    return call


def _one(value: Any) -> Callable[[World], Any]:
    return lambda _: value


def value_drills(world: World) -> Iterator[Drill]:
    """Every method of every public class that is a plain value, on an instance that threads share."""
    given, found = _arguments(), specimens(world)
    for owner in public_classes():
        if owner.__name__ in HELD_BACK or owner not in found:
            continue
        prepare = _one(found[owner])
        for member in public_members(owner):
            name = f"{owner.__name__}.{member}"
            if name not in given and needs_arguments(owner, member):
                continue  # `unknown` names it
            call = given.get(name) or _bare(owner, member)
            yield Drill(owner.__name__, member, prepare, partial(call, world))


def all_drills(world: World) -> list[Drill]:
    """Every drill that there is."""
    readers = [
        Drill("ReleaseReader", member, _reader, call, times=12 if member == "noisy_table" else 1)
        for member, call in _reader_calls().items()
    ]
    readers.append(
        Drill(
            "ReleaseReader", "synthesize", _small_reader, lambda r, n: r.synthesize(30, seed=n % 4)
        )
    )
    return [
        *curator_drills(),
        *vault_drills(),
        *engine_drills(),
        *ledger_drills(),
        *readers,
        *_function_drills(),
        *client_drills(),
        *value_drills(world),
    ]


def drills_across() -> list[Drill]:
    """Those that several processes take part in, always in the same order."""
    everything = (*curator_drills(), *vault_drills(), *ledger_drills(), *_function_drills())
    return [each for each in everything if each.across]


def wanted(behind: Sequence[type]) -> list[str]:
    """Every public function, and every public method of every public class and of those behind them."""
    found = [f"discreet.{name}" for name in public_functions()]
    for owner in (*public_classes(), *behind):
        found += [f"{owner.__name__}.{member}" for member in public_members(owner)]
    return found


def unknown(drills: Sequence[Drill], behind: Sequence[type]) -> list[str]:
    """Public methods and functions that no drill calls: add one for each of them."""
    known = {f"{each.owner}.{each.member}" for each in drills}
    return [name for name in wanted(behind) if name not in known]


__all__ = ["all_drills", "drills_across", "specimens", "unknown", "value_drills", "wanted"]
