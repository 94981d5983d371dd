"""One case: a table, a release of it, and questions to that release."""

from __future__ import annotations

import re
import tempfile
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from discreet.answering import ReleaseReader, open_release
from discreet.artifacts.answer import Covers
from discreet.artifacts.answers import Answers
from discreet.errors import BadInput, DiscreetError, Refused
from discreet.releases import release_to_file
from tests.harness.release_questions.checking import (
    alike,
    leaves_others_out,
    wrong_numbers,
    wrong_shape,
)
from tests.harness.release_questions.conditions import Conditions
from tests.harness.release_questions.spellings import spellings
from tests.harness.release_questions.statements import Statement, Statements
from tests.harness.release_questions.tables import Table, made_table
from tests.harness.release_questions.truth import TABLE, Truth, columns_in, plain
from tests.harness.release_questions.workloads import Wanted, some_classes, whole_table
from tests.no_noise import without_noise
from tests.repeated_noise import noise_of


@dataclass
class Found:
    """What a run has seen."""

    questions: int = 0
    answered: int = 0
    compared: int = 0
    releases: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)

    def refuse(self, message: str, example: str) -> None:
        shape = re.sub(r"'[^']*'|\"[^\"]*\"|[\d.,]+\d|\d+", "#", message)
        self.refused[shape] += 1
        self.examples.setdefault(shape, f"{example}  ->  {message}")

    def add(self, kind: str, case: str, text: str) -> None:
        self.kinds[kind] += 1
        self.findings.append(f"[{kind}] {case}: {text}")


def try_case(seed: int, found: Found, questions: int = 40) -> None:
    """A table and a release from one seed, and questions to it."""
    random = Random(seed)
    kind = random.random()
    is_noisy, is_exact = kind > 0.75, kind < 0.3
    table = made_table(random, exact=is_exact)
    choose = whole_table if is_exact else some_classes
    wanted = choose(random, table.schema, is_noisy=is_noisy)
    case = f"seed {seed}, {len(table.rows)} rows, {', '.join(wanted.workload)} {wanted.algorithms or ''}"
    truth = Truth(table)
    try:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "t.release"
            with noise_of(f"release questions {seed}") if is_noisy else without_noise():
                reader = _released(table, wanted, path, found, case)
            if reader is None:
                return
            found.releases += 1
            again = open_release(path)
            _Case(random, table, wanted, truth, reader, again, found, case, is_noisy).run(questions)
    finally:
        truth.close()


def _released(
    table: Table, wanted: Wanted, path: Path, found: Found, case: str
) -> ReleaseReader | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return release_to_file(
                table.source,
                table.schema,
                path,
                budget=wanted.budget,
                workload=list(wanted.workload),
                algorithms=wanted.algorithms,
                ledger=path.with_name("ledger.db"),
                threads=1,
            )
        except DiscreetError as error:
            _check_sentence(str(error), found, case)
            found.refuse(f"(release) {error}", case)
        except Exception:
            found.add("crash", case, f"releasing: {traceback.format_exc(limit=-3)}")
    return None


def _check_sentence(message: str, found: Found, where: str) -> None:
    if (
        "\n" in message
        or not message.endswith((".", "?"))
        or re.search(r"<[\w.]+ object|Traceback", message)
    ):
        found.add("sentence", where, message)


