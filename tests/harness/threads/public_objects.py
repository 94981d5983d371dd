"""The public objects, found by looking: the public names, and every class that they hand out.

A class is reached by the type of what a public function, method, property or field returns. So a class
or a method that is added later is found here without being listed, and an audit that walks these
either tries it or says that it does not know how.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import discreet

SPOKEN = ("__len__", "__iter__", "__getitem__", "__str__", "_repr_html_")
"""What a user calls without its name: len(), for, [], print() and a notebook's display."""


def public_functions() -> dict[str, Any]:
    """The functions among the public names."""
    named = {name: getattr(discreet, name) for name in discreet.__all__}
    return {name: each for name, each in named.items() if inspect.isfunction(each)}


def public_classes() -> list[type]:
    """The classes among the public names, and those of everything that they return, in order."""
    found: dict[type, None] = {}
    left = [getattr(discreet, name) for name in discreet.__all__]
    while left:
        each = left.pop(0)
        if inspect.isclass(each):
            if each in found:
                continue
            found[each] = None
        left += _returned(each)
    return sorted(found, key=lambda each: each.__name__)


def public_members(owner: type) -> list[str]:
    """Methods and properties that a user may call, by name: those that the project wrote."""
    names = []
    for name, each in inspect.getmembers_static(owner):
        if name.startswith("_") and name not in SPOKEN:
            continue
        function = _function(each)
        if function is not None and (function.__module__ or "").startswith("discreet"):
            names.append(name)
    return names


def needs_arguments(owner: type, name: str) -> bool:
    """Whether a method cannot be called without arguments."""
    each = inspect.getattr_static(owner, name)
    if isinstance(each, property):
        return False
    parameters = list(inspect.signature(getattr(owner, name)).parameters.values())
    if not isinstance(each, (classmethod, staticmethod)):
        parameters = parameters[1:]
    return any(
        one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        for one in parameters
    )


def _function(each: object) -> Any:
    """The function behind a method, a property or a cached property."""
    if isinstance(each, property):
        return each.fget
    if isinstance(each, (classmethod, staticmethod)):
        return each.__func__
    if hasattr(each, "attrname"):  # a cached property
        return each.func  # type: ignore[attr-defined]
    return each if inspect.isfunction(each) else None


def _returned(each: Any) -> Iterator[type]:
    """The project's classes among what a function returns, or what a class's members are."""
    if inspect.isclass(each):
        for name in public_members(each):
            yield from _returned(_function(inspect.getattr_static(each, name)))
        if is_dataclass(each):
            hints = typing.get_type_hints(each)
            for one in fields(each):
                if not one.name.startswith("_"):
                    yield from _classes(hints[one.name])
    elif inspect.isfunction(each) and "return" in each.__annotations__:
        alone = types.SimpleNamespace(__annotations__={"return": each.__annotations__["return"]})
        names = {**inspect.unwrap(each).__globals__, **each.__globals__}
        yield from _classes(typing.get_type_hints(alone, names)["return"])


def _classes(hint: Any) -> Iterator[type]:
    if inspect.isclass(hint) and not isinstance(hint, types.GenericAlias):
        if hint.__module__.startswith("discreet"):
            yield hint
        return
    for part in typing.get_args(hint):
        yield from _classes(part)
