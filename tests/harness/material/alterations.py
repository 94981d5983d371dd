"""Every way to alter a release file a little: each place of its manifest, each array, each member.

Nothing is listed by name. The manifest is walked as plain JSON, texts that are numbers are altered as
numbers, and texts of several lines (the schema) line by line and number by number.
"""

from __future__ import annotations

import copy
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.artifacts.files import MANIFEST, widened

Array = npt.NDArray[Any]
Members = Mapping[str, bytes]
Place = tuple[str | int, ...]

_FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+")
SMALL, LARGE = Fraction(101, 100), 5


@dataclass(frozen=True, slots=True)
class Alteration:
    """One altered file. `place` is where, as in `parts/0/measurements/1/law/scale`; `what` is how."""

    place: str
    what: str
    build: Callable[[], Members]
    """Makes the file: there are thousands, and few are looked at in a quick run."""

    @property
    def members(self) -> Members:
        return self.build()

    @property
    def kind_of_place(self) -> str:
        """The place without its positions: alike in every release."""
        return re.sub(r"(?<=/)[0-9]+(?=/|$)", "*", self.place)


def alterations(members: Members) -> Iterator[Alteration]:
    """All of them, in a fixed order."""
    manifest = json.loads(members[MANIFEST])
    for place in _places(manifest):
        value = _at(manifest, place)
        for key in value if isinstance(value, dict) else ():
            left = {each: value[each] for each in value if each != key}
            yield _of_manifest(members, manifest, (*place, key), "removed", place, left)
        for what, altered in _altered(value):
            yield _of_manifest(members, manifest, place, what, place, altered)
    for name, owner in array_owners(manifest).items():
        array = widened(np.load(io.BytesIO(members[name]), allow_pickle=False))
        for what, other in _altered_array(array):
            yield _of_member(members, owner, what, name, other)
    for name in members:
        without = {each: data for each, data in members.items() if each != name}
        yield Alteration(name, "member removed", partial(dict, without))
    yield _of_member(members, "arrays", "member added", f"arrays/{len(members)}.npy", np.zeros(1))


def _of_manifest(
    members: Members, manifest: Any, shown: Place, what: str, place: Place, altered: Any
) -> Alteration:
    def build() -> Members:
        text = json.dumps(_with(manifest, place, altered), ensure_ascii=False)
        return {**members, MANIFEST: text.encode()}

    return Alteration("/".join(map(str, shown)) or "manifest", what, build)


def _of_member(members: Members, shown: str, what: str, name: str, array: Array) -> Alteration:
    return Alteration(shown, what, lambda: {**members, name: _bytes_of(array)})


def array_owners(manifest: Any) -> dict[str, str]:
    """For each array the place in the manifest that refers to it: known by what a release writes there."""
    found: dict[str, str] = {}
    for place in _places(manifest):
        above = tuple(step for step in place[:-1] if isinstance(step, str))
        measured = above in {("parts", "measurements"), ("parts", "measurements", "levels")}
        named = place[-1:] in {("nodes",), ("first",), ("values",), ("stopped",)}
        if above == ("parts", "estimates") or (measured and named):
            found[f"arrays/{_at(manifest, place)}.npy"] = "/".join(map(str, place)) + "[]"
    return found


# --- plain JSON --------------------------------------------------------------------------------


def _places(value: Any, above: Place = ()) -> Iterator[Place]:
    yield above
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _places(each, (*above, key))
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from _places(each, (*above, position))


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def _with(tree: Any, place: Place, altered: Any) -> Any:
    """A copy of the tree along the way to `place`; the rest is shared."""
    if not place:
        return altered
    fresh = copy.copy(tree)
    fresh[place[0]] = _with(tree[place[0]], place[1:], altered)
    return fresh


