"""A release as the data that it consists of, for tests that look inside it."""

from __future__ import annotations

from typing import Any

from discreet import releases
from discreet.artifacts.release import Release


def release(*arguments: Any, **options: Any) -> Release:
    return releases.release(*arguments, **options).release


def release_to_file(*arguments: Any, **options: Any) -> Release:
    return releases.release_to_file(*arguments, **options).release
