"""The family of undeclared values: named by partition selection, then counted."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.families.keys.queries import KeyCounts, Keys
from discreet.queries.class_arguments import one_column
from discreet.queries.registry import ClassReader, Family
from discreet.questions.spelling import quoted
from discreet.schema import Schema

_ANSWER = "discreet.families.keys.answer"


def _examples(schema: Schema) -> Iterator[str]:
    yield from (f"keys({quoted(name)})" for name in schema.names)


FAMILY = Family(
    name="keys",
    readers={"keys": ClassReader(one_column("keys", Keys))},
    queries=(KeyCounts,),
    algorithms={"keys": ("discreet.families.keys.release:NamedKeys",)},
    sources={"keys": f"{_ANSWER}:keys_of"},
    usefulness={"keys": f"{_ANSWER}:keys_bound"},
    counts=frozenset({"keys"}),
    figures=("discreet.families.keys.figures:key_figures",),
    questions={"keys": "discreet.families.keys.queries:key_questions"},
    examples=_examples,
)
