"""What holds for every test."""

from __future__ import annotations

import pytest
from hypothesis import settings

from discreet.core import noise
from discreet.samplers.entropy import entropy_is_injected

# `make test` tries the same examples each time, so that a green tree stays green; `make trust` looks for new ones.
settings.register_profile("same", derandomize=True, database=None)
settings.register_profile("search", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def noise_is_on() -> None:
    """No test begins behind the test door: a fixture that left it open would turn the noise of others off."""
    assert noise._observer.get() is None, "A fixture left the test door open."
    assert not entropy_is_injected(), "A fixture left injected entropy behind."
