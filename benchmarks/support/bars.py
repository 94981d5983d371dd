"""One JSON object a line for each bar: what was measured, its limit, and whether it is met."""

from __future__ import annotations

import json


def bar(
    name: str,
    value: float,
    limit: float | None,
    *,
    at_least: bool = False,
    met: bool | None = None,
) -> bool:
    """Print the bar; whether it is met. Without a limit it is only printed; `met` decides otherwise."""
    if met is None:
        met = limit is None or bool(value >= limit if at_least else value <= limit)
    shown = {"bar": name, "value": round(float(value), 5), "limit": limit, "ok": met}
    print(json.dumps(shown), flush=True)
    return met
