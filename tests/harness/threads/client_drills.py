"""Drills of what asks a service: the transport is a stand-in that answers from memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import discreet
from discreet.client.connection import Service
from tests.harness.threads.drill_questions import UNIT
from tests.harness.threads.drills import Drill
from tests.harness.threads.shared_world import World

_ANSWER = {
    "estimate": 3.0, "lower": 1.0, "upper": 5.0, "confidence": 0.95, "std": 1.0, "covers": "noise",
}  # fmt: skip


class FromMemory:
    """Answers each request from the request alone."""

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> bytes:
        answer = {
            "question": (body or {}).get("sql", ""),
            "confidence": 0.95,
            "rows": [{"group": {"g": path}, "answers": {"count": _ANSWER}}],
            "notes": [],
            "datasets": [{"name": "a"}],
            "releases": [{"name": "b"}],
            "entries": [{"id": path}],
            "left": {"epsilon": "1/2", "delta": "0"},
            "name": "n",
            "columns": [{"name": "c", "kind": "k", "values": "v"}],
            "ok": True,
        }
        return json.dumps(answer).encode()


def _service(world: World) -> Service:
    return Service(FromMemory(), "memory")


def _downloaded(shared: Service, number: int) -> bytes:
    with TemporaryDirectory() as folder:
        return shared.release("r").download(Path(folder) / "one.release").read_bytes()


def client_drills() -> Iterator[Drill]:
    """Every method of a service, its datasets and its releases."""
    calls: dict[tuple[str, str], Any] = {
        ("Service", "me"): lambda s, n: s.me(),
        ("Service", "datasets"): lambda s, n: s.datasets(),
        ("Service", "releases"): lambda s, n: s.releases(),
        ("Service", "history"): lambda s, n: s.history(limit=n + 1),
        ("Service", "dataset"): lambda s, n: s.dataset(f"d{n}").name,
        ("Service", "release"): lambda s, n: s.release(f"r{n}").name,
        ("RemoteDataset", "ask"): lambda s, n: (
            s.dataset(f"d{n}").ask(f"SELECT {n}", budget=UNIT).to_dict()
        ),
        ("RemoteDataset", "preview"): lambda s, n: s.dataset("d").preview(f"{n}", accuracy=n + 1),
        ("RemoteDataset", "left"): lambda s, n: s.dataset(f"d{n}").left,
        ("RemoteDataset", "describe"): lambda s, n: s.dataset(f"d{n}").describe(),
        ("RemoteDataset", "_repr_html_"): lambda s, n: s.dataset(f"d{n}")._repr_html_(),
        ("RemoteRelease", "ask"): lambda s, n: s.release(f"r{n}").ask(f"SELECT {n}").to_dict(),
        ("RemoteRelease", "describe"): lambda s, n: s.release(f"r{n}").describe(),
        ("RemoteRelease", "verify"): lambda s, n: s.release(f"r{n}").verify(),
        ("RemoteRelease", "download"): _downloaded,
        ("RemoteRelease", "_repr_html_"): lambda s, n: s.release(f"r{n}")._repr_html_(),
    }
    for (owner, member), call in calls.items():
        yield Drill(owner, member, _service, call)
    yield Drill(
        "discreet",
        "connect",
        lambda world: "http://127.0.0.1:1",
        lambda url, n: repr(discreet.connect(url, f"token {n}")),
    )
