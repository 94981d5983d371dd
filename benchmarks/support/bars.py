"""One JSON object a line for each bar: what was measured, its limit, and whether it is met."""

from __future__ import annotations

import json


def bar(name: str, value: float, limit: float, *, at_least: bool = False) -> bool:
    """Print the bar; whether it is met."""
    met = bool(value >= limit if at_least else value <= limit)
    shown = {"bar": name, "value": round(float(value), 5), "limit": limit, "ok": met}
    print(json.dumps(shown), flush=True)
    return met
