"""Canaries in every column, and whatever is asked, none of them comes out: not in an answer, a file, an error or a log."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.answering import open_release
from discreet.artifacts.files import DATE, release_bytes
from discreet.audits.observing import recording, replaying
from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.engines import column_names_and_types
from discreet.errors import BadSource
from discreet.families.shared.estimate.public_random import generator as public_generator
from discreet.privacy.budget import Budget
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.releases.verifying import verify
from discreet.report import render_report
from discreet.schema import Schema
from tests.audits.bad_tables import bad_tables, corrupt
from tests.audits.ears import Ears
from tests.harness.leaks import (
    FAR,
    HEADER,
    MARK,
    NUMBERS,
    RARE,
    SCHEMA,
    UNIT,
    FarNoise,
    Search,
    canary_rows,
    damaged_schema,
    far_noise,
    random_question,
    said_by,
    write_csv,
)
from tests.releasing import release, release_to_file

ROWS = canary_rows()
WORKLOAD = [
    "marginals(city, age)",
    "marginals(pay)",
    "means(pay)",
    "sums(age)",
    "histogram(born)",
    "histogram(ok)",
]
FULL = SCHEMA.format(adjacency="add-remove", unit="")


def schema_of(adjacency="add-remove", unit=""):
    return Schema.loads(SCHEMA.format(adjacency=adjacency, unit=unit))


@pytest.fixture
def ears(capfd):
    return Ears(capfd)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Inputs apart from everything that is written, which is searched: temporary files too."""
    for name in ("in", "out", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("DISCREET_LEDGER", str(tmp_path / "out" / "ledger.db"))
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)
    monkeypatch.chdir(tmp_path / "out")
    return tmp_path


def nothing_leaked(search, ears, place):
    assert search.in_text("\n".join(map(str, ears.said))) == []
    assert search.in_folder(place / "out") == []
    assert list((place / "tmp").rglob("*")) == [], "temporary files are gone"


# --- the scan itself sees what it is there to see ------------------------------------------


def test_the_scan_sees_canaries_and_exact_numbers_wherever_they_are(tmp_path):
    search = Search.of(type("T", (), {"steps": []})(), *RARE)
    for text in (
        f"row {MARK}7",
        f"pay {NUMBERS[0]}",
        "1093 rows",
        "(1,877)",
        '{"n": 2459}',
        "[-1093]",
    ):
        assert search.in_text(text), text
    for text in ("11093", "1093a", "0x1093", "109.3", "1093.5", "sha 5f1093ab", ""):
        assert not search.in_text(text), text
    np.save(tmp_path / "a.npy", np.array([3, 1877]))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / "a.npy", "arrays/0.npy")
    assert search.in_bytes((tmp_path / "a.zip").read_bytes())
    assert search.in_bytes(MARK.encode("utf-16-le"))
    assert search.in_bytes(np.array([float(NUMBERS[0])]).tobytes())
    assert search.in_folder(tmp_path) and not search.in_folder(tmp_path, but=[tmp_path])


def test_far_noise_is_never_small():
    law = DiscreteLaplaceLaw(scale=2)
    noisy = FarNoise().add(np.zeros(10_000, dtype=np.int64), law, step="1")
    assert noisy.min() > FAR // 2
    assert FarNoise().chain(np.zeros(3, dtype=np.int64), [law], step="1").min() > FAR // 2


# --- releases, questions, reports -------------------------------------------------------------


def fuzzed_release(ears, place, questions):
    """A release of the canaries, and so many random questions to it."""
    generator = public_generator(None)
    table = write_csv(ROWS, place / "in" / "canaries.csv")
    target = place / "out" / "canaries.release"
    with ears.listening(), far_noise() as tape:
        release_to_file(
            table,
            schema_of(),
            target,
            budget=Budget(epsilon=1),
            workload=WORKLOAD,
            ledger=place / "out" / "ledger.db",
            progress=lambda step, done: ears.said.append(step),
        )
        reader = open_release(target)
        answered = 0
        for _ in range(questions):
            question = random_question(generator)
            answers = ears.attempt(lambda question=question: reader.ask(question))
            if answers is not None:
                answered += 1
                ears.said += [str(answers), answers._repr_html_(), repr(answers.to_dict())]
        ears.said += [str(verify(target)), str(reader.statement())]
        (place / "out" / "report.html").write_text(render_report(reader), encoding="utf-8")
    search = Search.of(tape, len(ROWS))
    assert {int(secret) for secret in search.secrets} >= set(RARE), "the rare cells were measured"
    assert len(tape.steps) >= 7
    nothing_leaked(search, ears, place)
    return answered


def test_hundreds_of_questions_to_a_release_of_canaries_let_nothing_out(ears, place):
    """About one in twelve is answered: none of 200 would be a false alarm of less than 1e-7."""
    answered = fuzzed_release(ears, place, 200)
    assert answered > 0, "questions that are never answered would prove nothing"


