"""Statistics of many attributes from those of few: incidence inference (Dwork and Nissim 2004; survey, section 3).

For random subsets of the rows noisy counts of attribute a and of attribute b are published. In subsets where a is
heavier than usual, b is heavier too if a goes with b. So P(b | a) follows from counts of single attributes, and
counts of two sets of l attributes give conditionals of 2l attributes, which nobody measured.

`infer_incidence` does so with the answers of a release or of a curator. The subsets are the parts into which a column
splits the rows at random, such as a lot that was drawn for each row, or the last digits of a number that means nothing.

Two traps. Heavy subsets must be chosen by their NOISY counts, or the choice itself is a release. And choosing by a noisy
count picks its noise too: of the excess that is seen only sampling / (sampling + noise) of the variance is real. The estimate
is divided by that attenuation; without it, it is off by .37 at n = 10^6, with it by .06.

Measuring the pair of attributes directly is better by orders of magnitude (`direct_std`). The point is what is possible
for pairs that nobody thought of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from discreet.answering import ReleaseReader
from discreet.arrays import Bools, Floats
from discreet.artifacts.answers import Answers
from discreet.errors import BadInput, NotAnswerable
from discreet.questions.spelling import sql_name
from discreet.schema import Schema

FEWEST_PARTS = 20
UNLIKELY = 6.0
"""Standard deviations by which counts may differ more between parts than random parts differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """An estimate of P(b | a), from counts in random halves."""

    estimate: float
    uncorrected: float
    """Without the correction for attenuation: too small."""
    attenuation: float
    heavy: int
    """Subsets that were heavy in a, of all."""
    subsets: int


def infer_conditional(
    first: Floats,
    second: Floats,
    *,
    first_total: float,
    second_total: float,
    noise_variance: float,
    share: float = 0.5,
    noise_covariance: float = 0.0,
) -> Inference:
    """P(b | a) from noisy counts of a and b in random subsets that hold a `share` of the rows each.

    The totals are the (noisy) counts over all rows. A half of N rows with attribute a has a count of variance
    N/4; a subset is heavy where its noisy excess is at least one standard deviation. Where both counts of a subset share
    noise, what that adds to the excess of b is taken off.
    """
    if first.shape != second.shape or first.ndim != 1 or not first.size:
        raise BadInput("Counts of both attributes are needed for the same subsets, at least one.")
    if noise_variance < 0:
        raise BadInput("The variance of the noise is not negative.")
    if not 0 < share < 1:
        raise BadInput(f"A share of {share:g} is not between 0 and 1.")
    sampling = max(first_total, 1.0) * share * (1 - share)
    excess, beside = first - first_total * share, second - second_total * share
    heavy: Bools = excess >= math.sqrt(sampling + noise_variance)
    attenuation = sampling / (sampling + noise_variance)
    seen = float(excess[heavy].sum())
    raw = 0.5 if seen <= 0 else float(beside[heavy].sum()) / seen
    real = raw - noise_covariance / (sampling + noise_variance)
    return Inference(
        estimate=float(np.clip(real / attenuation if seen > 0 else 0.5, 0.0, 1.0)),
        uncorrected=float(np.clip(raw, 0.0, 1.0)),
        attenuation=attenuation,
        heavy=int(heavy.sum()),
        subsets=len(first),
    )


def inference_std(
    rows_with_first: float,
    rows_with_second: float,
    subsets: int,
    *,
    noise_variance: float,
    share: float = 0.5,
    conditional: float = 0.0,
) -> float:
    """About the standard error of the estimate, where many subsets are heavy.

    A heavy subset has a mean noisy excess of 1.53 standard deviations (of a normal number above 1), and 16% of the subsets are heavy. The
    error of b's excess is divided by the real excess of a, and averaged over the heavy subsets. `conditional` is P(b | a), as far as
    it is known: what of b's excess comes with a's is no error.
    """
    part = share * (1 - share)
    sampling = max(rows_with_first, 1.0) * part
    spread = math.sqrt(sampling + noise_variance)
    real = 1.525 * spread * sampling / (sampling + noise_variance)
    without = max(rows_with_second - conditional**2 * rows_with_first, 1.0)
    beside = math.sqrt(without * part + (1 + conditional**2) * noise_variance)
    return beside / (real * math.sqrt(max(1.0, 0.1587 * subsets)))


def direct_std(rows_with_first: float, share: float, *, noise_variance: float) -> float:
    """The standard error of P(b | a) from one noisy count of both and one of a: what measuring directly reaches."""
    if rows_with_first <= 0:
        raise BadInput("Some rows must have the first attribute.")
    return math.sqrt(noise_variance * (1 + share * share)) / rows_with_first


