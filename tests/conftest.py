"""What holds for every test."""

from __future__ import annotations

import gc
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from discreet.core import noise
from discreet.ledger import Ledger
from discreet.samplers.entropy import entropy_is_injected
from tests import repeated_noise, workers

# `make test` tries the same examples each time, so that a green tree stays green; `make trust` looks for new ones.
# Neither fails because a machine is slow.
PATIENT: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, database=None, **PATIENT)
settings.register_profile("search", max_examples=1000, print_blob=True, **PATIENT)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def noise_is_on() -> None:
    """No test begins behind the test door: a fixture that left it open would turn the noise of others off."""
    assert noise._observer.get() is None, "A fixture left the test door open."
    assert not entropy_is_injected(), "A fixture left injected entropy behind."


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """A ledger of the test's own."""
    with Ledger.open(tmp_path / "state" / "ledger.db", patience=5) as opened:
        yield opened


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fresh-noise", action="store_true", help="draw other noise than in the run before"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with repeated_noise.noise_of(None if repeated_noise.is_fresh(item) else item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Iterator[None]:
    """A fixture of several tests draws the same, whichever of them comes first."""
    if fixturedef.scope == "function" or repeated_noise.is_fresh(request.node):
        return (yield)
    index = request.param_index if hasattr(request, "param_index") else 0
    with repeated_noise.noise_of(f"{fixturedef.baseid}::{fixturedef.argname}[{index}]"):
        return (yield)


def pytest_configure(config: pytest.Config) -> None:
    # What is started in the background ignores Ctrl-C, and so would every process that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # a worker is told the place by the first process
        folder = workers.temporary_files_in_memory()
        if folder is not None:
            config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    config.option.loadscopereorder = False
    return workers.ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: workers.place(item.nodeid.partition("::")[0]))


def pytest_collection_finish() -> None:
    """What was made so far stays: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()
