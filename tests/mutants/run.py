"""`make mutants`: plant every bug of the catalogue in a scratch copy, and see that its tests fail.

Prints a table (mutant, caught by, seconds) and, last, how many of how many were caught.
Exit code 1 if one survives, or if the tests fail on the clean tree.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import ROOT, Mutant

COPIED = (
    "src",
    "tests",
    "docs",
    "examples",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "tools",
    "Makefile",
    "benchmarks",
)
PATIENCE = 600
"""Seconds after which a test run counts as hanging: a bug that hangs is caught too."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one mutant."""

    name: str
    caught_by: str
    """The first test that failed; empty if none did."""
    seconds: float


def copied(folder: Path) -> Path:
    """A scratch copy of what the tests need."""
    tree = folder / "tree"
    tree.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            # With what was compiled, which knows its file by time and size; not what is just being written.
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("*.pyc.*"))
        elif source.exists():
            shutil.copy(source, tree / name)
    return tree


def failing_test(tree: Path, tests: tuple[str, ...]) -> str:
    """The first of `tests` that fails in `tree`, or nothing."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-m",
        "",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *tests,
    ]
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "(hangs)"
    if done.returncode == 0:
        return ""
    if done.returncode not in (1, 2):  # 1: a test failed; 2: a module could not even be imported
        raise RuntimeError(f"the tests {tests} could not be run:\n{done.stdout}\n{done.stderr}")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if failed is None:
        return "(collection)"
    file, _, name = failed[1].partition("::")
    return f"{Path(file).name}::{name.partition('[')[0]}"


def verdict(mutant: Mutant) -> Verdict:
    """Plant one bug, run its tests."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="discreet-mutant-") as folder:
        tree = copied(Path(folder))
        mutant.plant(tree)
        caught_by = failing_test(tree, mutant.tests)
    return Verdict(name=mutant.name, caught_by=caught_by, seconds=time.monotonic() - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these mutants")
    parser.add_argument("--quick", action="store_true", help="only the subset of `make test`")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--clean",
        type=int,
        default=0,
        help="also run all the tests on the clean tree so many times",
    )
    options = parser.parse_args()
    chosen = [
        mutant
        for mutant in MUTANTS
        if (not options.names or mutant.name in options.names)
        and (mutant.quick or not options.quick)
    ]
    survived = 0
    start = time.monotonic()
    print(f"{'mutant':<52} {'caught by':<78} {'seconds':>7}")
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(verdict, chosen):
            survived += not result.caught_by
            print(
                f"{result.name:<52} {result.caught_by or 'NOT CAUGHT':<78} {result.seconds:7.1f}",
                flush=True,
            )
    used = os.times()
    print(
        f"{len(chosen)} mutants in {time.monotonic() - start:.0f} seconds, "
        f"{used.children_user + used.children_system:.0f} of them on a processor"
    )
    alarms = 0
    if options.clean:
        tests = tuple(sorted({test for mutant in chosen for test in mutant.tests}))
        for _ in range(options.clean):
            alarm = failing_test(ROOT, tests)
            alarms += bool(alarm)
            if alarm:
                print(f"false alarm on the clean tree: {alarm}", flush=True)
        print(f"clean tree: {alarms} false alarms in {options.clean} runs")
    print(f"{len(chosen) - survived} of {len(chosen)} mutants caught")
    return 1 if survived or alarms else 0


if __name__ == "__main__":
    sys.exit(main())
