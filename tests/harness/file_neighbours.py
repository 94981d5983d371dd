"""File neighbours: one record of arbitrary bytes more, less or other, and what an onlooker could see.

A file is made in some encoding and dialect, or as Parquet or DuckDB, and a neighbour of it by inserting,
deleting or changing one record. Both are counted by the engine, without noise. Then
  1. whether the engine stops, and what it says, is the same;
  2. each table of counts moves by 1 at most (in L1), or by 2 where a record was changed; the number
     of rows by exactly 1, or not at all;
  3. as many questions go to the database;
  4. the counts are those that a second reader finds, which was written from the documented rules alone;
  5. of one file in three, with one neighbour: `discreet release` and `discreet curator ask`, given the same noisy
     numbers for both, end with the same exit code, print the same, charge the same and write the same bytes.

    python -m tests.harness.file_neighbours --pairs 20000 --seed 1

Files with `quoted_line_breaks` are compared with the second reader only: there one record may reach into
others, and they do not count as pairs. The seed is public, for the files are nobody's; a finding names the one that makes it again.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.audits.observing import Divergence
from discreet.engines import open_engine
from discreet.engines.csv import limits as csv_limits
from discreet.engines.csv.limits import CsvLimits
from discreet.engines.duckdb import session as duckdb_session
from discreet.families.shared.estimate.public_random import generator as public_generator
from discreet.queries.measurable import Counts
from discreet.schema import Schema
from tests.harness.command_line import printed, told_apart
from tests.harness.files.csv_reference import reference_counts
from tests.harness.files.records import NAMES, PLAINEST, CsvFile, changed, random_file
from tests.harness.files.tables import TableFile, changed_table, random_table_file, table_counts
from tests.harness.progress import Progress

if TYPE_CHECKING:
    from numpy.random import Generator

SMALL = CsvLimits(longest_line=300, few=40, block=97, part=500, batch_parts=2)
"""So small that every border of the reader falls into a small file."""
SETS = (("age",), ("city",), ("age", "city", "pay", "ok"))
NEIGHBOURS = 10
"""How many neighbours each file gets."""
ONE_IN = 3
"""Files of which the command line reads one neighbour too."""
SEEDS_EACH = 25
"""Files that a process takes on at once."""
READ = "read"
COMMANDS = "by the command line"
"""How what was done is counted, beside pairs."""
Written = CsvFile | TableFile


class FoundLeak(AssertionError):
    """Two neighbours can be told apart by more than one record's worth, or a file is misread."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What the engine let out of one file, before any noise."""

    error: str
    rows: int = 0
    tables: tuple[Counts, ...] = ()
    questions: int = 0


@contextmanager
def limited(limits: CsvLimits) -> Iterator[None]:
    """Within the block, CSV files are read by these sizes."""
    before = csv_limits.current
    csv_limits.current = limits
    try:
        yield
    finally:
        csv_limits.current = before


@contextmanager
def counted_questions(asked: list[str]) -> Iterator[None]:
    """Within the block, every question to a database is listed.

    But for further batches of a CSV file: how many there are follows from its size.
    """
    spelled = duckdb_session._text

    def noted(query: Any) -> str:
        text = spelled(query)
        if not text.startswith("INSERT INTO"):
            asked.append(text)
        return text

    duckdb_session._text = noted
    try:
        yield
    finally:
        duckdb_session._text = spelled


def seen(source: str, schema: Schema) -> Seen:
    """The exact numbers of a file, or what the engine said when it stopped."""
    asked: list[str] = []
    try:
        with counted_questions(asked), open_engine(source, schema, threads=2) as engine:
            tables = tuple(engine.marginals(list(SETS)))
            return Seen("", engine.row_count(), tables, len(asked))
    except Exception as error:
        return Seen(f"{type(error).__name__}: {error}", questions=len(asked))


def model(file: Written) -> Seen:
    """The same, as the second reader finds it."""
    if isinstance(file, CsvFile):
        longest = csv_limits.current.longest_line
        rows, cells = reference_counts(file.content(), file.schema, NAMES, longest)
    else:
        rows, cells = table_counts(file)
    names = file.schema.names
    tables = []
    for columns in SETS:
        places = [names.index(name) for name in columns]
        counts = np.zeros([file.schema.column(name).cells for name in columns], dtype=np.int64)
        for cell, count in cells.items():
            chosen = [cell[place] for place in places]
            if None not in chosen:
                counts[tuple(chosen)] += count
        tables.append(counts)
    return Seen("", rows, tuple(tables))


def check_read(file: Written, found: Seen) -> None:
    """The engine counts what the rules say."""
    wanted = model(file)
    if found.error:
        raise FoundLeak(f"The engine stopped: {found.error}")
    if found.rows != wanted.rows:
        raise FoundLeak(f"{found.rows} rows are read where the rules say {wanted.rows}.")
    for columns, counts, right in zip(SETS, found.tables, wanted.tables, strict=True):
        if not np.array_equal(counts, right):
            raise FoundLeak(f"The counts of {', '.join(columns)} are not those of the rules.")


def check_pair(how: str, one: Seen, other: Seen) -> None:
    """Neighbours differ by one record's worth."""
    if one.error != other.error:
        raise FoundLeak(f"One stops and the other does not, or says another thing ({how}).")
    moved, most = {"insert": (1, 1), "delete": (-1, 1), "change": (0, 2)}[how]
    if other.rows - one.rows != moved:
        raise FoundLeak(f"The number of rows moved by {other.rows - one.rows} ({how}).")
    for columns, left, right in zip(SETS, one.tables, other.tables, strict=True):
        distance = int(np.abs(left - right).sum())
        if distance > most:
            raise FoundLeak(f"{', '.join(columns)} moved by {distance}, beyond {most} ({how}).")
    if one.questions != other.questions:
        raise FoundLeak(f"{one.questions} questions became {other.questions} ({how}).")


