"""Random conditions over a schema's columns, as SQL: every operation, nested."""

from __future__ import annotations

from random import Random


class Conditions:
    """Draws conditions; columns are given by their type."""

    def __init__(self, random: Random, columns: dict[str, list[str]]) -> None:
        self._random, self._columns = random, columns

    def condition(self, depth: int = 3) -> str:
        pick, cond = self._random.choice, self.condition
        if depth <= 0:
            return pick([*self._columns["boolean"], "TRUE", f"{pick(self._any())} IS NULL"])
        kind = self._random.randrange(9)
        if kind == 0:
            return f"({cond(depth - 1)} {pick(['AND', 'OR'])} {cond(depth - 1)})"
        if kind == 1:
            return f"NOT ({cond(depth - 1)})"
        if kind == 2:
            return f"({cond(depth - 1)}) IS {pick(['TRUE', 'NOT TRUE', 'FALSE', 'NULL'])}"
        if kind == 3:
            pattern = pick(["'F%'", "'%e%'", "'_'", "'f'", "''"])
            return f"{self.text(depth - 1)} {pick(['LIKE', 'ILIKE', 'NOT LIKE'])} {pattern}"
        if kind == 4:
            listed = pick(["1, 2, 50", "0, NULL", "-1, 2.5"])
            return f"{self.number(depth - 1)} {pick(['IN', 'NOT IN'])} ({listed})"
        of = pick([self.number, self.number, self.text, self.date])
        if kind == 5:
            return f"{of(depth - 1)} BETWEEN {of(depth - 1)} AND {of(depth - 1)}"
        if kind == 6:
            return f"{of(depth - 1)} IS {pick(['', 'NOT '])}DISTINCT FROM {of(depth - 1)}"
        return f"{of(depth - 1)} {pick(['=', '<>', '<', '<=', '>', '>='])} {of(depth - 1)}"

    def number(self, depth: int) -> str:
        pick, number = self._random.choice, self.number
        if depth <= 0:
            literals = ["0", "1", "-3", "2.5", "50", "1e300", "9223372036854775807"]
            return pick([*self._columns["number"] * 3, *literals])
        one, other = number(depth - 1), number(depth - 1)
        parts = [
            "year",
            "quarter",
            "month",
            "week",
            "day",
            "dow",
            "isodow",
            "doy",
            "hour",
            "minute",
        ]
        return pick(
            [
                f"({one} {pick('+-*/%')} {other})",
                f"({one} {pick('+-*/%')} {other})",
                f"{pick(['abs', 'floor', 'ceil', 'round', '-'])}({one})",
                f"round({one}, {pick(['2', '-1', '0'])})",
                f"{pick(['sqrt', 'ln'])}({one})",
                f"power({one}, {pick(['2', '3', '0.5'])})",
                f"CASE WHEN {self.condition(depth - 1)} THEN {one} ELSE {other} END",
                f"coalesce({one}, {other})",
                f"nullif({one}, {other})",
                f"{pick(['greatest', 'least'])}({one}, {other}, 7)",
                f"CAST({one} AS {pick(['INTEGER', 'DOUBLE'])})",
                f"CAST({self.text(depth - 1)} AS {pick(['INTEGER', 'DOUBLE'])})",
                f"length({self.text(depth - 1)})",
                f"extract({pick(parts)} FROM {self.date(depth - 1)})",
                f"({self.date(depth - 1)}::date - {self.date(depth - 1)}::date)",
            ]
        )

    def text(self, depth: int) -> str:
        pick, text = self._random.choice, self.text
        if depth <= 0:
            return pick([*self._columns["text"] * 3, "'F'", "' 12 '", "'2012-02-29'"])
        one, other = text(depth - 1), text(depth - 1)
        return pick(
            [
                f"{pick(['upper', 'lower', 'trim', 'ltrim', 'rtrim'])}({one})",
                f"substr({one}, {pick('123')}, {pick('012')})",
                f"left({one}, {pick('012')})",
                f"({one} || {other})",
                f"concat({one}, {other})",
                f"CASE WHEN {self.condition(depth - 1)} THEN {one} END",
                f"coalesce({one}, {other})",
                f"nullif({one}, {other})",
                f"{pick(['greatest', 'least'])}({one}, {other})",
                f"CAST({pick(self._columns['integer'])} AS VARCHAR)",
                f"CAST({pick(self._columns['date'])} AS VARCHAR)",
            ]
        )

    def date(self, depth: int) -> str:
        pick, dated = self._random.choice, self.date
        if depth <= 0:
            literals = ["DATE '2012-02-29'", "TIMESTAMP '2001-02-03 12:30:59'"]
            return pick([*self._columns["date"] * 3, *literals])
        units = ["year", "quarter", "month", "week", "day", "hour", "minute"]
        return pick(
            [
                f"date_trunc('{pick(units)}', {dated(depth - 1)})",
                f"({dated(depth - 1)})::{pick(['date', 'timestamp'])}",
                f"(({dated(depth - 1)})::date {pick('+-')} {pick(['1', '30', '400'])})",
                f"coalesce({dated(depth - 1)}, {dated(depth - 1)})",
                f"CASE WHEN {self.condition(depth - 1)} THEN {dated(depth - 1)} "
                f"ELSE {dated(depth - 1)} END",
                "DATE '2012-02-29' + INTERVAL '1 year'",
            ]
        )

    def _any(self) -> list[str]:
        return [name for names in self._columns.values() for name in names]
