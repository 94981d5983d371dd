"""`python -m tests.harness.audits`: every registered mechanism and release, and whether its mutant is seen.

    forgery  instead: alter every place of a release of every class and algorithm; `verify` must refuse
    --fast   fewer runs; a mutant that is missed is then no failure
    --json   one object a line

Ends with exit code 1 if a claim is refuted, a mutant missed, an algorithm not reached, or a forged
release accepted.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain

from discreet.audits.guessing.game import FALSE_POSITIVE_RATE
from tests.harness.forgery import forged_releases
from tests.harness.suite import (
    Row,
    mechanism_rows,
    release_rows,
    unreached_algorithms,
)

WIDTHS = (64, 8, 8, 10, 8, 20, 12)
HEADERS = ("subject", "claimed", "delta", "certified", "runs", "1.2x mutant", "verdict")


def main(words: Sequence[str]) -> int:
    """Print the table; the exit code says whether all is well."""
    unknown = set(words) - {"forgery", "--fast", "--json"}
    if unknown:
        sys.stderr.write(f"Unknown option {min(unknown)}; there are forgery, --fast and --json.\n")
        return 2
    fast, as_json = "--fast" in words, "--json" in words
    if "forgery" in words:
        return _forgeries(fast=fast, as_json=as_json)
    started = time.monotonic()
    if not as_json:
        _say(_line(HEADERS))
    rows: list[Row] = []
    for row in chain(mechanism_rows(epsilon=Fraction(1), fast=fast), release_rows(fast=fast)):
        rows.append(row)
        _say(_as_json(row) if as_json else _as_text(row))
    unreached = unreached_algorithms()
    failed = [row for row in rows if row.failed]
    if not as_json:
        seen = sum(row.mutant_rejected is True for row in rows)
        _say(
            f"\n{len(rows)} audits, {sum(row.refuted for row in rows)} claims refuted, {seen} of "
            f"{len(rows)} mutants rejected, false-positive rate {FALSE_POSITIVE_RATE:g} each, "
            f"{time.monotonic() - started:.0f} s."
        )
        if unreached:
            _say(f"Not reached by any audit: {', '.join(sorted(unreached))}.")
    return 1 if failed or unreached else 0


def _forgeries(*, fast: bool, as_json: bool) -> int:
    started, failed, tried = time.monotonic(), False, 0
    for found in forged_releases(quick=fast):
        failed, tried = failed or found.failed, tried + found.tried
        shown = {"release": found.title, "verdict": found.verdict, "failed": found.failed}
        _say(
            json.dumps(shown)
            if as_json
            else f"{found.title[: WIDTHS[0]]:{WIDTHS[0]}}  {found.verdict}"
        )
    if not as_json:
        _say(f"\n{tried:,} altered files, {time.monotonic() - started:.0f} s.")
    return 1 if failed else 0


def _as_text(row: Row) -> str:
    found = row.finding
    return _line(
        (
            found.subject,
            f"{found.claimed:.3f}",
            f"{found.delta:.0e}" if found.delta else "0",
            f"{found.certified:.3f}",
            f"{found.runs:,}",
            row.mutant,
            row.verdict,
        )
    )


def _as_json(row: Row) -> str:
    return json.dumps(
        {
            **row.finding.to_dict(),
            "verdict": row.verdict,
            "mutant": row.mutant,
            "failed": row.failed,
        }
    )


def _line(cells: Sequence[str]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
