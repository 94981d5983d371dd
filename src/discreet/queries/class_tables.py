"""The query classes of the families: how each is read, and which algorithms release it.

The core measures queries and needs none of this, so it stands apart from the registry.
"""

from __future__ import annotations

from discreet.queries.registry import ClassReader, families, merged


def class_readers() -> dict[str, ClassReader]:
    """The reader of every class, by the class's name."""
    return merged("readers")


def algorithm_places(class_name: str) -> tuple[str, ...]:
    """Where the algorithms that release a class stand, the preferred one first."""
    return tuple(place for family in families() for place in family.algorithms.get(class_name, ()))


def released_classes() -> tuple[str, ...]:
    """The names of all classes that some algorithm releases."""
    return tuple(dict.fromkeys(name for family in families() for name in family.algorithms))


def is_fitted(kind: str) -> bool:
    """Whether a part of this kind holds a fitted model."""
    return any(kind in family.fitted for family in families())


def counts_rows(class_name: str) -> bool:
    """Whether every query of the class is a number of rows."""
    return any(class_name in family.counts for family in families())
