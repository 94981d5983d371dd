"""`curator.toml`: what the service holds, where it listens, and its limits."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from discreet.errors import BadInput, did_you_mean

ADDRESS = r"[a-z]{2,}:(?!:)"
"""How a source begins that is no path: postgresql://host/db#table, spark:table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one request, one person and all together may take."""

    body_bytes: int = 65_536
    upload_bytes: int = 100_000_000
    """The largest table that a custodian may send."""
    sql_characters: int = 10_000
    sql_terms: int = 2_000
    """Words, numbers and signs of a question."""
    answer_rows: int = 100_000
    body_seconds: int = 10
    """Seconds for a request's head, and again for its body."""
    question_seconds: int = 60
    requests_a_minute: int = 600
    """The limit for each person, and for each address that is not signed in."""
    questions_at_once: int = 8
    """Live questions and release questions that run in one worker."""
    questions_waiting: int = 200
    """More are turned away, with a request to come back later."""
    questions_at_once_each: int = 32
    """The most questions of a person that run or wait."""
    connections: int = 512
    """The limit of one worker."""
    quantum_ms: int = 100
    """A live answer leaves after a whole number of these. 0 turns it off."""
    sample_rows: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSettings:
    """A table that is asked live."""

    source: str
    schema: Path
    title: str = ""
    data_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSettings:
    """A release file, and who may see it."""

    file: Path
    title: str = ""
    public: bool = False
    """Whether people without an account may ask it and download it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that `curator.toml` says. Paths are relative to the file."""

    folder: Path
    """The service's own files: accounts, and the releases that custodians publish."""
    ledger: Path | str
    """A file, or the address of a PostgreSQL database, where the accounts are then kept too."""
    mark: Path | None = None
    """Where the ledger's high-water mark lies, if not beside the ledger."""
    host: str = "127.0.0.1"
    port: int = 8765
    workers: int = 1
    https: bool = False
    """Whether a proxy gives people HTTPS: then cookies are sent over HTTPS alone."""
    tables: Path | None = None
    """Tables that custodians may publish from the web page."""
    signing_key: Path | None = None
    title: str = "discreet"
    limits: Limits = field(default_factory=Limits)
    datasets: tuple[DatasetSettings, ...] = ()
    releases: tuple[ReleaseSettings, ...] = ()

    @property
    def accounts(self) -> Path:
        return self.folder / "accounts.db"

    @property
    def published(self) -> Path:
        """The folder of releases that were published from the web page."""
        return self.folder / "releases"


def load_settings(path: Path) -> Settings:
    """The settings in a TOML file; `BadInput` lists every mistake in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadInput(f"{path} cannot be read: {reason}.") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path} is not TOML: {error}.") from None
    reader = _Reader(path.resolve().parent)
    found = reader.settings(data)
    if reader.mistakes:
        listed = "\n".join(f"  - {mistake}" for mistake in reader.mistakes)
        raise BadInput(f"{path} has mistakes:\n{listed}")
    return found


class _Reader:
    """Reads tables of TOML, and gathers mistakes instead of stopping at the first."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.mistakes: list[str] = []

    def settings(self, data: dict[str, Any]) -> Settings:
        service = self._table(data.pop("service", {}), "[service]")
        limits = self._table(data.pop("limits", {}), "[limits]")
        datasets = self._tables(data.pop("dataset", []), "[[dataset]]")
        releases = self._tables(data.pop("release", []), "[[release]]")
        for name in data:
            near = did_you_mean(name, ("service", "limits", "dataset", "release"))
            self.mistakes.append(f"There is no section {name!r}.{near}")
        folder = self._path(service.pop("folder", "state"))
        own = self._values(
            service, Settings, "[service]", skip=("folder", "limits", "datasets", "releases")
        )
        own.setdefault("ledger", folder / "ledger.db")
        return Settings(
            folder=folder,
            limits=Limits(**self._values(limits, Limits, "[limits]")),
            datasets=tuple(
                DatasetSettings(**each)
                for table in datasets
                if (
                    each := self._values(
                        table, DatasetSettings, "[[dataset]]", needs=("source", "schema")
                    )
                )
            ),
            releases=tuple(
                ReleaseSettings(**each)
                for table in releases
                if (each := self._values(table, ReleaseSettings, "[[release]]", needs=("file",)))
            ),
            **own,
        )

    def _table(self, found: Any, where: str) -> dict[str, Any]:
        if isinstance(found, dict):
            return dict(found)
        self.mistakes.append(f"{where} must be a table.")
        return {}

    def _tables(self, found: Any, where: str) -> list[dict[str, Any]]:
        if isinstance(found, list) and all(isinstance(each, dict) for each in found):
            return [dict(each) for each in found]
        self.mistakes.append(f"{where} must be a list of tables, with two brackets on each side.")
        return []

    def _values(
        self,
        table: dict[str, Any],
        kind: type,
        where: str,
        *,
        needs: tuple[str, ...] = (),
        skip: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """The table's values as the fields of `kind` want them; empty where one that it needs is missing."""
        known = {each.name: str(each.type) for each in fields(kind) if each.name not in skip}
        found: dict[str, Any] = {}
        for name, value in table.items():
            if name not in known:
                self.mistakes.append(f"{where}: there is no {name!r}.{did_you_mean(name, known)}")
                continue
            wanted = known[name]
            if wanted == "int":
                if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10**9:
                    self.mistakes.append(f"{where}: {name} must be a whole number from 0 to 10^9.")
                    continue
            elif wanted == "bool":
                if not isinstance(value, bool):
                    self.mistakes.append(f"{where}: {name} must be true or false.")
                    continue
            elif not isinstance(value, str) or not value:
                self.mistakes.append(f"{where}: {name} must be a text that is not empty.")
                continue
            if name == "ledger" and "://" in value:
                pass  # a database's address
            elif "Path" in wanted:
                value = self._path(value)
            elif name == "source" and not re.match(ADDRESS, value):
                value = str(self._place / value)
            found[name] = value
        missing = [name for name in needs if name not in table]
        self.mistakes += [f"{where}: {name} is missing." for name in missing]
        return {} if missing else found

    def _path(self, text: str) -> Path:
        return self._place / Path(str(text)).expanduser()
