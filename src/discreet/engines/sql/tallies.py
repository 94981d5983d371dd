"""Tallies: every aggregate of a question from one scan.

The rows that meet the condition get one integer key for their group, and one more for each
histogram (group and bucket together); GROUPING SETS then counts them all at once. What a term adds
for a row comes straight from the column's unit: its cell, which is dearer, is looked up only for
columns that are grouped by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.sql import syntax as s
from discreet.engines.sql.expressions import Compiler
from discreet.engines.sql.keys import within_groups
from discreet.engines.sql.session import Session
from discreet.engines.sql.syntax import Sql
from discreet.queries.measurable import SATURATION
from discreet.queries.tallies import (
    Cells,
    FoundKeys,
    Persons,
    Present,
    Rows,
    Squares,
    Summand,
    Tally,
    Term,
    Total,
    Valued,
    is_whole,
    steps_of,
    summand_bounds,
)
from discreet.questions.expressions import TRUE, Bins, Expression, columns_of
from discreet.schema.columns.column import Column
from discreet.schema.schema import Schema

Counts = NDArray[np.int64]
Source = Callable[[Sequence[Column]], Sql]
"""The rows with the units and codes of some columns."""


def tallied(
    tallies: Sequence[Tally],
    schema: Schema,
    session: Session,
    source: Source,
    compiler: Compiler,
    units: Source,
) -> list[Counts]:
    """The integers of each tally, flat. `units` gives the rows where no code is looked at."""
    together: dict[tuple[tuple[str | Bins, ...], Expression, FoundKeys | None], list[int]] = {}
    for place, tally in enumerate(tallies):
        together.setdefault((tally.groups, tally.condition, tally.found), []).append(place)
    found: dict[int, Counts] = {}
    for (groups, condition, keys), places in together.items():
        scan = _Scan(schema, groups, condition, compiler, keys)
        terms = list(dict.fromkeys(tallies[place].term for place in places))
        finest = _finest(terms)
        counted = scan.run(
            [term for term in terms if finest.get(term, term) == term], session, source, units
        )
        for place in places:
            term = tallies[place].term
            if term not in counted:
                assert isinstance(term, Cells)
                counted[term] = _coarser(counted[finest[term]], finest[term], term, schema)
            found[place] = counted[term]
    return [found[place] for place in range(len(tallies))]


def _finest(terms: Sequence[Term]) -> dict[Term, Cells]:
    """For each histogram in buckets, the finest one of its column: the others add up from it."""
    found: dict[str, Cells] = {}
    buckets = [term for term in terms if isinstance(term, Cells) and term.shift is not None]
    for term in sorted(buckets, key=lambda term: -(term.shift or 0)):
        found[term.column] = term
    return {term: found[term.column] for term in buckets}


def _coarser(counts: Counts, finest: Cells, term: Cells, schema: Schema) -> Counts:
    table = counts.reshape(-1, finest.buckets(schema))
    step = 1 << ((term.shift or 0) - (finest.shift or 0))
    starts = np.arange(0, table.shape[1], step)
    return np.ascontiguousarray(np.add.reduceat(table, starts, axis=1).reshape(-1))


@dataclass(frozen=True, slots=True)
class _Scan:
    """One condition and grouping."""

    schema: Schema
    groups: tuple[str | Bins, ...]
    condition: Expression
    compiler: Compiler
    keys: FoundKeys | None = None

    def run(
        self, terms: Sequence[Term], session: Session, source: Source, units: Source
    ) -> dict[Term, Counts]:
        if self.keys is None:
            return self._counted(
                terms, session, units if self._needs_units(terms) else source, None
            )
        with session.lookup(self.keys, self.compiler) as place:
            return self._counted(terms, session, source, place)

    def _counted(
        self, terms: Sequence[Term], session: Session, source: Source, place_of_key: Sql | None
    ) -> dict[Term, Counts]:
        histograms = [term for term in terms if isinstance(term, Cells)]
        plain = [term for term in terms if not isinstance(term, Cells)]
        rows = self._valued(source(self._columns(terms)))
        met = [] if self.condition == TRUE else [self.compiler.sql(self.condition)]
        if self._bounds_groups:  # else a row that has no group makes one of its own, left out below
            met += [exp.Not(this=s.is_null(self._group(each))) for each in self.groups]
        if place_of_key is not None:
            met.append(exp.Not(this=s.is_null(place_of_key)))
        group = self._key(place_of_key)
        found: dict[Term, Counts] = {}
        if not histograms:
            if not self.groups and place_of_key is None:
                return self._ungrouped(plain, rows, met, session)
            rows = self._keyed([exp.alias_(group, "k0"), *self._inputs(plain)], rows, met)
            query = exp.select(
                s.call("coalesce", s.name("k0"), s.whole(-1)),
                *(self._aggregate(n, term, plain) for n, term in enumerate(plain)),
            )
            arrays = session.arrays(
                query.from_(rows, copy=False).group_by(s.name("k0"), copy=False)
            )
            return self._placed(plain, arrays, np.ones(len(arrays[0]), dtype=bool))
        keys = [exp.alias_(group, "k0")]
        keys += [
            exp.alias_(self._bucket(group, term), f"k{n}")
            for n, term in enumerate(histograms, start=1)
        ]
        rows = self._keyed([*keys, *self._inputs(plain)], rows, met)
        numbers = list(range(0 if plain else 1, len(keys)))
        names = [s.name(f"k{n}") for n in numbers]
        sets = [exp.Tuple(expressions=[name]) for name in names]
        grouping = self.compiler.dialect.grouping(names)
        blank = [s.call("coalesce", s.name(f"k{n}"), s.whole(-1)) for n in numbers]
        query = exp.select(
            exp.alias_(s.cast(grouping, "BIGINT"), "which"),
            *(exp.alias_(one, f"k{n}") for n, one in zip(numbers, blank, strict=True)),
            exp.alias_(exp.Count(this=exp.Star()), "n"),
            *(self._aggregate(n, term, plain) for n, term in enumerate(plain)),
        ).from_(rows)
        query.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
        which, *arrays = session.arrays(query)
        for place, number in enumerate(numbers):
            # GROUPING_ID has a bit for each key that is not grouped by, the first the highest.
            mine = which == ((1 << len(numbers)) - 1) ^ (1 << (len(numbers) - 1 - place))
            if number == 0:
                found |= self._placed(plain, [arrays[0], *arrays[len(numbers) + 1 :]], mine)
                continue
            term = histograms[number - 1]
            counts = self._zeros(term)
            cells = arrays[place][mine].astype(np.int64)
            known = cells >= 0
            counts[cells[known]] = arrays[len(numbers)][mine][known]
            found[term] = counts
        return found

    def _ungrouped(
        self, terms: Sequence[Term], rows: Sql, met: Sequence[Sql], session: Session
    ) -> dict[Term, Counts]:
        inputs = self._inputs(terms) or [exp.alias_(s.whole(0), "t")]
        inner = (
            exp.select(*inputs)
            .from_(rows, copy=False)
            .where(*met, copy=False)
            .subquery("met", copy=False)
        )
        query = exp.select(*(self._aggregate(n, term, terms) for n, term in enumerate(terms)))
        values = session.arrays(query.from_(inner, copy=False))
        pairs = zip(terms, values, strict=True)
        return {term: np.array(value, dtype=np.int64).reshape(-1) for term, value in pairs}

    def _placed(
        self, terms: Sequence[Term], arrays: Sequence[NDArray[np.generic]], mine: NDArray[np.bool_]
    ) -> dict[Term, Counts]:
        groups = arrays[0].astype(np.int64)
        mine = mine & (groups >= 0)
        cells = groups[mine]
        found: dict[Term, Counts] = {}
        for term, values in zip(terms, arrays[1:], strict=True):
            counts = self._zeros(term)
            counts[cells] = values[mine]
            found[term] = counts
        return found

    def _columns(self, terms: Sequence[Term]) -> list[Column]:
        names = list(columns_of(self.condition))
        for each in self.groups:
            names += each.columns if isinstance(each, Bins) else (each,)
        names += [] if self.keys is None else self.keys.columns
        for term in terms:
            if isinstance(term, Cells):
                names.append(term.column)
            elif not isinstance(term, (Rows, Persons)):
                names += [term.of] if isinstance(term.of, str) else columns_of(term.of)
        wanted = set(names)
        columns = [column for column in self.schema.columns if column.name in wanted]
        return columns or [self.schema.columns[0]]  # a scan needs something to scan

    def _place(self, name: str) -> int:
        return self.schema.names.index(name)

    def _code(self, name: str) -> Sql:
        return s.name(f"c{self._place(name)}")

    def _unit(self, name: str) -> Sql:
        return s.name(f"u{self._place(name)}")

    def _zeros(self, term: Term) -> Counts:
        return np.zeros(Tally(term, self.groups, found=self.keys).size(self.schema), dtype=np.int64)

    def _keyed(self, chosen: Sequence[exp.Expr], rows: Sql, met: Sequence[Sql]) -> Sql:
        """The rows that meet the condition, each unit's in no more groups than the schema says."""
        whose = [s.name("identifier")] if self._bounds_groups else []
        query = exp.select(*chosen, *whose).from_(rows, copy=False).where(*met, copy=False)
        if self._bounds_groups:
            query = within_groups(
                query, [s.name("k0")], self.schema.unit.groups, self.compiler.dialect
            )
        return query.subquery("keyed", copy=False)

    @property
    def _bounds_groups(self) -> bool:
        unit = self.schema.unit
        return unit.max_groups is not None and unit.max_groups < unit.max_rows

    def _key(self, place_of_key: Sql | None = None) -> Sql:
        key, step = s.cast(s.whole(0), "BIGINT"), 1
        for each in reversed(self.groups):
            code = s.cast(self._group(each), "BIGINT")
            key = s.add(key, s.multiply(code, s.whole(step)))
            step *= each.size if isinstance(each, Bins) else self.schema.column(each).cells
        if place_of_key is not None:
            key = s.add(key, s.multiply(place_of_key, s.whole(step)))
        return key

    def _needs_units(self, terms: Sequence[Term]) -> bool:
        """Whether nothing but units is looked at: no groups, no cells, and a condition on units."""
        if self.groups or any(isinstance(term, Cells) for term in terms):
            return False
        looked = [*self._inputs(terms), self.compiler.sql(self.condition)]
        names = {column.name for each in looked for column in each.find_all(exp.Column)}
        return all(name.startswith("u") for name in names)

    def _valued(self, rows: Sql) -> Sql:
        """The rows with a number b0, b1, ... for each map of groups: what its bins are bins of."""
        maps = [each for each in self.groups if isinstance(each, Bins)]
        if not maps:
            return rows
        made = [exp.alias_(self._binned(each), f"b{n}") for n, each in enumerate(maps)]
        return exp.select("*", *made).from_(rows, copy=False).subquery("valued", copy=False)

    def _binned(self, bins: Bins) -> Sql:
        """The clamped unit of one ordered column, or the number of a combination of cells."""
        if bins.starts:
            value = self._value(bins.columns[0])
            return s.rest(value, bins.period) if bins.period else value
        number = s.cast(s.whole(0), "BIGINT")
        for name in bins.columns:
            cells = s.whole(self.schema.column(name).cells)
            number = s.add(s.multiply(number, cells), s.cast(self._code(name), "BIGINT"))
        return number

    def _group(self, each: str | Bins) -> Sql:
        """The number of a row's group; null where it is in none."""
        if not isinstance(each, Bins):
            return self._code(each)
        maps = [one for one in self.groups if isinstance(one, Bins)]
        value = s.name(f"b{maps.index(each)}")
        starts: Sequence[int | float] = each.starts or range(len(each.codes))
        runs = [
            (start, code)
            for place, (start, code) in enumerate(zip(starts, each.codes, strict=True))
            if place == 0 or code != each.codes[place - 1]
        ]
        found = _searched(value, runs)
        if not each.starts:
            return s.choose([(s.is_null(value), s.null())], found)
        missing = s.is_null(self._unit(each.columns[0]))
        cases = [(exp.Not(this=s.is_null(value)), found), (missing, _group_number(each.null))]
        return s.choose(cases, _group_number(each.other))

    def _bucket(self, group: Sql, term: Cells) -> Sql:
        """The group and the bucket as one number; null where the row is in none."""
        column = self.schema.column(term.column)
        code = self.compiler.dialect.narrowed(self._code(term.column))
        if term.shift is not None:
            inside = s.less(code, s.whole(column.value_cells))
            shifted = s.binary(exp.BitwiseRightShift, code, s.whole(term.shift))
            code = s.choose([(inside, shifted)], s.null())
        return s.add(s.multiply(group, s.whole(term.buckets(self.schema))), code)

    def _inputs(self, terms: Sequence[Term]) -> list[exp.Expr]:
        """What each term looks at in a row."""
        return [
            exp.alias_(self._input(term), f"t{n}")
            for n, term in enumerate(terms)
            if not isinstance(term, (Rows, Cells)) and _counted_by(term, terms) is None
        ]

    def _input(self, term: Term) -> Sql:
        match term:
            case Rows() | Cells():
                return s.null()
            case Persons():
                return s.name("identifier")
            case Present(of=of):
                return self._unit(of) if isinstance(of, str) else self.compiler.sql(of)
            case Valued(of=of):
                return self._value(of)
            case Total(of=of, grid=grid, bits=bits):
                if is_whole(of, self.schema):
                    return self._value(of)  # multiplied by the grid once, in the sum
                return self._fixed_point(of, grid << bits)
            case Squares(of=of, grid=grid, center=center, shift=shift):
                _, most = Tally(Squares(of, grid, center, 0)).row_bounds(self.schema)
                wide = "BIGINT" if most < SATURATION else "HUGEINT"
                moved = s.cast(s.subtract(self._fixed_point(of, grid), s.whole(center)), wide)
                squared = s.multiply(moved, moved)
                if not shift:
                    return squared
                return self.compiler.dialect.quotient(squared, 1 << shift, wide=wide == "HUGEINT")
        assert_never(term)

    def _aggregate(self, place: int, term: Term, terms: Sequence[Term]) -> exp.Expr:
        other = _counted_by(term, terms)
        name = s.name(f"t{place if other is None else other}")
        match term:
            case Rows():
                made: Sql = exp.Count(this=exp.Star())
            case Persons():
                made = exp.Count(this=exp.Distinct(expressions=[name]))
            case Present() | Valued():
                made = exp.Count(this=name)
            case Total(of=of, grid=grid, center=center, bits=bits):
                made = _sum(name)
                if is_whole(of, self.schema) and grid > 1:
                    made = s.multiply(made, s.whole(grid))
                if bits:
                    made = self.compiler.dialect.wide_divided_down(made, 1 << bits)
                if center:
                    rows = s.cast(exp.Count(this=name.copy()), "HUGEINT")
                    made = s.subtract(made, s.multiply(rows, s.whole(center)))
                made = _clamped(made)
            case Squares():
                made = _clamped(_sum(name))
            case Cells():
                raise AssertionError("a histogram is counted by its own key")
            case _ as unknown:
                assert_never(unknown)
        return exp.alias_(made, f"a{place}")

    def _value(self, of: Summand) -> Sql:
        """What a row adds, before it is rounded; null for a row that adds nothing."""
        if isinstance(of, str):
            return self.compiler.clamped(of)
        value = self.compiler.sql(of)
        return self._within(value, of, 1) if is_whole(of, self.schema) else value

    def _fixed_point(self, of: Summand, grid: int) -> Sql:
        """round(grid * value), half to even: the value is clamped, so no product leaves 64 bits."""
        value = self._value(of)
        if is_whole(of, self.schema):
            if grid == 1:
                return value
            wide = s.multiply(s.cast(value, "HUGEINT"), s.whole(grid))
            return self.compiler.dialect.narrowed(wide)  # the plan keeps it within 64 bits
        if not isinstance(of, str):  # near its bounds first, for then the cast cannot fail
            low, high = (s.double(float(end)) for end in summand_bounds(of, self.schema))
            value = s.clamped_or_null(value, low, high)
        product = value if grid == 1 else self.compiler.dialect.scaled(value, float(grid))
        if not isinstance(of, str):
            product = s.clamped_or_null(product, s.double(-(2.0**62)), s.double(2.0**62))
        steps = self.compiler.dialect.nearest(product)
        return steps if isinstance(of, str) else self._within(steps, of, grid)

    def _within(self, steps: Sql, of: Summand, grid: int) -> Sql:
        """Within the bounds that the sensitivity is made of, as integers."""
        low, high = steps_of(of, grid, self.schema)
        return s.clamped_or_null(steps, s.whole(low), s.whole(high))


