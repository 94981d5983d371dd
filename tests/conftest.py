"""What holds for every test."""

from __future__ import annotations

import pytest

from discreet.core import noise
from discreet.samplers.entropy import entropy_is_injected


@pytest.fixture(autouse=True)
def noise_is_on() -> None:
    """No test begins behind the test door: a fixture that left it open would turn the noise of others off."""
    assert noise._observer.get() is None, "A fixture left the test door open."
    assert not entropy_is_injected(), "A fixture left injected entropy behind."
