"""What Spark's tasks did, from its own log of events: documented, where the objects that its pages are drawn from are not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any


def logged_to(folder: str) -> dict[str, str]:
    """The settings of a session that writes its events into a folder, as plain text, from now on."""
    events = Path(folder) / "events"
    shutil.rmtree(events, ignore_errors=True)
    events.mkdir()
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


def ended_tasks(folder: str, *, since: float = 0.0) -> list[dict[str, Any]]:
    """The metrics of each task that was launched since a moment; the session must have been stopped."""
    (log,) = (Path(folder) / "events").iterdir()
    with log.open(encoding="utf-8") as lines:
        events = [json.loads(line) for line in lines if '"SparkListenerTaskEnd"' in line]
    return [
        event["Task Metrics"]
        for event in events
        if event["Task Info"]["Launch Time"] >= since * 1000
    ]
