"""A release as plain JSON and a list of arrays, and back. Rational numbers are texts: exact.

Everything read here is checked against the schema: an array has the size that its query has, a
number is a number. Costs and sensitivities are read as recorded; `answers.verify` recomputes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.artifacts.measurement import (
    Measurement,
    Selection,
    TreeLevel,
    TreeMeasurement,
)
from discreet.artifacts.release import (
    FORMAT_VERSION,
    ErrorClaim,
    Measured,
    Naming,
    Part,
    Release,
)
from discreet.artifacts.statement import privacy_statement
from discreet.errors import BadRelease
from discreet.privacy.adjacency import Sensitivity
from discreet.privacy.budget import Budget
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import law_from_dict
from discreet.queries.classes import parse_class
from discreet.queries.registry import query_from_dict
from discreet.queries.tree import Tree
from discreet.schema import Schema

Array = npt.NDArray[Any]
_FRACTION = re.compile(r"-?[0-9]{1,1000}(/[1-9][0-9]{0,999})?", re.ASCII)


class Kept:
    """The arrays of a file, in the order of their numbers."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.arrays: list[Array] = []

    def __call__(self, array: Array) -> int:
        self.arrays.append(np.asarray(array))
        return len(self.arrays) - 1


def manifest_of(
    release: Release, *, version: int = FORMAT_VERSION
) -> tuple[dict[str, Any], list[Array]]:
    """The manifest of a file of some version, and the arrays that it refers to by number."""
    kept = Kept(version)
    statement = privacy_statement(release)
    manifest = {
        "dataset": release.schema.dataset,
        "schema": release.schema.dumps(),
        "budget": release.budget.to_dict(),
        "accounting": release.accounting.value,
        "public_rows": release.public_rows,
        "software": release.software,
        "workload": list(release.workload),
        "privacy": {"words": list(statement.words), "data": statement.data},
        "claims": [
            {
                "class": claim.query_class,
                "bound": claim.bound if math.isfinite(claim.bound) else None,
                "confidence": claim.confidence,
                "simultaneous": claim.simultaneous,
                "theorem": claim.theorem,
                **({"among": claim.among} if claim.among else {}),
            }
            for claim in release.claims
        ],
        "parts": [
            {
                "kind": part.kind,
                "class": part.query_class.text,
                "weight": str(part.query_class.weight),
                "algorithm": part.algorithm,
                "facts": dict(part.facts),
                "measurements": [each.stored(kept) for each in part.measurements],
                "estimates": {name: kept(array) for name, array in sorted(part.estimates.items())},
            }
            for part in release.parts
        ],
    }
    return manifest, kept.arrays


def release_of(manifest: Mapping[str, Any], arrays: Mapping[int, Array]) -> Release:
    """The inverse of `manifest_of`. Anything unexpected fails; nothing is guessed."""
    schema = Schema.loads(_text(manifest["schema"]))
    reader = _Reader(schema, arrays)
    rows = manifest["public_rows"]
    release = Release(
        schema=schema,
        budget=_budget(manifest["budget"]),
        accounting=Accounting(manifest["accounting"]),
        parts=tuple(reader.part(part) for part in _list(manifest["parts"])),
        public_rows=None if rows is None else _whole(rows),
        claims=tuple(_claim(claim) for claim in _list(manifest["claims"])),
        software=_text(manifest["software"]),
    )
    if reader.used != set(arrays):
        raise BadRelease("it holds arrays that nothing refers to.")
    return release


