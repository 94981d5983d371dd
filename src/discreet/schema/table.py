"""One TOML table being read: takes each field with its type, and notes what is wrong as a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, time
from difflib import get_close_matches
from typing import Any, TypeVar, cast

from discreet.schema.columns.column import PLACEHOLDER, Nulls, Outside

# Words that people use for a field, which no edit distance would find.
SYNONYMS = {
    "range": ("bounds",),
    "bounds": ("range",),
    "min": ("range", "bounds"),
    "max": ("range", "bounds"),
    "low": ("range", "bounds"),
    "high": ("range", "bounds"),
    "categories": ("values",),
    "levels": ("values",),
    "type": ("kind",),
    "bins": ("cuts",),
    "step": ("width", "granularity"),
    "null": ("nulls",),
    "n": ("people",),
    "rows": ("people",),
    "name": ("dataset",),
    "id": ("identifier",),
    "separator": ("delimiter",),
    "budget": ("cap",),
}
D = TypeVar("D")


def named(value: object) -> str:
    """The type of a TOML value, in words."""
    words = {bool: "a boolean", str: "a text", int: "an integer", float: "a number", list: "a list"}
    return words.get(
        type(value), "a date or time" if isinstance(value, (date, time)) else "a table"
    )


def suggestion(given: object, options: Iterable[str]) -> str:
    """`; did you mean ...?`, or nothing when no option is near."""
    options = list(options)
    text = str(given)[:80]
    near = [word for word in SYNONYMS.get(text.lower(), ()) if word in options]
    near = near or get_close_matches(text.lower(), options, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


class Table:
    """A TOML table, where it stands, and the list that its mistakes go to."""

    def __init__(self, data: dict[str, Any], where: str, mistakes: list[str]) -> None:
        self.data, self.where, self.mistakes = data, where, mistakes

    def wrong(self, sentence: str) -> None:
        self.mistakes.append(f"{self.where}: {sentence}")

    def only(self, *known: str) -> None:
        """Notes every key that is not known."""
        for key in self.data:
            if key not in known:
                hint = suggestion(key, known) or f"; the keys here are {', '.join(known)}."
                self.wrong(f"there is no key {key[:80]!r}{hint}")

    def unfilled(self, key: str, value: object, hint: str) -> bool:
        """Whether the value still waits for a person, as drafted."""
        parts = value if isinstance(value, list) else [value]
        if not any(isinstance(part, str) and part == PLACEHOLDER for part in parts):
            return False
        self.wrong(f"`{key}` still says {PLACEHOLDER}; give {hint or 'a value'}.")
        return True

    def _take(self, key: str, kinds: tuple[type, ...], what: str, hint: str) -> Any:
        value = self.data.get(key)
        if value is None or self.unfilled(key, value, hint or what):
            return None
        if not _is_one(value, kinds):
            self.wrong(
                f"`{key}` is {named(value)}; it must be {what}{f': {hint}' if hint else ''}."
            )
            return None
        return value

    def text(self, key: str, default: D, *, hint: str = "") -> str | D:
        value: str | None = self._take(key, (str,), "a text", hint)
        return default if value is None else value

    def whole(self, key: str, default: D, *, hint: str = "") -> int | D:
        value: int | None = self._take(key, (int,), "a whole number", hint)
        return default if value is None else value

    def flag(self, key: str, default: bool) -> bool:
        value: bool | None = self._take(key, (bool,), "true or false", "")
        return default if value is None else value

    def choice(self, key: str, options: Sequence[str], default: str) -> str:
        listed = ", ".join(f'"{option}"' for option in options)
        value = self._take(key, (str,), f"one of {listed}", "")
        if value is None or value in options:
            return value or default
        self.wrong(
            f"`{key}` is {value[:80]!r}{suggestion(value, options) or f'; write one of {listed}.'}"
        )
        return default

    def table(self, key: str) -> Table | None:
        value = self._take(key, (dict,), f"a table, as in `[{key}]`", "")
        return None if value is None else Table(value, f"[{key}]", self.mistakes)

    def texts(self, key: str, default: D, *, hint: str = "") -> tuple[str, ...] | D:
        value = self._list(key, (str,), "a list of texts", hint)
        return default if value is None else tuple(value)

    def numbers(self, key: str) -> tuple[float, ...] | None:
        value = self._list(key, (int, float), "a list of numbers", "the edges between cells")
        return None if value is None else tuple(value)

    def _list(self, key: str, kinds: tuple[type, ...], what: str, hint: str) -> list[Any] | None:
        value = self._take(key, (list,), what, hint)
        if value is None:
            return None
        strange = [part for part in value if not _is_one(part, kinds)]
        if strange:
            self.wrong(f"`{key}` holds {named(strange[0])}; it must be {what}.")
            return None
        return list(value)

    def pair(self, key: str, kinds: tuple[type, ...], hint: str) -> tuple[Any, Any] | None:
        value = self.data.get(key)
        if value is None:
            self.wrong(f"`{key}` is missing; give {hint}.")
        elif not self.unfilled(key, value, hint):
            if (
                isinstance(value, list)
                and len(value) == 2
                and all(_is_one(v, kinds) for v in value)
            ):
                return value[0], value[1]
            held = "".join(f" of {len(value)} values" for _ in [0] if isinstance(value, list))
            self.wrong(f"`{key}` is {named(value)}{held}; give {hint}.")
        return None

    def category_values(self) -> tuple[str, ...] | None:
        hint = 'what the column can hold, as in ["F", "M"]'
        if "values" not in self.data:
            self.wrong(f"`values` is missing; list {hint}.")
            return None
        value = self._list("values", (str, int, float, bool, date), "a list of texts", hint)
        return None if value is None else tuple(_category_text(part) for part in value)

    def nulls(self) -> Nulls:
        return cast(Nulls, self.choice("nulls", ("cell", "exclude"), "cell"))

    def outside(self) -> Outside:
        return cast(Outside, self.choice("outside", ("edge", "other", "exclude"), "edge"))


def _is_one(value: object, kinds: tuple[type, ...]) -> bool:
    """`isinstance`, but true and false are no integers."""
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)


def _category_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, date) else str(value)
