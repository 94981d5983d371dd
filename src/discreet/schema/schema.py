"""`Schema`: everything that is public about a table before anyone has looked at its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from discreet.errors import BadInput, BadSchema, did_you_mean
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.privacy.budget import Budget
from discreet.privacy.exact import LONGEST
from discreet.privacy.protection import Protected
from discreet.schema.columns.column import Column, folded, text_mistakes
from discreet.schema.csv_options import CsvOptions, clashes, digested
from discreet.schema.impossible import Impossible, impossible_mistakes
from discreet.schema.reading import MOST_BYTES, Parts, read
from discreet.schema.views import View
from discreet.schema.writing import write


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The declared public facts of a dataset. The ledger records the spending under its name.

    Where the unit has an identifier, a row whose identifier is null, NaN or infinite belongs to
    nobody, and is left out of every count. How many such rows there are is a secret.

    Thread safe: it never changes.
    """

    dataset: str
    columns: tuple[Column, ...]
    people: int | None = None
    """Roughly how many people the table is about: a public number, for plans only."""
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)
    cap: Budget | None = None
    """The most that may ever be spent on this dataset."""
    csv: CsvOptions = field(default_factory=CsvOptions)
    impossible: tuple[Impossible, ...] = ()
    """Combinations that no row can have: their cells are empty by declaration."""
    derived: tuple[tuple[str, str], ...] = ()
    """Derived columns, each with the expression of another column that defines it: see `questions.derived`."""
    view: View | None = None
    """The join that makes the table, if it is a view."""
    _places: dict[str, int] = field(init=False, repr=False, compare=False)
    _digest: list[str] = field(init=False, repr=False, compare=False)
    """Empty until somebody asks for it; then it never changes."""

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        parts = Parts(
            dataset=self.dataset,
            people=self.people,
            names=names,
            identifier=self.unit.identifier,
            cap=self.cap,
            csv=self.csv,
            columns=list(self.columns),
            impossible=list(self.impossible),
            derived=list(self.derived),
            view=self.view,
        )
        if found := joint_mistakes(parts):
            raise BadSchema(found)
        object.__setattr__(self, "_places", {name: place for place, name in enumerate(names)})
        object.__setattr__(self, "_digest", [])

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema in a TOML file; `BadSchema` lists every mistake in it."""
        where = str(path)
        try:
            with Path(path).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise BadSchema([f"it cannot be read: {reason}."], where=where) from None
        if data.startswith(b"PK\x03\x04"):
            raise BadSchema(["it is a zip file, such as a release, and no TOML."], where=where)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadSchema(
                [f"it is not UTF-8 text (byte {error.start} is wrong); save it as UTF-8."],
                where=where,
            ) from None
        return cls._from_text(text, where)

    @classmethod
    def loads(cls, text: str) -> Schema:
        """The schema in a TOML text; `BadSchema` lists every mistake in it."""
        return cls._from_text(text, "The schema")

    @classmethod
    def _from_text(cls, text: str, where: str) -> Schema:
        parts = read(text)
        found = parts.mistakes + joint_mistakes(parts)
        if found:
            raise BadSchema(found, where=where)
        return cls(
            dataset=parts.dataset,
            people=parts.people,
            adjacency=parts.adjacency,
            unit=PrivacyUnit(parts.identifier, parts.max_rows, parts.max_groups),
            cap=parts.cap,
            columns=tuple(parts.columns),
            csv=parts.csv,
            impossible=tuple(parts.impossible),
            derived=tuple(parts.derived),
            view=parts.view,
        )

    def dumps(self) -> str:
        """The schema as TOML, such that `Schema.loads` gives back an equal one."""
        return write(self)

    def digest(self) -> str:
        """SHA-256 of the canonical form: equal for equal schemas, however their files are written."""
        if not self._digest:
            text = b"discreet schema 1\n" + self.dumps().encode("utf-8")
            self._digest.append(hashlib.sha256(text).hexdigest())
        return self._digest[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in the order in which they are declared."""
        return tuple(column.name for column in self.columns)

    @property
    def rows_are_public(self) -> bool:
        """Whether the number of rows is public: under change-one, where each row is a person."""
        return self.adjacency is Adjacency.CHANGE_ONE and self.unit.identifier is None

    @property
    def protects(self) -> Protected:
        """Whom a charge under this schema protects."""
        return Protected.by(self.adjacency, self.unit, self._reading())

    def _reading(self) -> str:
        """What tells rows and people apart, where it is not as usual; see `Protected.reading`."""
        whose, csv, view = self.unit.identifier, self.csv, self.view
        of_rows, of_people = csv.telling_rows_apart(), list[str]()
        if whose is not None:
            of_people = csv.telling_people_apart(whose)
        if view is not None and view.public:
            public = set(map(folded, view.public))
            files = sorted(file.casefold() for name, file in view.tables if folded(name) in public)
            of_people += [digested("public", files)]
        return ",".join(of_rows) + ";" * bool(of_people) + ",".join(of_people)

    def column(self, name: str) -> Column:
        """The column of that name, exactly or as a SQL engine folds it."""
        place = self._places.get(name)
        if place is not None:
            return self.columns[place]
        for column in self.columns:
            if folded(column.name) == folded(name):
                return column
        raise BadInput(unknown_column(name, self.names, self.unit.identifier))

    def sizes(self, columns: Iterable[str]) -> tuple[int, ...]:
        """How many cells each of the columns has."""
        return tuple(self.column(name).cells for name in columns)


