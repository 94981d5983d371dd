"""The interactive curator: it answers live questions in SQL until the budget is spent."""

from __future__ import annotations

from discreet.curator.curator import Curator
from discreet.curator.learning import learn_schema

__all__ = ["Curator", "learn_schema"]
