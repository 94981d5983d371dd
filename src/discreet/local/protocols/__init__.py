"""Protocols of the local model: who says what with which exact probability. Nothing here draws."""

from __future__ import annotations

from discreet.local.protocols.hashing import LocalHashing
from discreet.local.protocols.piecewise import Piecewise
from discreet.local.protocols.protocol import ValueProtocol
from discreet.local.protocols.randomised_response import RandomisedResponse
from discreet.local.protocols.unary import UnaryEncoding

__all__ = ["LocalHashing", "Piecewise", "RandomisedResponse", "UnaryEncoding", "ValueProtocol"]
