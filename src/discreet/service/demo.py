"""`discreet serve --demo`: a service over the bundled table, with somebody of each role to be."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.demo import make_people, schema_text, write_csv
from discreet.privacy.budget import Budget
from discreet.releases import release_to_file
from discreet.schema import Schema
from discreet.service.accounts import Role
from discreet.service.house import House, open_house
from discreet.service.settings import DatasetSettings, Settings
from discreet.service.watching import RequestLog

CAP = Budget(epsilon=4)
ALLOWANCE = Budget(epsilon=2)
WORKLOAD = (
    "marginals(age, sex)",
    "marginals(region, education)",
    "marginals(education, income)",
    "means(income)",
    "histogram(born)",
)
PEOPLE = (("ann", Role.ANALYST), ("carla", Role.CUSTODIAN), ("rita", Role.REVIEWER))


@dataclass(frozen=True, slots=True)
class Demo:
    """An open demonstration, and a token for each person in it."""

    house: House
    tokens: dict[str, str]
    """Tokens by the name of their account."""


def demo_settings(folder: Path, *, port: int = 8765) -> Settings:
    """Write the bundled table and its schema into a folder, and the settings that serve them."""
    tables = folder / "tables"
    tables.mkdir(parents=True, exist_ok=True)
    table, schema = tables / "people.csv", folder / "people.toml"
    if not table.exists():
        write_csv(table, make_people())
    schema.write_text(replace(Schema.loads(schema_text()), cap=CAP).dumps(), encoding="utf-8")
    return Settings(
        folder=folder / "state",
        ledger=folder / "state" / "ledger.db",
        port=port,
        tables=tables,
        title="discreet demo",
        datasets=(
            DatasetSettings(
                source=str(table), schema=schema, title="Generated people", data_version="demo"
            ),
        ),
    )


def open_demo(settings: Settings) -> Demo:
    """Open the house, and give each of its people an account and a token for a day."""
    house = open_house(settings)
    tokens = {}
    for name, role in PEOPLE:
        if house.accounts.person(name) is None:
            house.accounts.add(name, role, by="demo")
        tokens[name] = house.accounts.issue(name, days=1, by="demo")
    for dataset in house.datasets.values():
        if dataset.allowance("ann") is None:
            dataset.allow("ann", ALLOWANCE, by="demo", reason="demo")
    return Demo(house, tokens)


def serve_demo(folder: Path, *, port: int, ready: Callable[[str, dict[str, str]], None]) -> None:
    """Serve the demonstration on this machine alone until a signal ends it."""
    from discreet.service.desk import Desk
    from discreet.service.serving import address_of, bound_socket, serve_here

    settings = demo_settings(folder, port=port)
    sock = bound_socket(settings)
    demo = open_demo(settings)
    desk = Desk.at(demo.house, log=RequestLog(io.StringIO()))
    publishing = threading.Thread(target=publish_demo, args=(settings,), daemon=True)
    publishing.start()
    ready(address_of(sock), demo.tokens)
    serve_here(desk, sock)
    publishing.join()


def publish_demo(settings: Settings) -> None:
    """A release to ask, made while the first page is read."""
    path = settings.published / "people.release"
    if path.exists():
        return
    (dataset,) = settings.datasets
    release_to_file(
        dataset.source,
        Schema.load(dataset.schema),
        path,
        budget=Budget(epsilon=1),
        workload=WORKLOAD,
        ledger=settings.ledger,
    )
