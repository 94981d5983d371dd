"""Public randomness: the only module that may seed a generator.

For synthetic rows, starting points, projections and attacks: everything that is computed from
published numbers and may be repeated by anyone. Noise that protects people never comes from here;
it is drawn in the core, from the operating system's entropy.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Integers
from discreet.errors import BadInput
from discreet.privacy.laws import NoiseLaw


def drawn_like(law: NoiseLaw, many: int, public: np.random.Generator) -> Integers:
    """Draws much like those of a noise law, for plans and simulations: nobody is protected by them."""
    if law.sums_are_normal:
        drawn = public.normal(scale=law.std, size=many)
    else:
        drawn = public.laplace(scale=law.std / math.sqrt(2), size=many)
    return np.rint(drawn).astype(np.int64)


def generator(seed: int | None = None) -> np.random.Generator:
    """A generator of public randomness; the same `seed` gives the same numbers."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise BadInput(f"A seed is a whole number of at least 0, not {seed!r}.")
    return np.random.Generator(np.random.PCG64(seed))
