"""`release` and `release_to_file` as the public API has them: what they return can be asked at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

from discreet.answering import ReleaseReader
from discreet.artifacts.release import Release
from discreet.releases import run

P = ParamSpec("P")


def _readable(make: Callable[P, Release]) -> Callable[P, ReleaseReader]:
    @functools.wraps(make)
    def made(*arguments: P.args, **options: P.kwargs) -> ReleaseReader:
        return ReleaseReader(make(*arguments, **options))

    made.__annotations__["return"] = "ReleaseReader"
    return made


release = _readable(run.release)
release_to_file = _readable(run.release_to_file)
