"""From people's true answers to their reports: what a client runs before anything leaves it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet import samplers
from discreet.local.clients.drawing import randomised
from discreet.local.question import Question
from discreet.samplers.entropy import EntropySource

FINE = 1 << 30
"""Between two points of the grid a number is rounded at random, so that the mean stays what it is."""


def perturb(
    question: Question,
    answers: Sequence[Any] | npt.NDArray[Any],
    *,
    entropy: EntropySource | None = None,
) -> npt.NDArray[Any]:
    """One report for each true answer. The true answers are not kept.

    No answer makes a client stop, for that would tell of it. Numbers beyond the bounds count as the nearest bound, and what is
    no number as the lower one. An undeclared value counts as any declared one, drawn evenly.
    """
    if question.is_number:
        points = _points(question, answers, entropy)
        return randomised(question.number_protocol, points, entropy=entropy)
    codes = _coded(question, answers, entropy)
    return randomised(question.value_protocol, codes, entropy=entropy)


def _coded(
    question: Question,
    answers: Sequence[Any] | npt.NDArray[Any],
    entropy: EntropySource | None,
) -> npt.NDArray[np.int64]:
    """Declared values by their numbers; an undeclared one counts as any declared value, drawn evenly.

    A client that stopped, or refused, would tell that its answer is undeclared.
    """
    known = {value: code for code, value in enumerate(question.values)}
    texts = map(_text, answers)
    codes = np.array(
        [-1 if text is None else known.get(text, -1) for text in texts], dtype=np.int64
    )
    unknown = codes < 0
    codes[unknown] = samplers.uniform_below(len(known), int(unknown.sum()), entropy=entropy)
    return codes


def _points(
    question: Question,
    answers: Sequence[Any] | npt.NDArray[Any],
    entropy: EntropySource | None,
) -> npt.NDArray[np.int64]:
    """The grid's points. Whatever is done here to one's own answer, the report after it is epsilon-DP."""
    assert question.bounds is not None
    low, high = (float(end) for end in question.bounds)
    cells = question.number_protocol.cells
    numbers = np.array([_number(answer, low) for answer in answers])
    # Halves, for the bounds may be further apart than a double reaches; as far as none, they are one point.
    width = high / 2 - low / 2 or 1.0
    scaled = np.clip((np.clip(numbers, low, high) / 2 - low / 2) / width * cells, 0, cells)
    below = np.floor(scaled)
    rest = ((scaled - below) * FINE).astype(np.int64)
    up = samplers.uniform_below(FINE, len(rest), entropy=entropy) < rest
    return np.asarray(np.minimum(below.astype(np.int64) + up, cells))


def _text(answer: object) -> str | None:
    try:
        return str(answer)
    except Exception:  # such as a whole number of 5,000 digits
        return None


def _number(answer: Any, low: float) -> float:
    try:
        found = float(answer)
    except OverflowError:
        return math.inf if isinstance(answer, int | Fraction) and answer > 0 else -math.inf
    except Exception:  # whatever it is, it is no number
        return low
    return low if math.isnan(found) else found
