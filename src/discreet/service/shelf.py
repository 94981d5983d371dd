"""`Shelf`: the releases that the service shows, opened when they are first asked."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from discreet.answering import ReleaseReader, open_release
from discreet.answering.synthesis.synthetic import SyntheticTable
from discreet.answering.verification.verify import Verification
from discreet.releases.verifying import verify
from discreet.service.settings import ReleaseSettings

Kept = TypeVar("Kept")

KEPT_ROWS = 1000
KEPT_ANSWERS = 512
LONGEST_KEPT = 65_536
"""Bytes of an answer that is kept."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(slots=True)
class ShelvedRelease:
    """A release file. It never changes, so what is computed from it is kept. Thread safe."""

    name: str
    title: str
    path: Path
    is_public: bool
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _reader: ReleaseReader | None = None
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)
    _drawn: SyntheticTable | None = None
    _answers: OrderedDict[tuple[str, float], bytes] = field(default_factory=OrderedDict, repr=False)

    @property
    def reader(self) -> ReleaseReader:
        with self._lock:
            if self._reader is None:
                self._reader = open_release(self.path)
            return self._reader

    def verification(self) -> Verification:
        """Costs, words and estimates computed again from the file, once."""
        return self.kept("verification", lambda: verify(self.path))

    def kept(self, name: str, compute: Callable[[], Kept]) -> Kept:
        """Something that follows from the file, computed once."""
        with self._lock:
            known = self._kept.get(name)
        if known is None:
            known = compute()
            with self._lock:
                self._kept[name] = known
        found: Kept = known
        return found

    def known_answer(self, sql: str, confidence: float) -> bytes | None:
        """The answer to a question that was asked before. A file's answers never change, and cost nothing."""
        with self._lock:
            return self._answers.get((sql, confidence))

    def keep_answer(self, sql: str, confidence: float, answer: bytes) -> None:
        """Keep an answer for whoever asks the same; the oldest goes first, and long ones are not kept."""
        if len(answer) > LONGEST_KEPT:
            return
        with self._lock:
            self._answers[sql, confidence] = answer
            if len(self._answers) > KEPT_ANSWERS:
                self._answers.popitem(last=False)

    def synthetic(self, rows: int, seed: int | None) -> dict[str, list[Any]]:
        """Synthetic rows by columns. Without a seed they are drawn once and kept: fitting them takes seconds."""
        if seed is not None:
            return self.reader.synthesize(rows, seed=seed).to_dict()
        reader = self.reader
        with self._lock:
            if self._drawn is None or len(self._drawn) < rows:
                self._drawn = reader.synthesize(max(rows, KEPT_ROWS), seed=0)
            drawn = self._drawn.to_dict()
        return {name: values[:rows] for name, values in drawn.items()}


class Shelf:
    """All releases, by name. Thread safe."""

    def __init__(self, settings: tuple[ReleaseSettings, ...], published: Path) -> None:
        self._published = published
        self._lock = threading.Lock()
        self._releases: dict[str, ShelvedRelease] = {}
        for each in settings:
            self._put(each.file, each.title, is_public=each.public)

    def _put(self, path: Path, title: str, *, is_public: bool) -> ShelvedRelease:
        name = free = _NOT_IN_NAMES.sub("-", path.stem).strip("-.") or "release"
        number = 2
        while free in self._releases:
            free, number = f"{name}-{number}", number + 1
        found = ShelvedRelease(free, title or path.stem, path, is_public)
        self._releases[free] = found
        return found

    def all(self) -> list[ShelvedRelease]:
        """Every release, those published since the start included."""
        with self._lock:
            known = {each.path for each in self._releases.values()}
            for path in sorted(self._published.glob("*.release")):
                if path not in known:
                    self._put(path, "", is_public=False)
            return list(self._releases.values())

    def get(self, name: str) -> ShelvedRelease | None:
        """The release of that name, also if it was published since the start."""
        with self._lock:
            known = self._releases.get(name)
        return known or next((each for each in self.all() if each.name == name), None)