@pytest.mark.trust
def test_thousands_of_questions_to_a_release_of_canaries_let_nothing_out(ears, place):
    answered = fuzzed_release(ears, place, 6000)
    assert answered > 100, "questions that are never answered would prove nothing"


def fuzzed_schemas(ears, place, schemas):
    """Damaged schemas: those that are schemas still are released by.

    About one in ten still releases; where chance gives too few, more are drawn, so that the scan
    always has releases to look through.
    """
    generator = public_generator(None)
    table = write_csv(ROWS[-60:], place / "in" / "canaries.csv")
    made = number = 0
    wanted = 1 + schemas // 20
    with ears.listening(), far_noise() as tape:
        while number < schemas or (made < wanted and number < 20 * schemas):
            number += 1
            text = damaged_schema(generator, FULL)
            schema = ears.attempt(lambda text=text: Schema.loads(text))
            if schema is None:
                continue
            asked = [WORKLOAD[i] for i in generator.permutation(len(WORKLOAD))[:2]]
            target = place / "out" / f"{number}.release"
            done = ears.attempt(
                lambda schema=schema, asked=asked, target=target, number=number: release_to_file(
                    table,
                    schema,
                    target,
                    budget=Budget(epsilon=1),
                    workload=asked,
                    ledger=place / "out" / f"{number}.db",
                )
            )
            made += done is not None
    nothing_leaked(Search.of(tape), ears, place)
    return made


def test_dozens_of_damaged_schemas_let_nothing_out(ears, place):
    made = fuzzed_schemas(ears, place, 40)
    assert made >= 3, "schemas that never release would prove nothing"


@pytest.mark.trust
def test_a_thousand_damaged_schemas_let_nothing_out(ears, place):
    made = fuzzed_schemas(ears, place, 1000)
    assert made >= 51, "schemas that never release would prove nothing"


# --- tables that are broken ---------------------------------------------------------------------


def test_broken_tables_are_told_of_without_a_word_of_what_they_hold(ears, place):
    """Through the library: errors and releases alike; and through the command line, for files."""
    sources = list(bad_tables(place / "in"))
    made = []
    with ears.listening(), far_noise() as tape:
        for unit in ("", UNIT):
            schema = schema_of(unit=unit)
            for number, (name, source) in enumerate(sources):
                if unit and number % 4:
                    continue
                done = ears.attempt(
                    lambda source=source, number=number, schema=schema: release(
                        source,
                        schema,
                        budget=Budget(epsilon=1),
                        workload=["marginals(city, age)", "sums(pay)"],
                        ledger=place / "out" / f"{number}{bool(schema.unit.identifier)}.db",
                    )
                )
                if done is not None:
                    made.append(name)
                    (place / "out" / f"{number}.release").write_bytes(release_bytes(done))
        (place / "out" / "schema.toml").write_text(FULL)
        for number, (_, source) in enumerate(sources):
            if not isinstance(source, str):
                continue
            words = ["release", source, "--schema", "schema.toml", "--epsilon", "1"]
            words += [
                "--for",
                "histogram(age)",
                "-o",
                f"cli{number}.release",
                "--ledger",
                f"cli{number}.db",
            ]
            assert run(application, words) in (0, 2), source
            assert run(application, ["schema", "draft", source]) in (0, 2), source
    assert "good.parquet" in made and "numbers.parquet" in made and "objects" in made
    assert any("cannot be" in str(said) for said in ears.said)
    nothing_leaked(Search.of(tape), ears, place)


def test_malformed_lines_are_counted_or_passed_over_and_never_told(place):
    """The rows that are whole are counted; nothing else about the rest can be known from outside."""
    lines = ["city,age,pay,born,seen,ok", "Aa,5,1,1950-01-01,2020-02-02,true"]
    lines += [f"{MARK}", f'"{MARK}" {MARK},7', f"Bb,{MARK},x,y,z,w,extra,extra"]
    (place / "in" / "a.csv").write_bytes("\n".join(lines).encode() + b"\n\xff\xfe,\xc3\n")
    with far_noise() as tape:
        release(
            place / "in" / "a.csv",
            schema_of(),
            budget=Budget(epsilon=1),
            workload="histogram(city)",
            ledger=place / "out" / "ledger.db",
        )
    (step,) = tape.steps
    assert step.exact[0] == 1 and step.exact[1] == 1


def test_a_draft_never_shows_a_row(place):
    path = write_csv(ROWS, place / "in" / "no-header.csv", header=False)
    with pytest.raises(BadSource) as refused:
        column_names_and_types(path)
    assert MARK not in said_by(refused.value)
    names = [name for name, _ in column_names_and_types(write_csv(ROWS, place / "in" / "a.csv"))]
    assert names == list(HEADER)


# --- the command line -------------------------------------------------------------------------


