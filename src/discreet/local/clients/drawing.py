"""Reports drawn exactly, by each protocol's own rational probabilities.

Every outcome is decided by uniform integers below a bound: no float decides what is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from discreet import samplers
from discreet.arrays import Integers
from discreet.errors import BadInput
from discreet.local.protocols import LocalHashing, Piecewise, RandomisedResponse, UnaryEncoding
from discreet.samplers.entropy import EntropySource

Protocol = RandomisedResponse | UnaryEncoding | LocalHashing | Piecewise
BITS_AT_ONCE = 1 << 24


def randomised(
    protocol: Protocol,
    true: Sequence[int] | Integers,
    *,
    entropy: EntropySource | None = None,
) -> npt.NDArray[Any]:
    """One report for each true value: its number among the declared ones, or its point on the grid."""
    values = np.asarray(true, dtype=np.int64)
    most = protocol.cells if isinstance(protocol, Piecewise) else protocol.values - 1
    if values.size and not (int(values.min()) >= 0 and int(values.max()) <= most):
        raise BadInput(f"An answer lies outside the {most + 1:,} declared ones.")
    match protocol:
        case RandomisedResponse():
            return respond(protocol, values, entropy)
        case UnaryEncoding():
            return _bits(protocol, values, entropy)
        case LocalHashing():
            functions = samplers.uniform_below(protocol.family, values.size, entropy=entropy)
            hashed = protocol.hashes(functions, values)
            return functions * protocol.base + respond(protocol.response, hashed, entropy)
        case Piecewise():
            return _number(protocol, values, entropy)
    assert_never(protocol)


def respond(
    protocol: RandomisedResponse, true: Integers, entropy: EntropySource | None
) -> Integers:
    """The truth with its probability, else another answer by a uniform turn."""
    coins = samplers.uniform_below(protocol.truth.denominator, true.size, entropy=entropy)
    lies = coins >= protocol.truth.numerator
    turn = 1 + samplers.uniform_below(protocol.answers - 1, true.size, entropy=entropy)
    return np.where(lies, (true + turn) % protocol.answers, true)


def _bits(
    protocol: UnaryEncoding, true: Integers, entropy: EntropySource | None
) -> npt.NDArray[np.uint8]:
    found = np.empty((true.size, protocol.values), dtype=np.uint8)
    step = max(1, BITS_AT_ONCE // protocol.values)
    for start in range(0, true.size, step):
        part = true[start : start + step]
        coins = samplers.uniform_below(
            protocol.stray.denominator, part.size * protocol.values, entropy=entropy
        ).reshape(part.size, protocol.values)
        found[start : start + step] = coins < protocol.stray.numerator
        own = samplers.uniform_below(2, part.size, entropy=entropy)
        found[start + np.arange(part.size), part] = own
    return found


def _number(protocol: Piecewise, points: Integers, entropy: EntropySource | None) -> Integers:
    """One uniform integer below the total weight decides where the report lies."""
    drawn = samplers.uniform_below(protocol.total, points.size, entropy=entropy)
    inside = drawn < protocol.likely * protocol.width
    near = points + drawn // protocol.likely
    place = (drawn - protocol.likely * protocol.width) // protocol.unlikely
    far = np.where(place < points, place, place + protocol.width)
    return np.where(inside, near, far)
