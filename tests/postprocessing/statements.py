"""Statements that nobody would write by hand: conditions without columns, nulls in lists, CASE inside CASE, odd keys."""

from __future__ import annotations

import random

TEXTS = {"town": ("ash", "elm", "oak"), "sex": ("f", "m")}
NUMBERS = ("age", "score")


class Statements:
    """Statements over the table of these tests, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def _one(self, *options: str) -> str:
        return self._chance.choice(options)

    def _whole(self, low: int, high: int) -> str:
        return str(self._chance.randint(low, high))

    def number(self, depth: int = 2) -> str:
        if depth == 0 or self._chance.random() < 0.35:
            return self._one(*NUMBERS, *NUMBERS, self._whole(-3, 9), "0.5")
        left, right = self.number(depth - 1), self.number(depth - 1)
        return self._one(
            f"({left} + {right})", f"({left} - {right})", f"({left} * {self._whole(-2, 3)})",
            f"abs({left})", f"sign({left})", f"(- {left})", f"floor({left} / 2)", "(age % 3)", "(age // 2)",
            f"least({left}, {right})", f"greatest({left}, {right})", f"coalesce({left}, 3)",
            f"nullif({left}, {self._whole(0, 5)})", "month(day)", "dayofweek(day)",
            f"CASE WHEN {self.truth(1)} THEN {left} {self._one('', f'ELSE {right}')} END",
        )  # fmt: skip

    def truth(self, depth: int = 2) -> str:
        if depth and self._chance.random() < 0.45:
            one, other = self.truth(depth - 1), self.truth(depth - 1)
            ending = self._one("TRUE", "FALSE", "NULL")
            return self._one(
                f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})",
                f"({one}) IS {self._one('', 'NOT ')}{ending}",
            )  # fmt: skip
        number, other = self.number(min(depth, 1)), self.number(min(depth, 1))
        sign = self._one("=", "<>", "<", "<=", ">", ">=")
        no = self._one("", "NOT ")
        name = self._one(*TEXTS)
        text = f"'{self._chance.choice(TEXTS[name])}'"
        null = self._one("", ", NULL")
        return self._one(
            f"{number} {sign} {other}", f"{number} {no}BETWEEN {self._whole(-1, 4)} AND {self._whole(2, 9)}",
            f"{number} {no}IN ({self._whole(0, 4)}, {self._whole(3, 9)}{null})", f"{number} IS {no}NULL",
            f"{number} IS {no}DISTINCT FROM {self._one(other, 'NULL', '3')}", f"{name} {self._one('=', '<>')} {text}",
            f"{name} {no}IN ({text}{null})", f"{name} IS {no}NULL", f"{name} IS {no}DISTINCT FROM {text}",
            f"(sex, age) {no}IN (('f', {self._whole(0, 8)}), ('m', NULL))", "member", "NOT member", "coalesce(member, false)",
            f"day {sign} DATE '2020-01-20'", "last_day(day) = DATE '2020-02-29'", f"day + INTERVAL 1 WEEK {sign} '2020-02-05'",
            self._one("true", "1 = 2", "NULL IS NULL", "3 IS DISTINCT FROM NULL"),
        )  # fmt: skip

    def aggregate(self) -> str:
        number = self.number(1)
        name = self._one(*NUMBERS, *TEXTS, "member", "day")
        return self._one(
            "count(*)", f"count({name})", f"count({number})", f"coalesce(sum({number}), 0)",
            f"avg({self._one(*NUMBERS)})", f"count(*) FILTER (WHERE {self.truth(1)})", f"count_if({self.truth(1)})",
            f"count(CASE WHEN {self.truth(1)} THEN {self._one('1', name, number)} END)",
            f"coalesce(sum(CASE WHEN {self.truth(1)} THEN 1 ELSE 0 END), 0)",
        )  # fmt: skip

    def statement(self) -> str:
        where = self._one("", f" WHERE {self.truth()}", f" WHERE {self.truth()}")
        if self._chance.random() < 0.4:
            return f"SELECT {self.aggregate()} AS a, {self.aggregate()} AS b FROM people{where}"
        key = self._one(
            *TEXTS, "member", "age", "age // 3", "score > 2", "month(day)", "sign(score - 2)", "'all'",
            f"CASE WHEN {self.truth(1)} THEN 'yes' ELSE 'no' END",
        )  # fmt: skip
        by = self._one("1", "k", "ALL")
        return f"SELECT {key} AS k, {self.aggregate()} AS a FROM people{where} GROUP BY {by}"