def _altered(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool):
        yield "flipped", not value
        yield "a number instead", int(value)
    elif isinstance(value, int):
        yield from (("up by one", value + 1), ("down by one", value - 1))
        yield from (("a large factor up", value * LARGE + LARGE), ("down to 0", 0 if value else 7))
        yield "a fraction instead", float(value)
    elif isinstance(value, float):
        yield "a small factor up", value * float(SMALL) + 1e-3
        yield "a small factor down", value / float(SMALL) - 1e-3
        yield from (
            ("a large factor up", value * LARGE + 1),
            ("a large factor down", value / LARGE - 1),
        )
        yield "a text instead", str(value)
    elif isinstance(value, str):
        yield from _altered_text(value)
    elif value is None:
        yield from (("a number instead", 100), ("a text instead", "1/100"))
    elif isinstance(value, list):
        yield from _altered_list(value)
    elif isinstance(value, dict):
        yield "a key added", {**value, "extra": 1}


def _altered_text(value: str) -> Iterator[tuple[str, str]]:
    if _FRACTION.fullmatch(value):
        number = Fraction(value)
        for what, other in (
            ("a small factor up", number * SMALL),
            ("a small factor down", number / SMALL),
            ("a large factor up", number * LARGE + (number == 0)),
            ("a large factor down", number / LARGE),
            ("its sign turned", -number),
        ):
            if other != number:
                yield what, str(other)
        yield "another spelling", f"{number.numerator * 2}/{number.denominator * 2}"
    yield "a letter added", value + "x"
    if value:
        yield "its last letter removed", value[:-1]
        yield "its first letter changed", chr(ord(value[0]) ^ 1) + value[1:]
        yield "emptied", ""
    lines = value.splitlines(keepends=True)
    if len(lines) > 1:
        for place in range(len(lines)):
            yield f"line {place} removed", "".join(lines[:place] + lines[place + 1 :])
            yield f"line {place} twice", "".join([*lines[: place + 1], *lines[place:]])
    if len(lines) > 1 or "(" in value:
        for found in _NUMBER.finditer(value):
            whole = int(found[0])
            for fresh in (whole + 1, whole * LARGE, max(0, whole - 1)):
                if fresh != whole:
                    altered = value[: found.start()] + str(fresh) + value[found.end() :]
                    yield f"{whole} at {found.start()} is {fresh}", altered


def _altered_list(value: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    yield "an element added", [*value, value[-1] if value else 1]
    if value:
        yield "its first element removed", value[1:]
        yield "its last element removed", value[:-1]
        yield "its first element twice", [value[0], *value]
        yield "emptied", []
    if len(value) > 1 and value[0] != value[-1]:
        yield "two elements swapped", [value[-1], *value[1:-1], value[0]]


# --- arrays ------------------------------------------------------------------------------------


def _altered_array(array: Array) -> Iterator[tuple[str, Array]]:
    flat = array.reshape(-1)
    for place in sorted({0, len(flat) // 2, len(flat) - 1}) if len(flat) else ():
        for what, other in _altered_element(flat[place]):
            changed = flat.copy()
            changed[place] = other
            yield f"element {place} {what}", changed.reshape(array.shape)
    if len(flat) and np.any(flat != flat[0]):
        low, high = int(np.argmin(flat)), int(np.argmax(flat))
        changed = flat.copy()
        changed[low], changed[high] = flat[high], flat[low]
        yield "two elements swapped", changed.reshape(array.shape)
    if len(array):
        yield "its last element removed", array[:-1]
        yield "its last element twice", np.concatenate([array, array[-1:]])
    for kind in ("<i8", "<f8", "|b1", "<u8", "<i4"):
        if array.dtype != np.dtype(kind):
            yield f"of type {kind}", array.astype(kind)
    yield "of another shape", array[np.newaxis]


def _altered_element(value: Any) -> Iterator[tuple[str, Any]]:
    if value.dtype.kind == "b":
        yield "flipped", not value
    elif value.dtype.kind == "f":
        yield from (("up a little", value * 1.01 + 1e-3), ("down a little", value / 1.01 - 1e-3))
        yield from (("far up", value * LARGE + 1), ("not a number", np.nan))
    else:
        yield "up by one", value + value.dtype.type(1)
        if value.dtype.kind == "i":
            yield "down by one", value - value.dtype.type(1)
        yield "far up", value.dtype.type(abs(int(value)) * LARGE + 1000)


def _bytes_of(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(
        buffer, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False
    )
    return buffer.getvalue()
