"""Engines: where rows are read. Only the core's vault may call them. See `protocol`."""

from __future__ import annotations

from discreet.engines.opening import column_names_and_types, open_engine
from discreet.engines.protocol import Engine, Progress, SumRequest

__all__ = ["Engine", "Progress", "SumRequest", "column_names_and_types", "open_engine"]
