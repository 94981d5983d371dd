"""Bugs 3, 25, 33 and 36 in CSV files: a line that reaches into others, stops the run, or is read too early."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

FUZZ = (
    "tests/audits/test_file_neighbours.py"
    "::test_random_files_and_their_neighbours_are_never_told_apart"
)
FUZZ_OF_UTF_8 = "tests/audits/test_file_neighbours.py::test_the_plainest_files_and_their_neighbours_are_never_told_apart"
CSV = "tests/engines/test_csv.py"
TEXT = "src/discreet/engines/csv/text.py"
LINES = "src/discreet/engines/csv/lines.py"
PARTS = "src/discreet/engines/csv/parts.py"

OLD_OPTIONS = """        import shutil
        from pathlib import Path

        from discreet.engines.duckdb.scan import _function

        options = csv._csv
        files = [shutil.copy(path, csv._folder / Path(path).name) for path in csv._files]
        yes, no = exp.true(), exp.false()
        names = [s.text(f"f{place}") for place in range(csv.width)]
        types = [exp.PropertyEQ(this=name, expression=s.text("VARCHAR")) for name in names]
        table = _function(
            "read_csv",
            files,
            auto_detect=no,
            columns=exp.Struct(expressions=types),
            header=yes if options.header else no,
            delim=s.text(options.delimiter),
            quote=s.text(options.quote),
            escape=s.text(options.quote),
            encoding=s.text(options.encoding),
            force_not_null=s.one_of(name.copy() for name in names),
            null_padding=yes.copy(),
            ignore_errors=yes.copy(),
            strict_mode=no.copy(),
            parallel=no.copy(),
        )
        self._create(name, layers(table=table))
        return
"""
"""The options of DuckDB's own reader, word for word as they were before hole 2 was closed. They read a copy of the
file, for nothing outside the private directory can be read."""

CSV_FILES = (
    Mutant(
        name="csv-files-are-read-with-the-options-of-old",
        trap=3,
        file="src/discreet/engines/duckdb/rows.py",
        old="        done: float = 0\n        with closing(csv.batches()) as batches:\n",
        new=OLD_OPTIONS
        + "        done: float = 0\n        with closing(csv.batches()) as batches:\n",
        tests=(FUZZ_OF_UTF_8,),
    ),
    Mutant(
        name="an-open-quote-takes-the-next-lines-with-it",
        trap=3,
        file=LINES,
        old="self._spans = csv.quoted_line_breaks and bool(csv.quote)",
        new="self._spans = bool(csv.quote)",
        tests=(FUZZ,),
        quick=True,
    ),
    Mutant(
        name="a-bare-return-ends-a-line",
        trap=3,
        file=TEXT,
        old='text = text.removesuffix(held).replace(b"\\r\\n", _END)',
        new='text = text.removesuffix(held).replace(b"\\r\\n", _END).replace(b"\\r", _END)',
        tests=(FUZZ,),
    ),
    Mutant(
        name="a-line-that-is-no-text-is-no-row",
        trap=3,
        file=TEXT,
        old="            yield decoder.decode(block).encode()\n    yield",
        new=(
            "            lines = decoder.decode(block).splitlines(keepends=True)\n"
            '            yield "".join(line for line in lines if "\\ufffd" not in line).encode()\n'
            "    yield"
        ),
        tests=(FUZZ,),
    ),
    Mutant(
        name="a-line-that-is-too-long-is-no-row",
        trap=3,
        file=PARTS,
        old='                    yield rules.rewritten(b""), 1\n',
        new="                    pass\n",
        tests=(FUZZ,),
    ),
    Mutant(
        name="an-empty-line-is-no-row",
        trap=3,
        file=LINES,
        old="        lines = text[start:end]\n",
        new='        lines = re.sub(b"(?m)^\\n", b"", text[start:end])\n',
        tests=(FUZZ,),
    ),
    Mutant(
        name="only-the-first-line-loses-its-byte-order-mark",
        trap=3,
        file=TEXT,
        old="            yield text.replace(_END + _MARK, _END)\n",
        new="            yield text\n",
        tests=(f"{CSV}::test_a_mark_at_the_start_of_a_line_is_dropped_wherever_the_line_stands",),
    ),
    Mutant(
        name="the-first-record-tells-the-order-of-bytes",
        trap=3,
        file=TEXT,
        old='    if csv.encoding == "utf-16" and _start(path) not in',
        new='    if csv.encoding == "utf-61" and _start(path) not in',
        tests=(f"{CSV}::test_a_utf_16_file_without_its_mark_is_refused_before_anything_is_read",),
    ),
    Mutant(
        name="lines-lost-by-the-database-go-unnoticed",
        trap=3,
        file="src/discreet/engines/duckdb/rows.py",
        old="                if made != batch.rows and ",
        new="                if made < 0 and ",
        tests=(f"{CSV}::test_rows_that_the_database_reads_otherwise_are_noticed",),
    ),
    Mutant(
        name="a-number-in-an-unusual-spelling-is-read-by-the-short-way",
        trap=33,
        file="src/discreet/engines/sql/dialect.py",
        old='return s.equal(s.cast(usual, "VARCHAR"), value), ',
        new="return exp.Not(this=s.is_null(usual)), ",
        tests=(f"{CSV}::test_an_integer_is_read_by_the_rule_however_it_is_spelt",),
    ),
    Mutant(
        name="rows-of-people-are-bounded-by-some-columns-alone",
        trap=3,
        file="src/discreet/engines/duckdb/rows.py",
        old="                if bounded or kept is not None:\n",
        new="                if kept is not None:\n",
        tests=(
            "tests/kernel/test_engine_guards.py::test_at_most_max_rows_of_a_person_are_kept_and_not_by_their_place",
        ),
    ),
    Mutant(
        name="a-csv-file-is-read-when-it-is-opened",
        trap=25,
        file=PARTS,
        old="        self._folder = folder\n",
        new="        self._folder = folder\n        list(self._stretches())\n",
        tests=(f"{CSV}::test_nothing_but_the_first_line_is_read_before_a_verb",),
    ),
    Mutant(
        name="csv-lines-that-stop-the-reader",
        trap=33,
        file=TEXT,
        old='(errors="replace")',
        new='(errors="strict")',
        tests=(FUZZ,),
    ),
    Mutant(
        name="parts-of-a-csv-file-left-on-the-disk",
        trap=36,
        file=PARTS,
        old="            shutil.rmtree(place, ignore_errors=True)\n",
        new="            pass\n",
        tests=(f"{CSV}::test_parts_are_gone_after_reading_and_rows_are_the_same_in_many_batches",),
    ),
)
