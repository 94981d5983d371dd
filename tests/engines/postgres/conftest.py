"""The tests' own PostgreSQL server, and a table in it."""

from __future__ import annotations

import pytest

from tests.engines.four_people import TABLE
from tests.postgres_server import Server, postgres_source, server


@pytest.fixture
def postgres() -> Server:
    return server()


@pytest.fixture
def source() -> str:
    return postgres_source(TABLE)
