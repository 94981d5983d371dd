"""`Session`: what the shared queries ask of a connection to a database."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.engines.sql.expressions import Compiler
from discreet.engines.sql.syntax import Sql
from discreet.queries.tallies import FoundKeys


class Session(Protocol):
    """Runs queries. Its messages quote no row, and a query and its result are one step."""

    def rows(self, query: Sql) -> list[tuple[Any, ...]]:
        """For few rows, texts, and integers beyond 64 bits."""
        ...

    def arrays(
        self, query: Sql, *, beside: Mapping[str, Mapping[str, NDArray[Any]]] | None = None
    ) -> list[NDArray[np.generic]]:
        """The columns of a result of integers without nulls; `beside` are tables in memory, by name."""
        ...

    def lookup(self, found: FoundKeys, compiler: Compiler) -> AbstractContextManager[Sql]:
        """The place of a row's key among the found ones; null where it is none of them."""
        ...
