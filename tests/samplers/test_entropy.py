"""Secret randomness: fresh in every process and thread, never seeded, and not to be replaced
except through the test door."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet
from discreet import samplers
from discreet.core.test_door import injected_entropy
from discreet.samplers import entropy as entropy_module
from discreet.samplers.entropy import Entropy, current_entropy, entropy_is_injected, system_entropy
from tests.chosen_entropy import ConstantEntropy, RecordedEntropy, ReplayedEntropy
from tests.samplers.test_samplers_goodness_of_fit import fit

SOURCES = Path(discreet.__file__).parent
pytestmark = pytest.mark.fresh_noise


def run_script(text: str, where: Path) -> list[str]:
    """The lines that a Python script prints, run on its own: a fork in a process with threads warns."""
    script = where / "workers.py"
    script.write_text(textwrap.dedent(text))
    environment = {**os.environ, "PYTHONPATH": str(SOURCES.parent)}
    ran = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_children_never_share_noise(tmp_path):
    """Parent and children draw 32 bytes each; equal ones by chance: 2^-250."""
    printed = run_script(
        """
        import os, sys
        import numpy as np
        from discreet.samplers.entropy import system_entropy
        source = system_entropy()
        draw = lambda: source.words(32, np.uint8).tobytes().hex()
        draw()  # the parent has a keystream before it forks
        for _ in range(8):
            if os.fork() == 0:
                os.write(1, (draw() + "\\n").encode())
                if os.fork() == 0:
                    os.write(1, (draw() + "\\n").encode())
                    os._exit(0)
                os.wait()
                os._exit(0)
            os.wait()
        print(draw())
        """,
        tmp_path,
    )
    assert len(printed) == 17 and len(set(printed)) == 17


def test_a_pool_of_workers_never_shares_noise(tmp_path):
    """With both ways in which Python starts workers, spawn and fork."""
    printed = run_script(
        """
        import multiprocessing as mp
        from fractions import Fraction
        import os
        def draw(_):
            from discreet.samplers import discrete_laplace
            return ",".join(map(str, discrete_laplace(Fraction(10**9), 8).tolist()))
        if __name__ == "__main__":
            print(draw(0))
            for method in {"spawn", "fork"} & set(mp.get_all_start_methods()):
                with mp.get_context(method).Pool(2) as pool:
                    print(*pool.map(draw, range(8), chunksize=1))
        """,
        tmp_path,
    )
    assert len(printed) >= 9 and len(set(printed)) == len(printed)


def test_threads_never_share_noise():
    drawn: list[bytes] = []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        for _ in range(50):
            drawn.append(system_entropy().words(32, np.uint8).tobytes())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 400 and len(set(drawn)) == 400


def test_threads_that_share_a_sampler_draw_different_noise():
    drawn: list[tuple[int, ...]] = []

    def work() -> None:
        for _ in range(20):
            drawn.append(tuple(samplers.discrete_gaussian(Fraction(10**12), 8).tolist()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 80


def key_of(source: Entropy) -> object:
    """The identity of this thread's keystream."""
    return source._local.keystream.encryptor


def test_a_new_process_number_forces_a_new_key(monkeypatch):
    """For a fork that does not run Python's hooks."""
    source = Entropy()
    source.bits(1)
    before = key_of(source)
    source.bits(1)
    assert key_of(source) is before
    number = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: number + 1)
    source.bits(1)
    assert key_of(source) is not before


def test_a_counted_fork_forces_a_new_key(monkeypatch):
    """For a child that has its grandparent's process number."""
    monkeypatch.setattr(entropy_module, "_forks", 0)
    source = Entropy()
    source.bits(1)
    before = key_of(source)
    entropy_module._count_fork()
    source.bits(1)
    assert key_of(source) is not before


def test_a_key_is_dropped_after_much_use(monkeypatch):
    monkeypatch.setattr(entropy_module, "REKEY_AFTER_BYTES", 1000)
    source = Entropy()
    source.words(600, np.uint8)
    before = key_of(source)
    source.words(600, np.uint8)
    assert key_of(source) is not before


def test_two_sources_have_keys_of_their_own():
    assert Entropy().bits(256) != Entropy().bits(256)


def test_the_words_are_uniform():
    """Chi-square of 4 million bytes and of their bits, 1e-9: catches a byte 2% too frequent."""
    words = system_entropy().words(4_000_000, np.uint8)
    assert fit(np.bincount(words, minlength=256), np.full(256, 1 / 256)).passes
    assert fit(np.bincount(np.unpackbits(words)), np.full(2, 0.5)).passes


@pytest.mark.parametrize("count", [0, 1, 7, 1 << 20, (1 << 20) + 1])
def test_any_number_of_words_is_given_and_none_repeats(count):
    words = system_entropy().words(count, np.uint64)
    assert words.shape == (count,) and words.dtype == np.uint64
    assert np.unique(words).size == count  # a collision by chance: 3e-8 at the largest count


def test_bits_fill_their_range():
    assert {system_entropy().bits(3) for _ in range(1000)} == set(range(8))
    assert system_entropy().bits(0) == 0
    assert max(system_entropy().bits(130) for _ in range(100)) >> 129 == 1


def test_signed_or_float_words_are_refused():
    for kind in (np.int64, np.float64, bool):
        with pytest.raises(TypeError, match="unsigned"):
            system_entropy().words(1, kind)


def test_entropy_cannot_be_copied_or_pickled():
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="same noise"):
            copying(system_entropy())


def test_nothing_accepts_a_seed():
    assert not inspect.signature(Entropy).parameters
    for name in samplers.__all__:
        parameters = inspect.signature(getattr(samplers, name)).parameters
        assert not [p for p in parameters if "seed" in p or "random" in p or "rng" in p]


def test_only_tests_and_audits_open_the_test_door():
    """Everything else, the public API and the command line included, does not name it."""
    for source in SOURCES.rglob("*.py"):
        place = source.relative_to(SOURCES)
        if place.parts[0] == "audits" or place == Path("core/test_door.py"):
            continue
        for line in source.read_text().splitlines():
            assert not ("import" in line and "test_door" in line), place
            assert "_injected.set" not in line, place
    assert "test_door" not in " ".join(dir(discreet))


def test_importing_the_package_does_not_load_the_test_door(tmp_path):
    printed = run_script(
        """
        import sys
        import discreet, discreet.samplers
        print("discreet.core.test_door" in sys.modules)
        """,
        tmp_path,
    )
    assert printed == ["False"]


def test_injected_entropy_ends_with_its_block_and_stays_in_its_thread():
    elsewhere: list[bool] = []
    with injected_entropy(ConstantEntropy(0)) as source:
        assert entropy_is_injected() and current_entropy() is source
        assert (samplers.discrete_laplace(Fraction(10**6), 5) == 0).all()
        assert system_entropy().bits(256) != 0
        thread = threading.Thread(target=lambda: elsewhere.append(entropy_is_injected()))
        thread.start()
        thread.join()
    assert elsewhere == [False]
    assert not entropy_is_injected() and current_entropy() is system_entropy()


def test_injected_entropy_ends_with_an_error_too():
    with pytest.raises(RuntimeError), injected_entropy(ConstantEntropy(0)):
        raise RuntimeError
    assert not entropy_is_injected()


def test_recorded_entropy_replays_to_the_same_noise():
    recorded = RecordedEntropy()
    first = samplers.discrete_gaussian(Fraction(100), 1000, entropy=recorded)
    again = samplers.discrete_gaussian(
        Fraction(100), 1000, entropy=ReplayedEntropy(recorded.tape, after=ConstantEntropy(0))
    )
    assert (first == again).all()