def check_commands(how: str, one: Written, other: Written, folder: Path) -> None:
    """The command line lets the same out of both, but for noisy numbers."""
    place = folder / "commands"
    seen_of_one, tape = printed(one.write(folder), one.schema, place)
    try:
        seen_of_other, _ = printed(other.write(folder), other.schema, place, recorded=tape)
    except Divergence as error:
        raise FoundLeak(f"The command line takes another way: {error} ({how}).") from None
    difference = told_apart(seen_of_one, seen_of_other)
    if difference:
        raise FoundLeak(f"{difference} ({how}).")


def audit_file(
    generator: Generator, folder: Path, neighbours: int, *, commands: bool = False
) -> Iterator[str]:
    """One random file and its neighbours; yields a word for each pair that was compared.

    With `commands`, the command line reads the file and its first neighbour too.
    """
    kind = generator.integers(12)
    small = bool(generator.integers(8))
    with limited(SMALL if small else CsvLimits()):
        longest = csv_limits.current.longest_line
        if kind == 0:
            table = random_table_file(generator)
            changes = [changed_table(table, generator) for _ in range(neighbours)]
            yield from _audited(table, folder, changes, commands=commands)
            return
        spans = kind == 1
        file = random_file(generator, longest=longest, spans=spans)
        made = [
            changed(file, generator, longest=longest) for _ in range(neighbours if small else 2)
        ]
        pairs = [(how, replace(file, records=records)) for how, records in made]
        yield from _audited(file, folder, pairs, compares=not spans, commands=commands)


def audit_plainest(seeds: Iterable[int], neighbours: int) -> int:
    """Files of the plainest dialect: neighbours are compared with each other, and with no second reader.

    So a finding here is one that an onlooker could have made.
    """
    done = 0
    with tempfile.TemporaryDirectory(prefix="discreet-neighbours-") as place, limited(SMALL):
        folder = Path(place)
        for seed in seeds:
            generator = public_generator(seed)
            file = random_file(generator, longest=SMALL.longest_line, schema=PLAINEST)
            one = seen(file.write(folder), file.schema)
            for _ in range(neighbours):
                how, records = changed(file, generator, longest=SMALL.longest_line)
                other = replace(file, records=records)
                check_pair(how, one, seen(other.write(folder), other.schema))
                done += 1
    return done


def _audited(
    file: Written,
    folder: Path,
    pairs: Sequence[tuple[str, Written]],
    *,
    compares: bool = True,
    commands: bool = False,
) -> Iterator[str]:
    one = seen(file.write(folder), file.schema)
    check_read(file, one)
    for how, neighbour in pairs:
        other = seen(neighbour.write(folder), neighbour.schema)
        check_read(neighbour, other)
        if compares:
            check_pair(how, one, other)
        yield f"{_spelled(file)}, {how if compares else READ}"
    if commands and compares:
        how, neighbour = pairs[0]
        check_commands(how, file, neighbour, folder)
        yield COMMANDS


def pairs_in(done: Counter[str]) -> int:
    """How many pairs of neighbours were compared."""
    return sum(
        count for kind, count in done.items() if kind != COMMANDS and not kind.endswith(READ)
    )


def _spelled(file: Written) -> str:
    if isinstance(file, TableFile):
        return file.form
    return file.schema.csv.encoding + (" .gz" if file.packed else "")


def audit_seeds(first: int, count: int) -> Counter[str]:
    """The files of so many seeds; `FoundLeak` at the first pair that can be told apart."""
    done: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="discreet-neighbours-") as place:
        folder = Path(place)
        empty = TableFile("parquet", ())
        seen(empty.write(folder), empty.schema)  # a process asks some things only once
        for seed in range(first, first + count):
            try:
                commands = seed % ONE_IN == 0
                done.update(
                    audit_file(public_generator(seed), folder, NEIGHBOURS, commands=commands)
                )
            except FoundLeak as found:
                raise FoundLeak(f"{found} Run again with --pairs 1 --seed {seed}.") from None
    return done


def audit_pairs(
    pairs: int, *, seed: int, workers: int = 1, progress: Progress | None = None
) -> Counter[str]:
    """At least so many pairs, from a seed on, in so many processes."""
    progress = progress or Progress("pairs", pairs)
    done: Counter[str] = Counter()
    if workers == 1:
        while pairs_in(done) < pairs:
            found = audit_seeds(seed, 1)
            done += found
            progress.advance(pairs_in(found))
            seed += 1
        return done
    waiting: set[Future[Counter[str]]] = set()
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        while pairs_in(done) < pairs:
            while len(waiting) < 2 * workers:
                waiting.add(pool.submit(audit_seeds, seed, SEEDS_EACH))
                seed += SEEDS_EACH
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for each in ended:
                found = each.result()
                done += found
                progress.advance(pairs_in(found))
        for each in waiting:
            each.cancel()
    return done


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harness.file_neighbours")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(words)
    progress = Progress("pairs", given.pairs)
    workers = 1 if given.pairs < 100 else given.workers
    try:
        done = audit_pairs(given.pairs, seed=given.seed, workers=workers, progress=progress)
    except FoundLeak as found:
        sys.stdout.write(f"{found}\n")
        return 1
    for kind, count in sorted(done.items()):
        sys.stdout.write(f"{count:7,}  {kind}\n")
    sys.stdout.write(
        f"{pairs_in(done):7,}  pairs in all, none told apart, {progress.seconds:.0f} s\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