class _Reader:
    def __init__(self, schema: Schema, arrays: Mapping[int, Array]) -> None:
        self.schema, self.arrays = schema, arrays
        self.used: set[int] = set()

    def part(self, data: Mapping[str, Any]) -> Part:
        query_class = parse_class(f"{_text(data['class'])} * {_weight(data['weight'])}")
        query_class.check(self.schema)
        facts = data["facts"]
        if not isinstance(facts, dict):
            raise BadRelease("a part's facts are not readable.")
        return Part(
            kind=_text(data["kind"]),
            query_class=query_class,
            algorithm=_text(data["algorithm"]),
            measurements=tuple(self.measured(each) for each in _list(data["measurements"])),
            estimates={name: self.array(place) for name, place in data["estimates"].items()},
            facts=facts,
        )

    def array(self, place: Any, kind: str | None = None) -> Array:
        place = _whole(place)
        if place in self.used or place not in self.arrays:
            raise BadRelease("it lacks an array, or refers to one twice.")
        self.used.add(place)
        array = self.arrays[place]
        if kind is not None and array.dtype != np.dtype(kind):
            raise BadRelease("an array is not of the type that its place needs.")
        return array

    def measured(self, data: Mapping[str, Any]) -> Measured:
        match data["type"]:
            case "noise":
                query = query_from_dict(_of_whole_numbers(data["query"]))
                values = self.array(data["values"], "<i8")
                if values.shape != (query.size(self.schema),):
                    raise BadRelease("a measurement does not have as many numbers as its query.")
                return Measurement(
                    query=query,
                    law=law_from_dict(data["law"]),
                    sensitivity=Sensitivity(_whole(data["l1"]), _whole(data["l2_squared"])),
                    cost=_cost(data["cost"]),
                    values=values,
                )
            case "selection":
                return Selection(
                    chosen=_whole(data["chosen"]),
                    candidates=_whole(data["candidates"]),
                    sensitivity=_whole(data["sensitivity"]),
                    cost=_cost(data["cost"]),
                )
            case "naming":
                return Naming(
                    columns=tuple(map(_text, _list(data["columns"]))),
                    keys=tuple(tuple(map(_text, _list(key))) for key in _list(data["keys"])),
                    touched=_whole(data["touched"]),
                    cost=_cost(data["paid"]),
                )
            case "tree":
                tree = Tree.from_dict(_of_whole_numbers(data["tree"]))
                tree.check(self.schema)
                levels: list[TreeLevel] = []
                for level in _list(data["levels"]):
                    levels.append(self.level(level, tree, levels[-1] if levels else None))
                return TreeMeasurement(
                    tree=tree,
                    levels=tuple(levels),
                    path_epsilon=_fraction(data["path_epsilon"]),
                    cost=_cost(data["cost"]),
                    weights=tuple(map(_whole, _list(data.get("weights", [])))),
                )
        raise BadRelease("it holds a kind of measurement that this version does not know.")

    def level(self, data: Mapping[str, Any], tree: Tree, above: TreeLevel | None) -> TreeLevel:
        number, first = _whole(data["level"]), self.array(data["first"], "<i8")
        if number >= len(tree.depths) or first.ndim != 1:
            raise BadRelease("a level of a tree does not have the shape of its tree.")
        if "nodes" in data:  # up to format 2
            nodes = self.array(data["nodes"], "<u8")
        else:
            nodes = self.nodes(tree, number, above, most=len(first))
        level = TreeLevel(
            level=number,
            nodes=nodes,
            first=first,
            values=self.array(data["values"], "<i8"),
            stopped=self.array(data["stopped"], "|b1"),
            first_epsilon=_fraction(data["first_epsilon"]),
            stopped_epsilon=_fraction(data["stopped_epsilon"]),
            refined_epsilon=_fraction(data["refined_epsilon"]),
        )
        sized = all(array.shape == first.shape for array in (level.values, level.stopped))
        if not sized or nodes.shape != (len(first), len(tree.columns)):
            raise BadRelease("a level of a tree does not have the shape of its tree.")
        return level

    def nodes(self, tree: Tree, level: int, above: TreeLevel | None, *, most: int) -> Array:
        """The nodes of a level: the children of those above that were not stopped. No more than `most` are made."""
        at, nodes = (
            (0, tree.root()) if above is None else (above.level, above.nodes[~above.stopped])
        )
        if level <= at and above is not None:
            raise BadRelease("the levels of a tree are out of order.")
        for step in range(at, level):
            nodes = tree.children(nodes, step, self.schema, most=most)
        nodes.flags.writeable = False
        return nodes


def _claim(data: Mapping[str, Any]) -> ErrorClaim:
    return ErrorClaim(
        query_class=_text(data["class"]),
        bound=math.inf if data["bound"] is None else float(data["bound"]),
        confidence=float(data["confidence"]),
        simultaneous=data["simultaneous"] is True,
        theorem=_text(data["theorem"]),
        among=_text(data.get("among", "")),
    )


def _cost(data: Mapping[str, Any]) -> Cost:
    epsilon, rho = data["epsilon"], data["rho"]
    return Cost(
        epsilon=None if epsilon is None else _fraction(epsilon),
        delta=_fraction(data["delta"]),
        rho=None if rho is None else _fraction(rho),
    )


def _budget(data: Any) -> Budget:
    if not isinstance(data, dict) or not all(
        isinstance(v, str) and _FRACTION.fullmatch(v) for v in data.values()
    ):
        raise BadRelease("its budget is not readable.")
    return Budget.from_dict(data)


def _weight(value: Any) -> str:
    weight = _fraction(value)
    return str(weight.numerator) if weight.denominator == 1 else str(weight)


def _fraction(value: Any) -> Fraction:
    if not isinstance(value, str) or not _FRACTION.fullmatch(value):
        raise BadRelease("a number in it is not an exact fraction.")
    return Fraction(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadRelease("a number in it is not a whole number of at least 0.")
    return value


def _of_whole_numbers(value: Any) -> Any:
    """What defines a query holds texts and whole numbers only: 2.0 is a number that shifts and sizes are not."""
    if isinstance(value, float | bool):
        raise BadRelease("a number in a query is not a whole number.")
    if isinstance(value, list) and set(map(type, value)) == {int}:
        return value  # bins of a column may be thousands
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _of_whole_numbers(each)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadRelease("a value in it that must be a text is not one.")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise BadRelease("a value in it that must be a list is not one.")
    return value