def joint_estimate(conditional: Inference, first_share: float) -> float:
    """P(a and b) from P(b | a) and P(a): an incidence of 2l attributes from two of l."""
    if not 0 <= first_share <= 1:
        raise BadInput(f"A share of {first_share:g} is not between 0 and 1.")
    return conditional.estimate * first_share


@dataclass(frozen=True, slots=True, kw_only=True)
class Incidence:
    """How often two conditions hold together, inferred from counts of each alone. Thread safe: it never changes."""

    first: str
    second: str
    conditional: Inference
    """The share of the rows with the first condition that have the second."""
    std: float
    """About the standard error of that share."""
    direct_std: float
    """The standard error of the same share from one count of both and one of the first, with the same noise."""
    rows_with_first: float
    rows_with_second: float

    @property
    def rows_with_both(self) -> float:
        """The inferred count of both together."""
        return self.conditional.estimate * self.rows_with_first

    @property
    def times_worse(self) -> float:
        """How many times the error of measuring directly it has."""
        return self.std / self.direct_std if self.direct_std > 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, for `--json`."""
        return {
            "first": self.first,
            "second": self.second,
            "share": self.conditional.estimate,
            "std": self.std,
            "share_without_correction": self.conditional.uncorrected,
            "attenuation": self.conditional.attenuation,
            "heavy_parts": self.conditional.heavy,
            "parts": self.conditional.subsets,
            "rows_with_first": self.rows_with_first,
            "rows_with_second": self.rows_with_second,
            "rows_with_both": self.rows_with_both,
            "direct_std": self.direct_std,
            "times_worse": self.times_worse,
        }


class Answerer(Protocol):
    """A release or a curator: what answers questions about one table."""

    @property
    def schema(self) -> Schema: ...

    @property
    def ask(self) -> Callable[..., Answers]: ...


def infer_incidence(
    source: Answerer, first: str, second: str, *, by: str, **asking: Any
) -> Incidence:
    """How many rows satisfy `first` and `second` together, from answers about each alone.

    `by` is a column that splits the rows at random into parts. Two questions are asked: how many rows of each part satisfy
    `first`, and how many satisfy `second`. The heavy parts are chosen on these noisy answers, so nothing else is read or
    charged. A curator charges both; `asking` is what it is told with each of them, such as its budget.
    """
    column = source.schema.column(by)
    questions = [
        f"SELECT {sql_name(by)}, count(*) FROM {sql_name(source.schema.dataset)} WHERE ({each}) "
        f"GROUP BY {sql_name(by)}"
        for each in (first, second)
    ]
    found = [source.ask(each, **asking) for each in questions]
    valued = [each.codes[:, 0] < column.value_cells for each in found]  # a null is in no part
    counts = [
        np.asarray(each.columns[0].estimate[kept], dtype=np.float64)
        for each, kept in zip(found, valued, strict=True)
    ]
    parts = len(counts[0])
    if parts < FEWEST_PARTS or len(counts[1]) != parts:
        raise BadInput(
            f"Column {by} splits the rows into {parts} parts; at least {FEWEST_PARTS} random parts are needed."
        )
    variances = [float(np.mean(np.square(each.columns[0].std))) for each in found]
    totals = [float(each.sum()) for each in counts]
    if totals[0] <= 0:
        raise NotAnswerable(
            f"No row is known to satisfy {first}, so there is no share to estimate."
        )
    covariance = 0.0
    if isinstance(source, ReleaseReader):
        covariance = source.noise_covariance(first, second, by=column.name)
    share = 1 / parts
    _check_random(counts[0], totals[0] * share * (1 - share) + variances[0], by)
    conditional = infer_conditional(
        counts[0],
        counts[1],
        first_total=totals[0],
        second_total=totals[1],
        noise_variance=variances[0],
        share=share,
        noise_covariance=covariance,
    )
    noise = max(variances)
    std = partial(
        inference_std, totals[0], max(0.0, totals[1]), parts, noise_variance=noise, share=share
    )
    # The error depends on the share, which is known up to its error alone: it is stated for a share one such error lower, where it is larger.
    lower = max(0.0, conditional.estimate - std(conditional=conditional.estimate))
    return Incidence(
        first=first,
        second=second,
        conditional=conditional,
        std=std(conditional=lower),
        direct_std=direct_std(totals[0], conditional.estimate, noise_variance=noise),
        rows_with_first=totals[0],
        rows_with_second=totals[1],
    )


def _check_random(counts: Floats, expected: float, by: str) -> None:
    """Refuse parts whose counts differ far more than those of random parts: what goes together there is the parts' doing."""
    ratio = float(np.var(counts, ddof=1)) / expected
    if ratio > 1 + UNLIKELY * math.sqrt(2 / (len(counts) - 1)):
        raise NotAnswerable(
            f"The counts in the parts of {by} differ {ratio:.1f} times as much as random parts would let them. "
            "Name a column that splits the rows at random."
        )