def test_the_command_line_lets_nothing_out(ears, place):
    generator = public_generator(None)
    table = str(write_csv(ROWS, place / "in" / "canaries.csv"))
    (place / "out" / "schema.toml").write_text(FULL)
    made = ["release", table, "--schema", "schema.toml", "--epsilon", "1", "-o", "a.release"]
    for each in WORKLOAD:
        made += ["--for", each]
    commands = [
        ["schema", "draft", table],
        ["schema", "check", "schema.toml"],
        ["plan", "schema.toml", "--epsilon", "1", "--for", "marginals(2)"],
        [
            "release",
            table,
            "--schema",
            "schema.toml",
            "--epsilon",
            "0",
            "--for",
            "marginals(2)",
            "-o",
            "x",
        ],
        [
            "release",
            table,
            "--schema",
            "schema.toml",
            "--epsilon",
            "1",
            "--for",
            "histogram(name)",
            "-o",
            "x",
        ],
        made,
        made,
        [*made[:5], "1/2", *made[6:], "--force"],
        ["verify", "a.release"],
        ["report", "a.release"],
        ["ledger", "show", "--json"],
        ["ledger", "verify"],
        ["ask", table, "SELECT count(*) FROM canaries"],
        ["verify", table],
        ["report", table, "-o", "b.html"],
        ["schema", "check", table],
        ["plan", table, "--epsilon", "1", "--for", "marginals(1)"],
        ["ledger", "verify", "--ledger", table],
        ["ask", "a.release", table],
    ]
    commands += [["ask", "a.release", random_question(generator)] for _ in range(40)]
    commands += [["ask", "a.release", random_question(generator), "--json"] for _ in range(20)]
    codes = []
    with ears.listening(), far_noise() as tape:
        for words in commands:
            codes.append(run(application, words))
    faults = [words for words, code in zip(commands, codes, strict=True) if code not in (0, 1, 2)]
    assert faults == [], "an internal error is a fault of its own"
    assert codes[5] == 0 and codes[6] == 2
    nothing_leaked(Search.of(tape, len(ROWS)), ears, place)


def test_a_process_of_its_own_lets_nothing_out(place):
    """Real noise, so exact counts may come out by chance; canaries may not, whatever happens."""
    table = write_csv(ROWS, place / "in" / "canaries.csv")
    big = pa.Table.from_pandas(pd.DataFrame(ROWS, columns=list(HEADER)))
    pq.write_table(big, place / "in" / "bad.parquet", compression="none", use_dictionary=False)
    corrupt(place / "in" / "bad.parquet")
    (place / "out" / "schema.toml").write_text(FULL)
    environment = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
    said = ""
    for source, name in ((table, "a"), (place / "in" / "bad.parquet", "b")):
        words = ["release", str(source), "--schema", "schema.toml", "--epsilon", "1"]
        words += ["--for", "histogram(age)", "-o", f"{name}.release", "--ledger", f"{name}.db"]
        program = "from discreet.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert done.returncode in (0, 2)
        said += done.stdout + done.stderr
    search = Search(frozenset())
    assert search.in_text(said) == []
    assert search.in_folder(place / "out") == []
    assert list((place / "tmp").rglob("*")) == []


# --- order, place and time ------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["", UNIT], ids=["row", "person"])
def test_a_permuted_table_gives_the_same_release_to_the_last_byte(place, unit):
    """With the noisy numbers replayed; and the exact numbers are the same too."""
    generator = public_generator(None)
    rows = [(f"p{i % 7}", *row[1:]) for i, row in enumerate(ROWS[:40] + ROWS[-40:])]
    orders = [rows, rows[::-1], [rows[i] for i in generator.permutation(len(rows))]]
    outcomes = []
    tape = None
    for number, order in enumerate(orders):
        path = write_csv(order, place / "in" / f"{number}.csv")
        with recording() if tape is None else replaying(tape) as now:
            made = release(
                path,
                schema_of(unit=unit),
                budget=Budget(epsilon=1),
                workload=WORKLOAD,
                ledger=place / "out" / f"{number}.db",
            )
        tape = tape or now
        exact = [step.exact.tolist() for step in now.steps]
        outcomes.append((release_bytes(made), exact, now.questions))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_a_release_file_holds_nothing_of_when_and_where_it_was_written(place):
    table = write_csv(ROWS, place / "in" / "canaries.csv")
    target = place / "out" / "a.release"
    release_to_file(
        table,
        schema_of(),
        target,
        budget=Budget(epsilon=1),
        workload="histogram(ok)",
        ledger=place / "out" / "l.db",
    )
    with zipfile.ZipFile(target) as archive:
        assert {info.date_time for info in archive.infolist()} == {DATE}
        assert {info.external_attr for info in archive.infolist()} == {0o644 << 16}
    data = target.read_bytes()
    for trace in (str(place), os.uname().nodename, "canaries.csv"):
        assert trace.encode() not in data, trace
