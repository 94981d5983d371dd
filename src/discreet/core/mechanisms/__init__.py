"""One file for each mechanism. The vault uses those listed here; `registry` lists all.

A mechanism is a frozen value whose one privacy parameter gives both its cost and its
noise, so that the two cannot disagree.
"""

from __future__ import annotations

from discreet.core.mechanisms.additive import (
    AdditiveMechanism,
    AnalyticGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    OneCountGaussian,
    RoundedGaussian,
)
from discreet.core.mechanisms.exponential import Exponential
from discreet.core.mechanisms.partition_selection import PartitionSelection
from discreet.core.mechanisms.threshold import AboveThreshold

__all__ = [
    "AboveThreshold",
    "AdditiveMechanism",
    "AnalyticGaussian",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "OneCountGaussian",
    "PartitionSelection",
    "RoundedGaussian",
]
