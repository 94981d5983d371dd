"""The lines of random CSV files, as the engine cleans them, against the second reader: thousands a second.

The engine hands a database files in which each line is one record of the right width (`engines/csv`). Here these
lines are read back, without a database, and compared with what the second reader finds in the same bytes. It tries
two hundred times as many files in a second as `file_neighbours`, and looks at the reader alone.

    python -m tests.harness.csv_lines --files 200000 --seed 1
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from discreet.engines.csv.lines import LineRules
from discreet.engines.csv.parts import cleaned_stretches
from discreet.engines.csv.text import plain_lines, utf8_blocks
from discreet.families.shared.estimate.public_random import generator
from tests.harness.file_neighbours import SMALL, FoundLeak, limited
from tests.harness.files.csv_reference import reference_rows
from tests.harness.files.records import NAMES, CsvFile, random_file
from tests.harness.progress import Progress

SPANNING = 8
"""One file in so many may have line breaks in quoted fields."""


def cleaned_rows(file: CsvFile) -> list[list[str]]:
    """The records that the database is given, read back by the plainest rules."""
    csv = file.schema.csv
    rules = LineRules(csv, len(NAMES))
    blocks = plain_lines(utf8_blocks(io.BytesIO(file.content()), csv.encoding, SMALL.block))
    text, rows = b"", 0
    for stretch, count in cleaned_stretches(blocks, rules, csv.header):
        text, rows = text + stretch, rows + count
    found = _read_back(text.decode(), rules.out_delimiter, rules.out_quote)
    if len(found) != rows:
        raise FoundLeak(f"{rows} records are said to be there, and {len(found)} are.")
    return found


def _read_back(text: str, delimiter: str, quote: str) -> list[list[str]]:
    """Every quote is closed, and every line is ended: else `ValueError`."""
    records: list[list[str]] = []
    fields: list[str] = []
    field, at = "", 0
    while at < len(text):
        if text[at] == quote:
            end = text.index(quote, at + 1)
            field += text[at + 1 : end]
            at = end + 1
            if text[at : at + 1] == quote:  # doubled: the quoted text goes on behind it
                field += quote
        elif text[at] in (delimiter, "\n"):
            fields.append(field)
            field = ""
            if text[at] == "\n":
                records.append(fields)
                fields = []
            at += 1
        else:
            field += text[at]
            at += 1
    if fields or field:
        raise ValueError("The last line is not ended.")
    return records


def check_file(file: CsvFile) -> None:
    """The cleaned lines hold what the second reader finds: as many records, the same fields."""
    csv, width = file.schema.csv, len(NAMES)
    wanted = reference_rows(file.content(), csv, SMALL.longest_line)[1 if csv.header else 0 :]
    padded = [(row + [""] * width)[:width] for row in wanted]
    if cleaned_rows(file) != padded:
        raise FoundLeak("The cleaned lines are not those of the rules.")


def audit_files(files: int, *, seed: int, progress: Progress | None = None) -> None:
    """So many random files, one for each seed; `FoundLeak` at the first that is misread."""
    with limited(SMALL):
        for number in range(seed, seed + files):
            spans = number % SPANNING == 0
            file = random_file(generator(number), longest=SMALL.longest_line, spans=spans)
            try:
                check_file(file)
            except (FoundLeak, ValueError) as found:
                raise FoundLeak(f"{found} Run again with --files 1 --seed {number}.") from None
            if progress is not None:
                progress.advance()


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.harness.csv_lines")
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    progress = Progress("files", given.files)
    try:
        audit_files(given.files, seed=given.seed, progress=progress)
    except FoundLeak as found:
        sys.stdout.write(f"{found}\n")
        return 1
    sys.stdout.write(f"{given.files:,} files, none misread, {progress.seconds:.0f} s.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