def _searched(value: Sql, runs: Sequence[tuple[int | float, int]]) -> Sql:
    """The group of the last start that is not above the value: halves of halves."""
    if len(runs) == 1:
        return _group_number(runs[0][1])
    middle = len(runs) // 2
    start = runs[middle][0]
    edge = s.double(start) if isinstance(start, float) else s.cast(s.whole(start), "BIGINT")
    below = _searched(value, runs[:middle])
    return s.choose([(s.less(value, edge), below)], _searched(value, runs[middle:]))


def _group_number(code: int) -> Sql:
    return s.null() if code < 0 else s.cast(s.whole(code), "BIGINT")


def _counted_by(term: Term, terms: Sequence[Term]) -> int | None:
    """The place of a total that is null exactly where the term is, so that its rows can be counted."""
    if not isinstance(term, Valued):
        return None
    totals = [n for n, one in enumerate(terms) if isinstance(one, Total) and one.of == term.of]
    return totals[0] if totals else None


def _sum(name: Sql) -> Sql:
    return s.call("coalesce", s.cast(exp.Sum(this=name.copy()), "HUGEINT"), s.whole(0))


def _clamped(total: Sql) -> Sql:
    return s.cast(s.clamp(total, s.whole(-SATURATION), s.whole(SATURATION)), "BIGINT")
