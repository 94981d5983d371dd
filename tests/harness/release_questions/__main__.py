"""Questions to releases, compared with DuckDB.

python -m tests.harness.release_questions --seconds 60 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.harness.release_questions.fuzz import Found, seeds, try_case


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=60.0)
    reader.add_argument("--seed", type=int, default=None)
    reader.add_argument("--cases", type=int, default=None)
    reader.add_argument("--questions", type=int, default=40)
    reader.add_argument("--refusals", action="store_true")
    asked = reader.parse_args()
    first = asked.seed if asked.seed is not None else int(time.time()) * 1000
    found, end = Found(), time.monotonic() + asked.seconds
    for number, seed in enumerate(seeds(first)):
        if time.monotonic() > end or (asked.cases is not None and number >= asked.cases):
            break
        before = len(found.findings)
        try_case(seed, found, asked.questions)
        shown: set[str] = set()
        for each in found.findings[before:]:
            kind = each.split("]")[0] + each.strip().split("\n")[-1][:60] * ("crash" in each[:8])
            if kind not in shown:
                pass
            shown.add(kind)
    if asked.refusals:
        for _shape, _times in found.refused.most_common():
            pass
    return 1 if found.findings else 0


sys.exit(main())
