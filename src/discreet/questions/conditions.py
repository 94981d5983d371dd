"""Conditions on rows, with SQL's three truth values, in negation normal form.

An atom looks at one column. In SQL a comparison with a null is neither true nor false, so `NOT`
is not the complement of what it stands before: it is pushed down to the atoms (De Morgan holds in
Kleene's logic), and there a negated atom is true where the atom is false, which a null never is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.errors import BadQuestion
from discreet.questions.inequality import Inequality

COMPLEMENTS = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Constant:
    """True, false, or unknown (`None`): what a comparison with NULL is."""

    truth: bool | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column operator literal`, with one of = != < <= > >=."""

    column: str
    operator: str
    literal: object


@dataclass(frozen=True, slots=True)
class Membership:
    """`column IN (...)`. A NULL in the list makes every value that is not listed unknown."""

    column: str
    literals: tuple[object, ...]
    has_null: bool = False


@dataclass(frozen=True, slots=True)
class NullTest:
    """`column IS NULL`: true or false, never unknown."""

    column: str


@dataclass(frozen=True, slots=True)
class TruthTest:
    """`column IS TRUE` or `IS FALSE`: true or false, never unknown."""

    column: str
    truth: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """`column LIKE text`, or ILIKE."""

    column: str
    text: str
    ignores_case: bool = False

    def matches(self, value: str) -> bool:
        """Whether `value` fits: `_` is any one letter, `%` any number of them.

        Two pointers and one place to return to, so no pattern takes more than
        len(pattern) * len(value) steps.
        """
        text = self.text.casefold() if self.ignores_case else self.text
        value = value.casefold() if self.ignores_case else value
        place = letter = 0
        star, resumed = -1, 0
        while letter < len(value):
            if place < len(text) and text[place] == "%":
                star, resumed = place, letter
                place += 1
            elif place < len(text) and text[place] in ("_", value[letter]):
                place += 1
                letter += 1
            elif star >= 0:
                resumed += 1
                place, letter = star + 1, resumed
            else:
                return False
        return all(rest == "%" for rest in text[place:])


Atom = Comparison | Membership | NullTest | TruthTest | Pattern


@dataclass(frozen=True, slots=True)
class Every:
    """AND."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """OR."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Opposite:
    """NOT."""

    part: Condition


Condition = Constant | Atom | Inequality | Every | Either | Opposite
ALWAYS = Constant(True)


@dataclass(frozen=True, slots=True)
class Leaf:
    """An atom as it stands, or negated: true where the atom is false."""

    atom: Atom
    positive: bool


@dataclass(frozen=True, slots=True)
class Node:
    """AND or OR over a normal form."""

    every: bool
    parts: tuple[Normal, ...]


Normal = Leaf | Node | bool
"""Negation normal form: where it is true. Unknown and false are not told apart any more."""


def normal_form(condition: Condition, *, positive: bool = True) -> Normal:
    """`condition` (or its negation) with every NOT at an atom."""
    match condition:
        case Constant(truth=truth):
            return truth is positive
        case Opposite(part=part):
            return normal_form(part, positive=not positive)
        case Every(parts=parts) | Either(parts=parts):
            every = isinstance(condition, Every) is positive
            flat: list[Normal] = []
            for part in parts:
                inside = normal_form(part, positive=positive)
                if inside is (not every):
                    return inside
                if isinstance(inside, Node) and inside.every is every:
                    flat.extend(inside.parts)
                elif inside is not every:
                    flat.append(inside)
            if not flat:
                return every
            return flat[0] if len(flat) == 1 else Node(every, tuple(flat))
        case Comparison(column=column, operator=sign, literal=literal) if not positive:
            return Leaf(Comparison(column, COMPLEMENTS[sign], literal), True)
        case Inequality():
            raise BadQuestion(
                "A linear inequality over columns is answered by a release of halfspaces(...) only, for "
                "count(*) over these columns."
            )
        case atom:
            return Leaf(atom, positive)


def atoms(normal: Normal) -> Iterator[Atom]:
    """Every atom in a normal form."""
    if isinstance(normal, Leaf):
        yield normal.atom
    elif isinstance(normal, Node):
        for part in normal.parts:
            yield from atoms(part)


def leaves_of(condition: Condition) -> Iterator[Atom | Inequality]:
    """Every atom and inequality of a condition."""
    if isinstance(condition, Every | Either):
        for part in condition.parts:
            yield from leaves_of(part)
    elif isinstance(condition, Opposite):
        yield from leaves_of(condition.part)
    elif not isinstance(condition, Constant):
        yield condition


def columns_named(condition: Condition) -> set[str]:
    found: set[str] = set()
    for leaf in leaves_of(condition):
        found |= set(leaf.columns) if isinstance(leaf, Inequality) else {leaf.column}
    return found


def has_inequality(condition: Condition) -> bool:
    return any(isinstance(leaf, Inequality) for leaf in leaves_of(condition))


def negated(asked: Inequality) -> Inequality:
    """True where the inequality is false: a null satisfies neither."""
    return Inequality(asked.columns, asked.coefficients, COMPLEMENTS[asked.sign], asked.bound)
