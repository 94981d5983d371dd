"""One service for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.running import Running, running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("service")) as found:
        yield found
