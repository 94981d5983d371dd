"""Files and their neighbours: one record of arbitrary bytes moves what it must, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import click
import pytest

from discreet.engines.csv.limits import CsvLimits
from discreet.schema import CsvOptions, Schema
from tests.harness.csv_lines import audit_files
from tests.harness.file_neighbours import (
    COMMANDS,
    SMALL,
    FoundLeak,
    audit_pairs,
    audit_plainest,
    audit_seeds,
    check_commands,
    check_pair,
    check_read,
    limited,
    pairs_in,
    seen,
)
from tests.harness.files.csv_reference import reference_rows
from tests.harness.files.raw_parquet import converted, decimal, logical
from tests.harness.files.records import COLUMNS, CsvFile
from tests.harness.files.stored_types import SOURCES, search, types

SCHEMA = Schema.loads('dataset = "fuzz"\n' + COLUMNS)
RECORDS = tuple(f'n,{n % 100},"Ulm",{n % 7},no'.encode() for n in range(60))
NASTY = (
    b'n,50,"',
    b'n,50,"Ulm"x,1,no',
    b'n,50,U"lm,1,no',
    b"n,50,Ulm\r51,1,no",
    b"n,50,\xff\xfe,1,no",
    b"n,50,\x00,1,no",
    b"n,50",
    b"n,50,Ulm,1,no,more,and more",
    b"",
    b"\r",
    b"\xef\xbb\xbfn,50,Ulm,1,no",
    b'" n"",50,"Ulm,1,no',
    b"n,50," + b"x" * 3_000_000 + b",1,no",
)


@pytest.mark.parametrize("record", NASTY, ids=lambda record: ascii(record[:14]))
def test_one_more_record_moves_every_table_by_one_at_most(tmp_path: Path, record: bytes) -> None:
    one = CsvFile(SCHEMA, RECORDS)
    other = replace(one, records=(*RECORDS[:9], record, *RECORDS[9:]))
    before = seen(one.write(tmp_path), SCHEMA)
    after = seen(other.write(tmp_path), SCHEMA)
    check_pair("insert", before, after)
    check_read(other, after)
    changed = replace(one, records=(*RECORDS[:9], record, *RECORDS[10:]))
    check_pair("change", before, seen(changed.write(tmp_path), SCHEMA))


def test_random_files_and_their_neighbours_are_never_told_apart() -> None:
    """The first few of the long run below."""
    done = audit_seeds(1, 8)
    assert pairs_in(done) >= 50
    assert done[COMMANDS] >= 1


def test_the_plainest_files_and_their_neighbours_are_never_told_apart() -> None:
    """UTF-8, commas, double quotes: here the reader of old coupled lines."""
    assert audit_plainest(range(4), 8) == 32


def test_the_lines_that_the_database_is_given_are_those_of_the_second_reader() -> None:
    """The first few hundred of the long run below."""
    audit_files(600, seed=1)


@pytest.mark.trust
def test_the_lines_of_two_hundred_thousand_files_are_those_of_the_second_reader() -> None:
    audit_files(200_000, seed=1_000_000)


@pytest.mark.trust
def test_twenty_thousand_neighbours_are_never_told_apart() -> None:
    done = audit_pairs(20_000, seed=100_000, workers=2)
    assert pairs_in(done) >= 20_000
    assert done[COMMANDS] >= 500
    for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"):
        assert sum(count for kind, count in done.items() if kind.startswith(encoding)) >= 1000
    assert all(done[f"{form}, change"] >= 100 for form in ("parquet", "duckdb"))


def test_a_pair_that_can_be_told_apart_is_a_finding(tmp_path: Path) -> None:
    file = CsvFile(SCHEMA, RECORDS)
    whole = seen(file.write(tmp_path), SCHEMA)
    two_less = seen(replace(file, records=RECORDS[2:]).write(tmp_path), SCHEMA)
    with pytest.raises(FoundLeak, match="number of rows moved by -2"):
        check_pair("delete", whole, two_less)
    with pytest.raises(FoundLeak, match="rows are read where the rules say"):
        check_read(file, two_less)
    moved = replace(file, records=tuple(b"n,,,,"[: len(one)] for one in RECORDS))
    with pytest.raises(FoundLeak, match="beyond 2"):
        check_pair("change", whole, seen(moved.write(tmp_path), SCHEMA))
    stopped = replace(whole, error="EngineFailed: The engine stopped.")
    with pytest.raises(FoundLeak, match="One stops"):
        check_pair("change", whole, stopped)
    with pytest.raises(FoundLeak, match="questions became"):
        check_pair("change", whole, replace(whole, questions=whole.questions + 1))


def test_what_the_command_line_says_of_two_tables_that_differ_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that says how large its file was: no count moves, and the exit code stays 0."""
    from discreet.cli.commands import release

    file = CsvFile(SCHEMA, RECORDS)
    other = replace(file, records=(*RECORDS, NASTY[0]))
    check_commands("insert", file, other, tmp_path)
    spoken = release.command.callback

    def loud(**options: object) -> None:
        assert spoken is not None
        spoken(**options)
        click.echo(Path(str(options["table"])).stat().st_size)

    monkeypatch.setattr(release.command, "callback", loud)
    with pytest.raises(FoundLeak, match="`discreet release`: the out differs"):
        check_commands("insert", file, other, tmp_path)


def test_small_limits_change_nothing_but_where_the_borders_lie(tmp_path: Path) -> None:
    file = CsvFile(SCHEMA, RECORDS * 5)
    with limited(replace(SMALL, longest_line=CsvLimits().longest_line)):
        small = seen(file.write(tmp_path), SCHEMA)
    check_read(file, small)
    check_pair("change", seen(file.write(tmp_path), SCHEMA), small)


def test_the_second_reader_reads_the_examples_of_the_rules() -> None:
    csv = CsvOptions()

    def rows(data: bytes, options: CsvOptions = csv) -> list[list[str]]:
        return reference_rows(data, options, longest=20)

    assert rows(b'a,b\r\n"x,""y",z\n\n"open,\nlast') == [
        ["a", "b"],
        ['x,"y', "z"],
        [""],
        ["open,"],
        ["last"],
    ]
    assert rows(b"\xef\xbb\xbfa\xff,b\n" + b"x" * 21) == [["a\ufffd", "b"], []]
    spanning = CsvOptions(quoted_line_breaks=True)
    assert rows(b'"a\nb",c\n"d\ne', spanning) == [["a\nb", "c"], ["d"], ["e"]]
    assert rows(b' "a" ,b', CsvOptions(trim=True)) == [["a ", "b"]]
    assert rows("a\n".encode("utf-16") + b"\x00\xd8\n\x00b", CsvOptions(encoding="utf-16")) == [
        ["a"],
        ["\ufffd"],
        ["\ufffd"],
    ]


FIXED = "FIXED_LEN_BYTE_ARRAY"


@pytest.mark.parametrize("way", SOURCES)
def test_no_value_that_does_not_fit_its_type_stops_a_run_or_makes_two_people_one(way: str) -> None:
    """Some of the pairs of what Parquet stores and how it says to read it, and the ones that were read wrongly."""
    known = [converted("INT_8", "INT32"), decimal(4, 0, "INT32"), decimal(9, 0, "INT64")]
    known += [decimal(9, 0, "BYTE_ARRAY"), decimal(18, 0, FIXED, 16), decimal(20, 0, FIXED, 17)]
    known += [logical("timestamp in ms", "INT96"), logical("timestamp in ms", FIXED, 12)]
    generator = Random()
    tried = [*known, *generator.sample(list(types()), 15)]
    assert list(search(tried, generator, SOURCES[way])) == []
