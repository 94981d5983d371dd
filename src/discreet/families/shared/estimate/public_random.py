"""Public randomness: the only module that may seed a generator.

For synthetic rows, starting points, projections and attacks: everything that is computed from
published numbers and may be repeated by anyone. Noise that protects people never comes from here;
it is drawn in the core, from the operating system's entropy.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import BadInput


def generator(seed: int | None = None) -> np.random.Generator:
    """A generator of public randomness; the same `seed` gives the same numbers."""
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise BadInput(f"A seed is a whole number of at least 0, not {seed!r}.")
    return np.random.Generator(np.random.PCG64(seed))
