"""What tests of the ledger share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def synced(monkeypatch):
    """The files that were waited for, in order."""
    found, real = [], os.fdatasync

    def wait(descriptor):
        real(descriptor)
        found.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fdatasync", wait)
    return found
