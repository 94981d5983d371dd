"""From a table to a release, for custodians: draft, check, plan, publish. Only the last step reads rows."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.answering import sign_release
from discreet.errors import BadInput
from discreet.privacy.budget import Budget
from discreet.queries.classes import parse_class
from discreet.questions.derived import schema_mistakes
from discreet.releases import Plan, plan, release_to_file
from discreet.releases.preparing import draft_schema
from discreet.schema import Schema
from discreet.service.house import House
from discreet.service.limits.refusals import NotFound

ENDINGS = (".csv", ".parquet")
LONGEST_SCHEMA = 200_000
MOST_CLASSES = 30
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}")


@dataclass(frozen=True, slots=True)
class Wish:
    """What a release is for: query classes with weights, and the budget in all."""

    classes: tuple[str, ...]
    weights: tuple[str, ...]
    epsilon: str
    delta: str = "0"

    def budget(self) -> Budget:
        return Budget(epsilon=self.epsilon, delta=self.delta or "0")

    def workload(self) -> list[Any]:
        """The classes; one of weight 2 gets twice the share of one of weight 1."""
        if not self.classes:
            raise BadInput("Say what the release must be good for: choose at least one class.")
        if len(self.classes) > MOST_CLASSES:
            raise BadInput(f"At most {MOST_CLASSES} classes are planned at once.")
        weights = (*self.weights, *("1" for _ in self.classes))
        return [
            parse_class(text if weight in ("", "1") else f"{text} * {weight}")
            for text, weight in zip(self.classes, weights, strict=False)
        ]


class Workshop:
    """The custodian's tables, and the schemas that are being written for them."""

    def __init__(self, house: House) -> None:
        self._house, self._settings = house, house.settings
        self._drafts = self._settings.folder / "drafts"

    def tables(self) -> list[str]:
        """The names of the tables that may be published."""
        folder = self._settings.tables
        if folder is None or not folder.is_dir():
            return []
        found = [each.name for each in folder.iterdir() if each.suffix.lower() in ENDINGS]
        return sorted(name for name in found if _NAME.fullmatch(name))

    def unlisted(self) -> int:
        """How many tables are not among them, for their names."""
        folder = self._settings.tables
        if folder is None or not folder.is_dir():
            return 0
        found = [each.name for each in folder.iterdir() if each.suffix.lower() in ENDINGS]
        return len(found) - len(self.tables())

    def table(self, name: str) -> Path:
        """The file of a table."""
        if name not in self.tables():
            raise NotFound(f"There is no table {name[:100]!r}.")
        assert self._settings.tables is not None
        return self._settings.tables / name

    def put_table(self, name: str, content: bytes) -> None:
        """Keep a table that a custodian sent. One that is there is not replaced."""
        folder = self._settings.tables
        if folder is None:
            raise BadInput("The settings name no folder for tables: add `tables` to [service].")
        if not _NAME.fullmatch(name) or Path(name).suffix.lower() not in ENDINGS:
            raise BadInput(
                "A table's name has letters, digits, dots, hyphens and underscores, and ends in .csv or "
                ".parquet. Nothing was kept."
            )
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise BadInput(f"There is a table {name!r} already. Nothing was kept.") from None
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
        except OSError:  # a full disk: a part of a table is no table
            (folder / name).unlink(missing_ok=True)
            raise BadInput(
                f"There is no room for the table {name!r}. Nothing was kept. Free some space, and send it again."
            ) from None

    # The schema

    def schema_text(self, name: str) -> str:
        """The schema as it was last written, or a draft from the table's names and types."""
        kept = self._drafts / f"{self.table(name).name}.toml"
        if kept.is_file():
            return kept.read_text(encoding="utf-8")
        return draft_schema(self.table(name))

    def write_schema(self, name: str, text: str) -> list[str]:
        """Keep a schema, and say every mistake in it. No row is read."""
        if len(text) > LONGEST_SCHEMA:
            raise BadInput(f"A schema has at most {LONGEST_SCHEMA:,} characters.")
        self._drafts.mkdir(exist_ok=True, mode=0o700)
        kept = self._drafts / f"{self.table(name).name}.toml"
        kept.write_text(text.replace("\r\n", "\n"), encoding="utf-8")
        return schema_mistakes(text)

    def schema(self, name: str) -> Schema:
        """The schema, without mistakes."""
        return Schema.loads(self.schema_text(name))

    def left(self, schema: Schema) -> Budget | None:
        """What may still be spent on the dataset; None where nothing was declared."""
        ledger = self._house.ledger
        cap = ledger.cap(schema.dataset)
        return schema.cap if cap is None else cap.minus(ledger.spent(schema.dataset))

    # The plan and the release

    def plan(self, name: str, wish: Wish) -> Plan:
        """The expected errors. No row is read."""
        return plan(self.schema(name), workload=wish.workload(), budget=wish.budget())

    def publish(self, name: str, wish: Wish, title: str) -> str:
        """Charge, read, add noise, write, sign. The name of the release."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}", title):
            raise BadInput(
                "A release's name has letters, digits, hyphens and underscores. Nothing was charged."
            )
        path = self._settings.published / f"{title}.release"
        if path.exists():
            raise BadInput(
                f"There is a release {title!r} already. Nothing was read or charged. Choose another name."
            )
        release_to_file(
            self.table(name),
            self.schema(name),
            path,
            budget=wish.budget(),
            workload=wish.workload(),
            ledger=self._house.ledger,
        )
        if self._settings.signing_key is not None:
            sign_release(path, _private_key(self._settings.signing_key))
        found = next(each for each in self._house.shelf.all() if each.path == path)
        return found.name


def _private_key(path: Path) -> str:
    lines = path.read_text(encoding="ascii").splitlines()
    return "".join(line for line in lines if not line.startswith("#")).strip()


def suggested(schema: Schema) -> list[tuple[str, str]]:
    """Query classes that suit a schema, and what each is for."""
    found = [
        ("marginals(1)", "counts by each column"),
        ("marginals(2)", "counts by each pair of columns"),
    ]
    for column in schema.columns:
        if column.kind in ("integer", "number"):
            found.append((f"means({column.name})", f"the average of {column.name}"))
        if column.is_ordered and column.kind != "boolean":
            found.append((f"intervals({column.name})", f"counts from one {column.name} to another"))
    return found[:MOST_CLASSES]
