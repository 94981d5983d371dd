"""Conditions that mean the same, written otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.harness.release_questions.conditions import Conditions


def spellings(
    random: Random, condition: str, conditions: Conditions
) -> Iterator[tuple[str, str, str]]:
    """The law, one spelling, and another."""
    other = conditions.condition(0)
    one = random.choice(
        [
            (
                "De Morgan",
                f"NOT ({condition} AND {other})",
                f"(NOT ({condition}) OR NOT ({other}))",
            ),
            (
                "De Morgan",
                f"NOT ({condition} OR {other})",
                f"(NOT ({condition}) AND NOT ({other}))",
            ),
            ("twice not", condition, f"NOT (NOT ({condition}))"),
            ("order", f"({condition}) AND ({other})", f"({other}) AND ({condition})"),
            ("twice", condition, f"({condition}) AND ({condition})"),
        ]
    )
    yield one
    ordered = conditions.of_kind("integer", "number", "date", "datetime")
    if ordered:
        name = random.choice(ordered)
        column = conditions.columns[name]
        low, high, third = (conditions._literal(column) for _ in range(3))
        yield random.choice(
            [
                (
                    "between",
                    f"«{name}» BETWEEN {low} AND {high}",
                    f"(«{name}» >= {low} AND «{name}» <= {high})",
                ),
                (
                    "in",
                    f"«{name}» IN ({low}, {high}, {third})",
                    f"(«{name}» = {low} OR «{name}» = {high} OR «{name}» = {third})",
                ),
                ("not below", f"«{name}» >= {low}", f"NOT («{name}» < {low})"),
                ("flipped", f"«{name}» >= {low}", f"{low} <= «{name}»"),
            ]
        )
