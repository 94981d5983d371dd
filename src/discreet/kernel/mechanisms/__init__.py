"""One mechanism a file; `MECHANISMS` is the table that tests and audits go through.

A mechanism is a frozen value whose one privacy parameter gives both its cost and its
noise, so that the two cannot disagree.
"""

from __future__ import annotations

from discreet.kernel.mechanisms.additive import (
    AdditiveMechanism,
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    OneCountGaussian,
)
from discreet.kernel.mechanisms.exponential import Exponential
from discreet.kernel.mechanisms.partition_selection import PartitionSelection
from discreet.kernel.mechanisms.randomised_response import RandomisedResponse
from discreet.kernel.mechanisms.threshold import AboveThreshold

MECHANISMS = {
    "discrete-laplace": DiscreteLaplace,
    "discrete-gaussian": DiscreteGaussian,
    "one-count-gaussian": OneCountGaussian,
    "analytic-gaussian": AnalyticGaussian,
    "exponential": Exponential,
    "randomised-response": RandomisedResponse,
    "above-threshold": AboveThreshold,
    "partition-selection": PartitionSelection,
}

__all__ = [
    "MECHANISMS",
    "AboveThreshold",
    "AdditiveMechanism",
    "AnalyticGaussian",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "OneCountGaussian",
    "PartitionSelection",
    "RandomisedResponse",
]
