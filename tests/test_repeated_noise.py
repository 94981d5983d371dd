"""`make test` draws the same noise each time, and other noise for each test."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import numpy as np
import pytest

from discreet.samplers import entropy
from discreet.samplers.entropy import system_entropy
from tests.repeated_noise import noise_of


def drawn(label: str | None) -> int:
    with noise_of(label):
        return system_entropy().bits(256)


def test_a_label_repeats_its_noise_and_shares_it_with_no_other():
    assert drawn("one") == drawn("one") != drawn("two")


@pytest.mark.parametrize(
    "number",
    [
        lambda: int(np.random.default_rng().integers(1 << 62)),
        lambda: random.SystemRandom().getrandbits(64),
    ],
    ids=["NumPy", "random"],
)
def test_seeds_of_the_system_are_repeated_too(number: Callable[[], int]) -> None:
    found = []
    for label in ("one", "one", "two", None, None):
        with noise_of(label):
            found.append((number(), number()))
    assert found[0] == found[1] and found[0][0] != found[0][1]
    assert len(set(found)) == 4


def test_threads_of_one_label_draw_different_noise():
    seen: list[int] = []
    with noise_of("threads"):
        workers = [
            threading.Thread(target=lambda: seen.append(system_entropy().bits(256)))
            for _ in range(4)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert len(set(seen)) == 4


def test_without_a_label_noise_is_fresh():
    assert drawn(None) != drawn(None)


def test_what_was_drawn_from_before_goes_on_after():
    with noise_of("outer"):
        first, second = system_entropy().bits(256), system_entropy().bits(256)
    with noise_of("outer"):
        assert system_entropy().bits(256) == first
        with noise_of("inner"):
            assert system_entropy().bits(256) != second
        assert system_entropy().bits(256) == second


@pytest.mark.fresh_noise
def test_a_test_with_the_mark_has_the_products_own_keystream():
    assert entropy._Keystream.__module__ == "discreet.samplers.entropy"


def test_others_have_a_keystream_of_their_name(request: pytest.FixtureRequest):
    is_fresh = request.config.getoption("--fresh-noise")
    assert (entropy._Keystream.__module__ == "tests.repeated_noise") is not is_fresh
