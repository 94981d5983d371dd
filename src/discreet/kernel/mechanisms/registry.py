"""Every mechanism by its name: the table that tests and audits go through."""

from __future__ import annotations

from discreet.kernel.mechanisms.additive import (
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    OneCountGaussian,
)
from discreet.kernel.mechanisms.exponential import Exponential
from discreet.kernel.mechanisms.fixed_point import FixedPoint
from discreet.kernel.mechanisms.partition_selection import PartitionSelection
from discreet.kernel.mechanisms.randomised_response import RandomisedResponse
from discreet.kernel.mechanisms.threshold import AboveThreshold

MECHANISMS = {
    "discrete-laplace": DiscreteLaplace,
    "discrete-gaussian": DiscreteGaussian,
    "one-count-gaussian": OneCountGaussian,
    "analytic-gaussian": AnalyticGaussian,
    "fixed-point": FixedPoint,
    "exponential": Exponential,
    "randomised-response": RandomisedResponse,
    "above-threshold": AboveThreshold,
    "partition-selection": PartitionSelection,
}