def unknown_column(name: str, names: tuple[str, ...], identifier: str | None = None) -> str:
    """The sentences for a column that the schema does not declare."""
    if identifier is not None and folded(name) == folded(identifier):
        return f'{identifier!r} says which rows are one person\'s, so nothing can be grouped by it or compared with it. Ask a curator for count(*) / count(DISTINCT "{identifier}"): the mean number of rows of a person.'
    return f"There is no column {name!r} in the schema.{did_you_mean(name, names)} It declares {', '.join(map(repr, names[:20]))}{', ...' if len(names) > 20 else ''}."


def joint_mistakes(parts: Parts) -> list[str]:
    """Mistakes that show only when the parts are put together."""
    found: list[str] = []
    if not parts.dataset:
        found.append('`dataset` is missing; name the dataset, as in `dataset = "people"`.')
    found += text_mistakes(parts.dataset or "", "`dataset`")
    if parts.people is not None and parts.people < 1:
        found.append(f"`people` is {parts.people}; it must be at least 1, or left out.")
    if not parts.names:
        found.append(
            'There are no columns; declare each as in `[columns.age]`, `kind = "integer"`.'
        )
    found += [
        f"Columns {left!r} and {right!r} are one name to a SQL engine, which folds case; rename one."
        for left, right in clashes(parts.names)
    ]
    identifier = parts.identifier
    if identifier is not None:
        if not identifier:
            found.append("[unit]: `identifier` is empty; name the column that identifies a person.")
        found += text_mistakes(identifier, "[unit]: `identifier`")
        if folded(identifier) in map(folded, parts.names):
            found.append(
                f"[unit]: the identifier {identifier!r} is also declared as a column; "
                "an identifier says whose a row is and is never published, so take the column out."
            )
    if parts.csv.names is not None:
        there = set(map(folded, parts.csv.names))
        wanted = [*parts.names, *([identifier] if identifier else [])]
        found += [
            f"[csv]: `names` does not list {name!r}; it must list every column of the file, in order."
            for name in wanted
            if folded(name) not in there
        ]
    if parts.view is not None:
        if parts.view.identifier != identifier:
            found.append(
                f"[view]: it keeps {parts.view.identifier!r}, and the unit is {identifier!r}."
            )
        there = set(map(folded, parts.view.names))
        found += [
            f"[view]: column {name!r} is declared, and `sql` does not select it."
            for name in parts.names
            if folded(name) not in there
        ]
    if parts.cap is not None and any(
        len(str(number)) > LONGEST for number in (parts.cap.amount, parts.cap.delta)
    ):
        found.append(f"[cap]: a number is longer than {LONGEST} characters; round it.")
    if parts.cap is not None and parts.cap.number is None:
        found.append("[cap]: mu is not a fraction; give one, such as 0.5.")
    strangers = [name for name, _ in parts.derived if name not in parts.names]
    fix = "If the table has it, declare it under [columns]; if not, leave it out here, and ask with the expression itself."
    found += [f"[derived]: there is no column {name[:80]!r}. {fix}" for name in strangers]
    declared = {column.name: column for column in parts.columns}
    found += impossible_mistakes(parts.impossible, declared, set(parts.names) - set(declared))
    return found
