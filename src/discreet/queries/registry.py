"""The families of query classes. A family is registered once, and everything else goes through here.

A family says how its classes are written, which integer queries it measures, and which algorithms
release it. Algorithms are named by their place and loaded only by whoever makes a release: reading
and asking a release never load the code that reads rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.queries.class_arguments import Argument

if TYPE_CHECKING:
    from discreet.queries.classes import QueryClass

BUILT_IN = (
    "discreet.families.tables.family:FAMILY",
    "discreet.families.numbers.family:FAMILY",
    "discreet.families.ranges.family:FAMILY",
    "discreet.families.halfspaces.family:FAMILY",
    "discreet.families.predicates.family:FAMILY",
    "discreet.reference.family:FAMILY",
)
"""Where the families stand, in the order in which people see them."""


@dataclass(frozen=True, slots=True)
class ClassReader:
    """How the text of one class is read."""

    of_one_list: Callable[[list[str]], QueryClass]
    of_several_lists: Callable[[list[list[Argument]]], QueryClass] | None = None
    """For classes that take several lists, with `;` between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Query classes that are measured and answered in the same way."""

    name: str
    readers: Mapping[str, ClassReader] = field(default_factory=dict)
    """Each class by the name that people write."""
    queries: tuple[Any, ...] = ()
    """Its own integer queries: types with a `kind` and a `from_dict`."""
    algorithms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each class, what releases it, as `module:name`, the preferred one first."""


_families: dict[str, Family] = {}


def loaded(place: str) -> Any:
    """The object at `module:name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def families() -> tuple[Family, ...]:
    """All registered families."""
    if not _families:
        found = [loaded(place) for place in BUILT_IN]
        _families.update((family.name, family) for family in found)
    return tuple(_families.values())


@contextmanager
def registered(family: Family) -> Iterator[None]:
    """Add a family from outside for a while."""
    if family.name in {each.name for each in families()}:
        raise ValueError(f"There is a family {family.name!r} already.")
    _families[family.name] = family
    try:
        yield
    finally:
        del _families[family.name]


def class_readers() -> dict[str, ClassReader]:
    """The reader of every class, by the class's name."""
    return {name: reader for family in families() for name, reader in family.readers.items()}


def query_kinds() -> dict[str, Any]:
    """The families' own query types, by kind."""
    return {query.kind: query for family in families() for query in family.queries}


def algorithm_places(class_name: str) -> tuple[str, ...]:
    """Where the algorithms that release a class stand, the preferred one first."""
    return tuple(place for family in families() for place in family.algorithms.get(class_name, ()))


def released_classes() -> tuple[str, ...]:
    """The names of all classes that some algorithm releases."""
    return tuple(dict.fromkeys(name for family in families() for name in family.algorithms))
