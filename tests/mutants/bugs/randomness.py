"""Bugs 14 to 17: noise that is not fresh, secret and of its law."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ENTROPY = "tests/samplers/test_entropy.py"
NOISE = "tests/kernel/test_noise_guards.py"
LAWS = "tests/samplers/test_samplers_laws.py"
CHOICES = "tests/samplers/test_samplers_choices.py"
LINT = (
    "tests/tools/test_privacy_lint.py::test_the_tree_is_clean_and_every_exemption_is_still_needed"
)

RANDOMNESS = (
    Mutant(
        name="one-draw-for-all-cells",
        trap=14,
        file="src/discreet/core/noise.py",
        old="return saturated(exact) + self.draw(law, exact.size)",
        new="return saturated(exact) + self.draw(law, 1)",
        tests=(f"{NOISE}::test_every_cell_of_every_run_has_a_draw_of_its_own",),
        quick=True,
    ),
    Mutant(
        name="noise-from-a-fixed-key",
        trap=14,
        file="src/discreet/samplers/entropy.py",
        old="cipher = Cipher(algorithms.AES(os.urandom(KEY_BYTES)), modes.CTR(os.urandom(BLOCK_BYTES)))",
        new="cipher = Cipher(algorithms.AES(bytes(KEY_BYTES)), modes.CTR(bytes(BLOCK_BYTES)))",
        tests=(f"{ENTROPY}::test_threads_never_share_noise",),
    ),
    Mutant(
        name="entropy-that-can-be-copied",
        trap=14,
        file="src/discreet/samplers/entropy.py",
        old="        return keystream\n\n    __reduce__ = never_copied\n",
        new="        return keystream\n",
        tests=(f"{ENTROPY}::test_entropy_cannot_be_copied_or_pickled",),
    ),
    Mutant(
        name="noise-from-numpys-generator",
        trap=15,
        file="src/discreet/samplers/entropy.py",
        old="        # The cipher wants room for one more block than it writes.\n",
        new="        return np.random.default_rng().integers(0, 256, size, dtype=np.uint8)\n",
        tests=(LINT,),
    ),
    Mutant(
        name="forked-workers-share-a-keystream",
        trap=16,
        file="src/discreet/samplers/entropy.py",
        old="if keystream is None or keystream.owner != owner or keystream.left < size:",
        new="if keystream is None or keystream.left < size:",
        tests=(f"{ENTROPY}::test_a_counted_fork_forces_a_new_key",),
    ),
    Mutant(
        name="a-fork-by-a-c-library-is-not-noticed",
        trap=16,
        file="src/discreet/samplers/entropy.py",
        old="owner = (os.getpid(), _forks)",
        new="owner = (0, _forks)",
        tests=(f"{ENTROPY}::test_a_new_process_number_forces_a_new_key",),
    ),
    Mutant(
        name="threads-share-a-keystream-without-a-lock",
        trap=16,
        file="src/discreet/samplers/entropy.py",
        old="        self._local = threading.local()\n",
        new="        self._local = type('Shared', (), {})()\n",
        tests=(f"{NOISE}::test_a_thread_has_a_key_of_its_own",),
    ),
    Mutant(
        name="uniform-numbers-by-modulo",
        trap=17,
        file="src/discreet/samplers/uniform.py",
        old="        kept = words[words <= kind.type(bound - 1)][: count - done]\n",
        new="        kept = (words % kind.type(bound))[: count - done]\n",
        tests=(f"{LAWS}::test_uniform_numbers_below_a_bound_are_uniform",),
    ),
    Mutant(
        name="laplace-zero-counted-twice",
        trap=17,
        file="src/discreet/samplers/laplace.py",
        old="    outcomes = [*digits, *(~digit for digit in digits)]\n",
        new="    outcomes = [*digits, *(-digit for digit in digits)]\n",
        tests=(f"{LAWS}::test_laplace_noise_is_zero_as_often_as_its_pmf_says",),
    ),
    Mutant(
        name="a-law-without-a-sampler-is-drawn-by-another",
        trap=17,
        file="src/discreet/samplers/laws.py",
        old="    sampler = SAMPLERS.get(type(law))\n",
        new="    sampler = SAMPLERS.get(type(law), lambda law, n, _: discrete_laplace(law.epsilon, n))\n",
        tests=(
            "tests/extending/test_noise_law.py::"
            "test_a_law_that_is_not_registered_is_neither_drawn_nor_read",
        ),
    ),
    Mutant(
        name="tail-of-the-noise-cut-off",
        trap=17,
        file="src/discreet/samplers/laplace.py",
        old="        if not rare.size:\n            return drawn\n",
        new="        if rare.size >= 0:\n            return drawn\n",
        tests=(
            "tests/samplers/test_samplers_ties.py::"
            "test_laplace_noise_keeps_its_law_when_ties_and_tails_abound",
        ),
    ),
    Mutant(
        name="gaussian-noise-of-one-sign",
        trap=17,
        file="src/discreet/samplers/gaussian.py",
        old="        signed: NDArray[Any] = np.where(negative, -rounded, rounded)\n",
        new="        signed: NDArray[Any] = np.where(negative, rounded, rounded)\n",
        tests=(f"{LAWS}::test_noise_is_as_often_positive_as_negative",),
    ),
    Mutant(
        name="gaussian-proposals-not-rejected",
        trap=17,
        file="src/discreet/samplers/gaussian.py",
        old="        kept: NDArray[Any] = drawn[accepted]\n",
        new="        kept: NDArray[Any] = drawn\n",
        tests=(f"{LAWS}::test_draws_follow_the_law",),
    ),
)
