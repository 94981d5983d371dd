"""Techniques against the four things that a definition of privacy should do.

| | asks |
|---|---|
| composition | does it degrade slowly when it is applied again? |
| post-processing | can nothing that is done afterwards undo it? |
| groups | does it say what happens to several people together? |
| trade-off | can privacy and accuracy be computed against each other? |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WANTED = ("composition", "post-processing", "groups", "trade-off")


@dataclass(frozen=True, slots=True)
class Technique:
    """One technique: which of the four it does, and the attack that shows what it does not."""

    name: str
    composition: bool
    post_processing: bool
    groups: bool
    trade_off: bool
    shown_by: str

    def marks(self) -> tuple[bool, bool, bool, bool]:
        return self.composition, self.post_processing, self.groups, self.trade_off

    def to_dict(self) -> dict[str, Any]:
        return {
            "technique": self.name,
            **dict(zip(WANTED, self.marks(), strict=True)),
            "shown_by": self.shown_by,
        }


TECHNIQUES = (
    Technique("names removed", False, False, False, False, "attack link, attack unique"),
    Technique("k-anonymity", False, False, False, False, "attack intersect"),
    Technique("l-diversity, t-closeness", False, False, False, False, "attack intersect"),
    Technique("data swapping", False, False, False, False, "attack microdata"),
    Technique("data minimisation", False, False, False, False, "attack link"),
    Technique("small counts suppressed", False, False, False, False, "attack reconstruct"),
    Technique("rounding", False, False, False, False, "attack reconstruct"),
    Technique("bounded noise that sticks", False, False, False, False, "attack reconstruct"),
    Technique("query auditing", False, False, False, False, "attack audit-refusal"),
    Technique("exact aggregates", False, False, False, False, "attack difference"),
    Technique(
        "differential privacy", True, True, True, True, "attack all: it stays within its bound"
    ),
)
"""A technique without a stated guarantee has none that could compose, survive or be computed."""
