"""Which state of a table a question was asked about."""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path

from discreet.engines.opening import source_of
from discreet.schema import Schema


def version_of(source: object, schema: Schema) -> str:
    """The state of a source: for files their places and times of change, never what is in them.

    A table in memory has no version that outlives its curator.
    """
    found = source_of(source, schema)
    if not found.files:
        return f"in memory {uuid.uuid4().hex}"
    times = [f"{path} {Path(path).stat().st_mtime_ns}" for path in found.files]
    text = "\n".join([found.format, found.table or "", *times])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
