"""The families of query classes. A family is registered once, and everything else goes through here.

A family says how its classes are written, which integer queries it measures, which algorithms release
it, and how its releases are answered, bounded, checked and shown. Code is named by its place,
`module:name`, and loaded by whoever needs it: asking a release never loads the code that reads rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.errors import BadInput, BadRelease
from discreet.queries.measurable import ClampedSum, Marginal, PresentCount, Query
from discreet.queries.places import loaded

if TYPE_CHECKING:
    from discreet.queries.class_arguments import Argument
    from discreet.queries.classes import QueryClass
    from discreet.schema import Schema


BUILT_IN = (
    "discreet.families.tables.family:FAMILY",
    "discreet.families.numbers.family:FAMILY",
    "discreet.families.ranges.family:FAMILY",
    "discreet.families.groups.family:FAMILY",
    "discreet.families.halfspaces.family:FAMILY",
    "discreet.families.predicates.family:FAMILY",
    "discreet.families.keys.family:FAMILY",
    "discreet.reference.family:FAMILY",
)
"""Where the families stand, in the order in which people see them."""


@dataclass(frozen=True, slots=True)
class ClassReader:
    """How the text of one class is read."""

    of_one_list: Callable[[list[str]], QueryClass]
    of_several_lists: Callable[[list[list[Argument]]], QueryClass] | None = None
    """For classes that take several lists, with `;` between them."""
    by_group: Callable[[list[str], list[str]], QueryClass] | None = None
    """For classes that can be asked for each group: the columns before the word `by`, and those after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Query classes that are measured and answered in the same way."""

    name: str
    readers: Mapping[str, ClassReader] = field(default_factory=dict)
    """Each class by the name that people write."""
    queries: tuple[Any, ...] = ()
    """Its own integer queries: types with a `kind` and a `from_dict`."""
    algorithms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each class, the places of what releases it, the preferred one first.

    `module:name(flag)` is the algorithm at `module:name`, made with that flag.
    """
    sources: Mapping[str, str] = field(default_factory=dict)
    """For each kind of part, what it contributes to answers: (part, place, release) to `Evidence`."""
    measured: Mapping[str, str] = field(default_factory=dict)
    """For each kind of integer query, what a measurement of it says: (measurement, schema, place of its part) to `Evidence`."""
    pooled: tuple[str, ...] = ()
    """Sources of answers that put the evidence of all parts together: a `Library` to a `Source`."""
    summed: tuple[str, ...] = ()
    """What is said of sums over the cells of tables: a `Library` to a `SummedCells`."""
    additive: tuple[str, ...] = ()
    """Sources of counts as they were measured, which add up however they are summed: a `Library` to a `Source`."""
    drawn: tuple[str, ...] = ()
    """What synthetic rows are drawn from, of all parts together: (library, the answer to count(*)) to a list of `DrawsFirst`."""
    usefulness: Mapping[str, str] = field(default_factory=dict)
    """For each class, a bound on the errors of all its queries: (library, asking, class, delta) to (bound, theorem)."""
    margins: frozenset[str] = frozenset()
    """Classes whose bound takes `gamma=`: of some query that is gamma-close to the one asked for."""
    agreed: tuple[str, ...] = ()
    """What makes the parts of a release agree: (release, library of its parts) to its parts, the same tuple where there is nothing to do."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """For each class, how far agreeing moves a part's answers at most: (part, release, library of parts that agree) to a number."""
    foreseen: Mapping[str, str] = field(default_factory=dict)
    """For each class whose claims depend on noisy counts of cells: whether a plan may try it on (tables, schema)."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """For each class, what a custodian should know of it: (class, schema) to a sentence on what is left out, and one on what costs accuracy."""
    fitted: frozenset[str] = frozenset()
    """Kinds of parts whose estimates are a fitted model, which takes long to fit again."""
    selections: Mapping[str, str] = field(default_factory=dict)
    """For each kind of part that holds private choices: (part, schema) to (candidates, sensitivity)."""
    counts: frozenset[str] = frozenset()
    """Classes whose queries count rows: none is off by more than a public number of rows."""
    figures: tuple[str, ...] = ()
    """Pictures for the report: (reader, confidence) to figures."""
    questions: Mapping[str, str] = field(default_factory=dict)
    """For each class, SQL to show to people: (part, schema) to questions that the part answers."""
    shown_as: Mapping[str, str] = field(default_factory=dict)
    """For each class, what an overview asks: `avg`, `sum` or `median` of a column, a `range` of one, or the `condition` of its text."""
    extremes: Mapping[str, str] = field(default_factory=dict)
    """For each class that two rows at the ends of all columns may not tell apart, two that do: (class, schema) to their cells, by column."""
    examples: Callable[[Schema], Iterable[str]] = lambda schema: ()
    """Texts of its classes over a schema's columns. Audits and contract tests try those that the schema allows."""


UNIQUE = (
    "readers", "sources", "measured", "usefulness", "moved", "foreseen", "remarks", "selections", "questions", "shown_as",
    "extremes",
)  # fmt: skip
"""The tables in which no two families have an entry of the same name."""

_families: dict[str, Family] = {}


def families() -> tuple[Family, ...]:
    """All registered families."""
    if not _families:
        found = [loaded(place) for place in BUILT_IN]
        _families.update((family.name, family) for family in found)
    return tuple(_families.values())


def register(family: Family) -> None:
    """Add a family from outside. What it brings must be new: a class is read in one way only."""
    for what in UNIQUE:
        for name in set(getattr(family, what)) & set(merged(what)):
            raise BadInput(f"The {what} of {name!r} are registered already.")
    if family.name in {each.name for each in families()}:
        raise BadInput(f"There is a family {family.name!r} already.")
    _families[family.name] = family


@contextmanager
def registered(family: Family) -> Iterator[None]:
    """Add a family from outside for a while."""
    register(family)
    try:
        yield
    finally:
        del _families[family.name]


def merged(what: str) -> dict[str, Any]:
    """One of the families' tables, of all of them together."""
    return {key: each for family in families() for key, each in getattr(family, what).items()}


def query_kinds() -> dict[str, Any]:
    """The families' own query types, by kind."""
    return {query.kind: query for family in families() for query in family.queries}


_OF_THE_CORE: tuple[Any, ...] = (
    Marginal,
    ClampedSum,
    PresentCount,
)


def query_types() -> dict[str, Any]:
    """Every type of query by its kind: those of the core, then the families' own."""
    return {query.kind: query for query in _OF_THE_CORE} | query_kinds()


def query_from_dict(data: dict[str, Any]) -> Query:
    """A query out of a file. An unknown kind fails: it is never guessed."""
    try:
        found: Query = query_types()[data["kind"]].from_dict(data)
        return found
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadRelease("A stored query is not readable by this version.") from None
