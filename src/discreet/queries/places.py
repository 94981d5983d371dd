"""Code named by its place, `module:name`, and loaded by whoever needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def loaded(place: str) -> Any:
    """The object at `module:name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
