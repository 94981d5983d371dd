"""A question to people in the local model: public, small, and the same for clients and collector."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from discreet.errors import BadBudget, BadInput, did_you_mean
from discreet.local.protocols import LocalHashing, Piecewise, RandomisedResponse, UnaryEncoding
from discreet.local.protocols.protocol import variance_of_share
from discreet.privacy.exact import Exactable, exact

PROTOCOLS = ("randomised-response", "unary-encoding", "local-hashing")
LARGEST_UNARY = 4_096
MOST_VALUES = 1 << 20
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, of which values or between which bounds, at which epsilon for each person's report."""

    name: str
    epsilon: Fraction
    values: tuple[str, ...] = ()
    bounds: tuple[Fraction, Fraction] | None = None
    protocol: str = ""

    @classmethod
    def category(
        cls, name: str, values: Sequence[str], *, epsilon: Exactable, protocol: str | None = None
    ) -> Self:
        """One of some values. Without `protocol`, the one of about the least variance."""
        listed = tuple(map(str, values))
        twice = [value for value, times in Counter(listed).items() if times > 1]
        if twice:
            raise BadInput(
                f"The question {name!r} lists the value {twice[0]!r} twice. List it once."
            )
        if not 2 <= len(listed) <= MOST_VALUES:
            raise BadInput(
                f"The question {name!r} needs 2 to {MOST_VALUES:,} different values, not {len(listed):,}."
            )
        budget = _epsilon(epsilon)
        chosen = protocol or best_protocol(budget, len(listed))
        if chosen not in PROTOCOLS:
            raise BadInput(
                f"There is no protocol {chosen!r}.{did_you_mean(chosen, PROTOCOLS)} "
                f"There are {', '.join(PROTOCOLS)}."
            )
        return cls(name=name, epsilon=budget, values=listed, protocol=chosen)

    @classmethod
    def number(cls, name: str, low: Exactable, high: Exactable, *, epsilon: Exactable) -> Self:
        """A number between two bounds."""
        ends = exact(low, name="the lower bound"), exact(high, name="the upper bound")
        if ends[0] >= ends[1]:
            raise BadInput(f"The bounds of {name!r} run from {ends[0]} to {ends[1]}.")
        return cls(name=name, epsilon=_epsilon(epsilon), bounds=ends, protocol="piecewise")

    @property
    def is_number(self) -> bool:
        return self.bounds is not None

    @property
    def value_protocol(self) -> RandomisedResponse | UnaryEncoding | LocalHashing:
        """The exact probabilities of reports about values."""
        return _of_values(self.protocol, self.epsilon, len(self.values))

    @property
    def number_protocol(self) -> Piecewise:
        return Piecewise.for_epsilon(self.epsilon)

    def code_of(self, value: str) -> int:
        """The number of a value; a value that was not declared is refused on the client's own side."""
        try:
            return self.values.index(value)
        except ValueError:
            raise BadInput(f"The value is not among the declared ones of {self.name!r}.") from None

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "name": self.name,
            "epsilon": str(self.epsilon),
            "protocol": self.protocol,
            **({"values": list(self.values)} if self.values else {}),
            **({"bounds": [str(each) for each in self.bounds]} if self.bounds else {}),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        try:
            if stored["version"] != VERSION:
                raise BadInput(f"The question has version {stored['version']}, not {VERSION}.")
            if "bounds" in stored:
                low, high = stored["bounds"]
                return cls.number(str(stored["name"]), low, high, epsilon=stored["epsilon"])
            return cls.category(
                str(stored["name"]),
                stored["values"],
                epsilon=stored["epsilon"],
                protocol=stored["protocol"],
            )
        except (KeyError, TypeError, ValueError):
            raise BadInput(
                "The file is no question of the local model; `discreet local plan -o` writes one."
            ) from None

    def save(self, path: Path | str) -> None:
        """As a JSON file that clients and the collector share."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str) -> Self:
        try:
            stored = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError:
            raise BadInput(f"There is no question file {path}.") from None
        except ValueError:
            stored = None
        return cls.from_dict(stored if isinstance(stored, dict) else {})


def best_protocol(epsilon: Fraction, values: int) -> str:
    """The protocol of least variance; local hashing, with its short reports, where it is within a tenth of that."""

    def spread(kind: str) -> float:
        return round(variance_of_share(_of_values(kind, epsilon, values), 1), 6)

    order = ("randomised-response", "local-hashing", "unary-encoding")
    allowed = [kind for kind in order if kind != "unary-encoding" or values <= LARGEST_UNARY]
    best = min(allowed, key=spread)
    # Unary encoding is a few percent better where no prime lies near e^epsilon + 1; its reports are as long as the list.
    if best == "unary-encoding" and spread("local-hashing") <= 1.1 * spread(best):
        return "local-hashing"
    return best


def _of_values(
    kind: str, epsilon: Fraction, values: int
) -> RandomisedResponse | UnaryEncoding | LocalHashing:
    if kind == "unary-encoding":
        if values > LARGEST_UNARY:
            raise BadInput(
                f"Unary encoding sends a bit for every value: at most {LARGEST_UNARY:,}, not {values:,}. "
                "Use local-hashing."
            )
        return UnaryEncoding.for_epsilon(epsilon, values=values)
    if kind == "local-hashing":
        return LocalHashing.for_epsilon(epsilon, values=values)
    return RandomisedResponse.for_epsilon(epsilon, answers=values)


def _epsilon(epsilon: Exactable) -> Fraction:
    budget = exact(epsilon, name="epsilon")
    if budget <= 0:
        raise BadBudget("epsilon must be greater than 0.")
    return budget
