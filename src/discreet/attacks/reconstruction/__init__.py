"""Reconstruction: a secret 0/1 column from answers to many subset counts."""

from __future__ import annotations

from discreet.attacks.reconstruction.decoding import METHODS, decoded
from discreet.attacks.reconstruction.exhaustive import consistent_candidate
from discreet.attacks.reconstruction.questions import random_subsets

__all__ = ["METHODS", "consistent_candidate", "decoded", "random_subsets"]