@dataclass
class _Case:
    random: Random
    table: Table
    wanted: Wanted
    truth: Truth
    reader: ReleaseReader
    again: ReleaseReader
    found: Found
    case: str
    is_noisy: bool

    def run(self, questions: int) -> None:
        for _ in range(questions):
            held = sorted(self.random.choice(self.wanted.columns))
            names = self.random.sample(held, min(len(held), self.random.choice([1, 2, 2, 3])))
            if self.random.random() < 0.1:
                names = list(self.table.schema.names)
            own = Conditions(self.random, self.table, names)
            statement = Statements(self.random, own).statement()
            answers = self._asked(statement)
            if answers is not None:
                self._check(statement, answers)
            if self.random.random() < 0.15:
                self._other_ways(own)
            if self.random.random() < 0.15:
                self._sum_of_groups(own)

    def _asked(self, statement: Statement) -> Answers | None:
        self.found.questions += 1
        return self._ask(plain(statement.sql))

    def _ask(self, sql: str, **options: Any) -> Answers | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                return self.reader.ask(sql, **options)
        except (BadInput, Refused) as error:
            _check_sentence(str(error), self.found, f"{self.case}: {sql}")
            self.found.refuse(str(error), f"{self.case}: {sql}")
        except Exception:
            self.found.add("crash", self.case, f"{sql}\n{traceback.format_exc(limit=-4)}")
        return None

    def _check(self, statement: Statement, answers: Answers) -> None:
        sql = plain(statement.sql)
        self.found.answered += 1
        for each in wrong_shape(answers, statement):
            self.found.add("shape", self.case, f"{sql}: {each}")
        if self.random.random() < 0.2:
            again = self.again.ask(sql)
            if not alike(answers, again):
                self.found.add("file", self.case, f"{sql}: the file answers otherwise")
            batch = ["SELECT count(*) FROM t", sql, sql]
            try:
                several = self.reader.ask_many(batch)
            except DiscreetError:
                several = self.reader.ask_many(batch[1:])
            if not all(alike(answers, each) for each in several[-2:]):
                self.found.add("batch", self.case, f"{sql}: answered otherwise in a batch")
        truths = []
        if self.is_noisy or self._spreads_rows():
            return
        if self.truth.has_others(columns_in(statement.computed)):
            return
        if leaves_others_out(answers) and self.truth.has_others(columns_in(statement.sql)):
            return
        for needed in self.truth.row_sets():
            rows = self.truth.rows(statement.sql, needed)
            if rows is None:
                return
            truths.append(rows)
        self.found.compared += 1
        wrong = wrong_numbers(answers, statement, truths)
        if wrong is not None:
            kind, text = wrong
            self.found.add(kind, self.case, f"{sql}: {text}; notes {answers.notes}")

    def _other_ways(self, conditions: Conditions) -> None:
        """Spellings that mean the same get the same answer; a condition, its negation and its nulls make up all rows."""
        condition = conditions.condition(1)
        for kind, one, other in spellings(self.random, condition, conditions):
            first, second = (
                self._ask(plain(f"SELECT count(*) FROM {TABLE} WHERE {each}"))
                for each in (one, other)
            )
            self.found.questions += 2
            if (first is None) != (second is None):
                self.found.add("refused spelling", self.case, f"{plain(one)}  and  {plain(other)}")
            elif first is not None and second is not None and not alike(first, second):
                self.found.add(
                    kind, self.case, f"{plain(one)}: {first.only}; {plain(other)}: {second.only}"
                )
        parts = [condition, f"NOT ({condition})", f"({condition}) IS NULL", "TRUE"]
        counts = [self._ask(plain(f"SELECT count(*) FROM {TABLE} WHERE {each}")) for each in parts]
        self.found.questions += 4
        if all(each is not None for each in counts):
            *some, whole = (each.only for each in counts if each is not None)
            lower, upper = sum(each.lower for each in some), sum(each.upper for each in some)
            if not self._leaves_rows() and (
                whole.upper < lower - 1e-6 or whole.lower > upper + 1e-6
            ):
                self.found.add(
                    "complement",
                    self.case,
                    f"{plain(condition)}: {list(map(str, some))} of {whole}",
                )

    def _sum_of_groups(self, conditions: Conditions) -> None:
        """Counts from tables add up, whatever the noise."""
        if self._leaves_rows() or not all(
            each.startswith(("marginals", "histogram")) for each in self.wanted.workload
        ):
            return
        condition, key = conditions.condition(1), self.random.choice(conditions.names)
        whole = f"SELECT count(*) AS n FROM {TABLE} WHERE {condition}"
        parts = f"SELECT ⟨{key}⟩, count(*) AS n FROM {TABLE} WHERE {condition} GROUP BY ⟨{key}⟩"
        for options in ({}, {"additive": True}):
            total, groups = (self._ask(plain(each), **options) for each in (whole, parts))
            self.found.questions += 2
            if total is None or groups is None or groups.columns[0].covers is not Covers.NOISE:
                continue
            if any("sums of their cells differ" in note for note in total.notes + groups.notes):
                continue
            added, one = (
                float(groups.columns[0].estimate.sum()),
                float(total.columns[0].estimate[0]),
            )
            if abs(added - one) > 1e-6 * (1 + abs(one)):
                self.found.add(
                    "sum",
                    self.case,
                    f"{plain(parts)} {options}: groups add up to {added}, not {one}; {total.notes}",
                )

    def _spreads_rows(self) -> bool:
        """Whether rows without a cell count evenly in all cells."""
        return self._leaves_rows() and any(
            "-even" in each or "fourier" in each for each in self.wanted.algorithms.values()
        )

    def _leaves_rows(self) -> bool:
        return any(not all(kept) for kept in self.table.kept.values())
