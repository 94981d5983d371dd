"""Where two release manifests differ: place by place, with numbers compared exactly or nearly.

Fractions and whole numbers are exact, so they must be equal. Floating-point numbers come out of
long computations, whose last digits may differ from one machine to the next: they must agree to one
part in a million, or to a millionth where they are small.

May import errors, privacy, schema, queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from discreet.artifacts.files import plain_array
from discreet.artifacts.manifest import Array, manifest_of
from discreet.artifacts.release import Release

NEARLY = 1e-6


def differing_places(recorded: Any, expected: Any, place: str = "") -> Iterator[str]:
    """The places of plain JSON that differ, as in `parts/0/facts/rows`; a type is part of a value."""
    if isinstance(recorded, float) and isinstance(expected, float):
        if not math.isclose(recorded, expected, rel_tol=NEARLY, abs_tol=NEARLY):
            yield place
    elif type(recorded) is not type(expected):
        yield place
    elif isinstance(recorded, dict):
        for key in sorted(recorded.keys() | expected.keys(), key=str):
            inside = f"{place}/{key}" if place else str(key)
            if key not in recorded or key not in expected:
                yield inside
            else:
                yield from differing_places(recorded[key], expected[key], inside)
    elif isinstance(recorded, list):
        if len(recorded) != len(expected):
            yield place
        for position, (one, other) in enumerate(zip(recorded, expected, strict=False)):
            yield from differing_places(one, other, f"{place}/{position}")
    elif recorded != expected:
        yield place


def differing_releases(recorded: Release, expected: Release) -> Iterator[str]:
    """The places in which the files of two releases would differ; arrays by the part that they belong to."""
    manifest, arrays = manifest_of(recorded)
    wanted, others = manifest_of(expected)
    # Facts are anything that JSON can hold: tuples are lists there.
    yield from differing_places(_as_json(manifest), _as_json(wanted))
    for place, (one, other) in enumerate(zip(arrays, others, strict=False)):
        if not _agree(plain_array(one), plain_array(other)):
            yield _owner(manifest, place)


def shown(places: Sequence[str], most: int = 3) -> str:
    """A few of them, in words."""
    listed = ", ".join(places[:most])
    return listed if len(places) <= most else f"{listed} and {len(places) - most} more"


def _agree(one: Array, other: Array) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind == "f":
        return bool(np.allclose(one, other, rtol=NEARLY, atol=NEARLY, equal_nan=True))
    return bool(np.array_equal(one, other))


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _owner(manifest: dict[str, Any], array: int) -> str:
    """Where the manifest refers to an array."""
    for place, part in enumerate(manifest["parts"]):
        for name, number in part["estimates"].items():
            if number == array:
                return f"parts/{place}/estimates/{name}"
        for order, each in enumerate(part["measurements"]):
            for level in (each, *each.get("levels", ())):
                for name in ("nodes", "first", "values", "stopped"):
                    if level.get(name) == array:
                        return f"parts/{place}/measurements/{order}/{name}"
    return f"arrays/{array}"
