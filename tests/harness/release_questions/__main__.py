"""Random questions to releases of made-up tables, held to what DuckDB says of the rows.

    python -m tests.harness.release_questions --seconds 600             other tables in each run; the seed is printed
    python -m tests.harness.release_questions --seed 7 --cases 1        the table, the release and the questions of one seed
    python -m tests.harness.release_questions --seconds 60 --refusals   what was refused, how often, with an example

Most releases are made without noise at a huge epsilon, so that an interval that does not hold the truth is wrong. Some
have noise of epsilon 1 or 2: their answers must agree with one another. See `fuzz`. Exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from itertools import count

from tests.harness.release_questions.fuzz import Found, try_case


def main() -> int:
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument("--seconds", type=float, default=60.0)
    reader.add_argument("--seed", type=int, help="of the first table; the next has the next number")
    reader.add_argument("--cases", type=int, help="at most so many tables")
    reader.add_argument("--questions", type=int, default=40, help="to each release")
    reader.add_argument("--refusals", action="store_true")
    asked = reader.parse_args()
    first = asked.seed if asked.seed is not None else random.SystemRandom().randrange(2**40)
    found, end = Found(), time.monotonic() + asked.seconds
    for number, seed in enumerate(count(first)):
        if time.monotonic() > end or number == asked.cases:
            break
        before = len(found.findings)
        try_case(seed, found, asked.questions)
        for each in found.findings[before:]:
            _say(each)
    if asked.refusals:
        for shape, times in found.refused.most_common():
            _say(f"{times:6}  {found.examples[shape]}")
    _say(
        f"seeds from {first}: {found.releases} releases, {found.questions} questions, {found.answered} statements "
        f"answered, {found.compared} compared with DuckDB; findings: {dict(found.kinds) or 'none'}"
    )
    return 1 if found.findings else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


sys.exit(main())
