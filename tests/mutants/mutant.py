"""A planted bug: a named substitution in one source file, and the tests that must catch it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class NoLongerApplies(Exception):
    """The source has changed under a mutant: mend the mutant, it guards something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """`old` stands in `file` exactly once and becomes `new`; one of `tests` must then fail.

    `more` are further (old, new) in the same file, where one bug needs two places: a guarantee
    that two lines keep is broken only where both are gone.
    """

    name: str
    trap: int
    """The classic bug that this is an instance of, by its number in docs/trust.md."""
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    """The smallest set of tests, by their ids, that must catch it."""
    more: tuple[tuple[str, str], ...] = ()
    quick: bool = False
    """Whether `make test` tries it too."""

    def applied(self, text: str) -> str:
        for old, new in ((self.old, self.new), *self.more):
            found = text.count(old)
            if found != 1:
                raise NoLongerApplies(
                    f"{self.name}: the text to replace stands {found} times in {self.file}: {old!r}"
                )
            text = text.replace(old, new)
        return text

    def plant(self, tree: Path) -> None:
        """Into a scratch copy of the tree, from which what was compiled of the file is removed."""
        path = tree / self.file
        path.write_text(self.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()
