"""Every mechanism by its name: the table that tests and audits go through."""

from __future__ import annotations

from discreet.core.mechanisms.additive import (
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    OneCountGaussian,
    RoundedGaussian,
)
from discreet.core.mechanisms.exponential import Exponential
from discreet.core.mechanisms.partition_selection import PartitionSelection
from discreet.core.mechanisms.threshold import AboveThreshold
from discreet.local.protocols import LocalHashing, Piecewise, RandomisedResponse, UnaryEncoding

MECHANISMS = {
    "discrete-laplace": DiscreteLaplace,
    "discrete-gaussian": DiscreteGaussian,
    "one-count-gaussian": OneCountGaussian,
    "rounded-gaussian": RoundedGaussian,
    "analytic-gaussian": AnalyticGaussian,
    "exponential": Exponential,
    "randomised-response": RandomisedResponse,
    "unary-encoding": UnaryEncoding,
    "local-hashing": LocalHashing,
    "piecewise": Piecewise,
    "above-threshold": AboveThreshold,
    "partition-selection": PartitionSelection,
}
