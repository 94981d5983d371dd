"""Random statements: aggregates and work on them, by groups, with conditions."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.harness.release_questions.conditions import Conditions
from tests.harness.release_questions.truth import TABLE


@dataclass(frozen=True)
class Statement:
    """SQL with marked columns; keys come first in its list, then numbers."""

    sql: str
    keys: int
    numbers: tuple[str, ...]
    """How each number after the keys was written."""
    is_ordered: bool = False
    computed: str = ""
    """The computed keys: a release puts all undeclared values into one group."""
    chooses: bool = False
    """Whether HAVING or LIMIT leaves groups out."""
    order: str = ""
    """What the rows are ordered by: a key, or the first number."""


class Statements:
    """Draws statements."""

    def __init__(self, random: Random, conditions: Conditions) -> None:
        self._random, self._conditions = random, conditions

    def statement(self) -> Statement:
        random, conditions = self._random, self._conditions
        keys = self._keys()
        if not keys and random.random() < 0.08:
            return self._union()
        numbers = tuple(self._result() for _ in range(random.choice([1, 1, 2, 3])))
        if keys and random.random() < 0.2:
            numbers += (self._window(keys),)
        shown = [f"{key} AS k{place}" for place, key in enumerate(keys)]
        shown += [f"{number} AS a{place}" for place, number in enumerate(numbers)]
        where = f" WHERE {conditions.condition()}" if random.random() < 0.6 else ""
        by = ""
        if keys:
            by = " GROUP BY " + random.choice(
                [", ".join(keys), ", ".join(str(n + 1) for n in range(len(keys)))]
            )
        having = order = limit = ordered_by = ""
        if keys and random.random() < 0.15:
            having = f" HAVING {random.choice(['count(*)', numbers[0]])} {random.choice(['>', '>=', '<'])} {random.choice(['0', '3', '20'])}"
        if keys and random.random() < 0.3:
            ordered_by = random.choice([*(f"k{n}" for n in range(len(keys))), "a0", "a0 DESC"])
            order = f" ORDER BY {ordered_by}"
            if random.random() < 0.4:
                limit = f" LIMIT {random.choice([1, 3, 5])}"
        table, shape = TABLE, random.random()
        if shape < 0.06:
            table = f"(SELECT * FROM {TABLE} WHERE {conditions.condition(1)}) AS u"
        sql = f"SELECT {', '.join(shown)} FROM {table}{where}{by}{having}{order}{limit}"
        if 0.06 <= shape < 0.1:
            sql = f"WITH r AS ({sql}) SELECT * FROM r"
        computed = " ".join(key for key in keys if not key.startswith("⟨"))
        chooses = bool(having or limit)
        return Statement(sql, len(keys), numbers, bool(order), computed, chooses, ordered_by)

    def _union(self) -> Statement:
        """One row a condition, each with a name of its own."""
        numbers = tuple(self.aggregate() for _ in range(self._random.choice([1, 2])))
        shown = ", ".join(f"{number} AS a{place}" for place, number in enumerate(numbers))
        rows = [
            f"SELECT 'row {place}' AS k0, {shown} FROM {TABLE} WHERE {self._conditions.condition(1)}"
            for place in range(self._random.choice([2, 3]))
        ]
        return Statement(" UNION ALL ".join(rows), 1, numbers)

    def _window(self, keys: list[str]) -> str:
        """Numbers that groups without rows, which a release lists and a database does not, leave as they are."""
        counted = self._random.choice(
            ["count(*)", "count(*)", f"count(«{self._conditions.names[0]}»)"]
        )
        part = f"PARTITION BY {keys[0]}" if len(keys) > 1 and self._random.random() < 0.5 else ""
        return self._random.choice(
            [
                f"sum({counted}) OVER ({part})",
                f"100.0 * {counted} / sum({counted}) OVER ({part})",
                f"max({counted}) OVER ({part})",
                f"sum({counted}) OVER ({part} ORDER BY {keys[-1]})",
                f"rank() OVER ({part} ORDER BY {counted} DESC)",
                f"{counted} - max({counted}) OVER ({part})",
            ]
        )

    def _keys(self) -> list[str]:
        random, conditions = self._random, self._conditions
        small = [name for name, column in conditions.columns.items() if column.cells <= 120]
        found: list[str] = []
        for _ in range(random.choice([0, 0, 1, 1, 2])):
            if small and random.random() < 0.7:
                found.append(f"⟨{random.choice(small)}⟩")
            else:
                found.append(conditions.key(random.choice(conditions.names)))
        return list(dict.fromkeys(found))

    def _result(self) -> str:
        """An aggregate, or arithmetic over some."""
        random = self._random
        one = self.aggregate()
        if random.random() < 0.75:
            return one
        other = self.aggregate()
        return random.choice(
            [
                f"{one} + {other}",
                f"{one} - {other}",
                f"100.0 * {one} / {other}",
                f"2 * {one}",
                f"-({one})",
                f"round({one}, 1)",
                f"abs({one} - 3)",
                # A mean of rows of which there may be none has the interval that it has if there are some.
                f"coalesce({one if one.startswith(('count', 'sum')) else 'count(*)'}, 0)",
                f"greatest({one}, 2)",
                f"CASE WHEN count(*) > 4 THEN {one} ELSE 0 END",
                f"1.0 * count(*) FILTER (WHERE {self._conditions.condition(1)}) / count(*)",
            ]
        )

    def aggregate(self) -> str:
        random, conditions = self._random, self._conditions
        pick = random.choice
        name = pick(conditions.names)
        numeric = conditions.of_kind("integer", "number")
        ordered = conditions.of_kind("integer", "number", "date", "datetime")
        filtered = f" FILTER (WHERE {conditions.condition(1)})" if random.random() < 0.2 else ""
        options = [f"count(*){filtered}"] * 4 + [
            f"count(«{name}»){filtered}",
            f"count(CASE WHEN {conditions.condition(1)} THEN 1 END)",
            f"sum(CASE WHEN {conditions.condition(1)} THEN 1 ELSE 0 END)",
            f"count_if({conditions.condition(0)})",
            f"sum(CASE WHEN {conditions.condition(1)} THEN 1 WHEN {conditions.condition(0)} THEN 3 ELSE 2 END)",
            f"avg(CASE WHEN {conditions.condition(1)} THEN 1 ELSE 0 END)",
            f"count(CASE WHEN {conditions.condition(0)} THEN NULL ELSE 1 END)",
            f"count(DISTINCT ⟨{name}⟩){filtered}",
        ]
        if numeric:
            own = pick(numeric)
            value = pick([f"‹{own}›", f"‹{own}›", conditions.number(own, "‹›")])
            options += [f"sum({value}){filtered}", f"avg({value}){filtered}"] * 3
            options += [
                f"{pick(['variance', 'stddev', 'var_pop', 'stddev_pop'])}(‹{own}›){filtered}",
                f"sum(CASE WHEN {conditions.condition(0)} THEN ‹{own}› END)",
                f"{pick(['sum', 'avg'])}(DISTINCT ‹{own}›)",
                f"{pick(['covar_pop', 'corr'])}(‹{own}›, ‹{pick(numeric)}›)",
            ]
        if ordered:
            own = pick(ordered)
            q = pick(["0.1", "0.25", "0.5", "0.9"])
            options += [
                f"percentile_disc({q}) WITHIN GROUP (ORDER BY ‹{own}›){filtered}",
                f"quantile_disc(‹{own}›, {q}){filtered}",
            ]
        return pick(options)
