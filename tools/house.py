"""The size of the house: modules, lines, trusted lines, and how many modules a question passes through.

A module is on the way of a question if one of its functions is called while the question is served.
Imports do not count: everything is asked once before it is watched.

    python tools/house.py
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import discreet as dc
from tools import trusted

SOURCE = Path(dc.__file__).parent
SCHEMA = """
dataset = "house"
people = 2000
[columns.a]
kind = "integer"
range = [0, 49]
[columns.b]
kind = "integer"
range = [0, 6]
[columns.c]
kind = "integer"
range = [0, 2]
"""
QUESTIONS = {
    "marginals(a, b)": "SELECT count(*) FROM house WHERE a BETWEEN 3 AND 9 AND b = 2",
    "intervals(a)": "SELECT count(*) FROM house WHERE a BETWEEN 3 AND 9",
    "marginals(2)": "SELECT count(*) FROM house WHERE a BETWEEN 3 AND 9 AND b = 2",
    "halfspaces(a, b)": "SELECT count(*) FROM house WHERE 2*a + 3*b >= 40",
}


def passed_through(work: Callable[[], Any]) -> tuple[Any, int]:
    """What `work` returns, and how many modules of discreet were called meanwhile."""
    seen: set[str] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        result = work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return result, sum(name.startswith(str(SOURCE)) for name in seen)


def ways(folder: Path) -> None:
    """Print, for each class, the modules on the way of a release and of a question to it."""
    table = folder / "house.csv"
    rows = [f"{number % 50},{number % 7},{number % 3}" for number in range(2000)]
    table.write_text("\n".join(["a,b,c", *rows, ""]))
    schema = dc.Schema.loads(SCHEMA)
    for number, (workload, question) in enumerate(QUESTIONS.items()):
        release = partial(
            dc.release, table, schema, budget=dc.Budget(epsilon=1), workload=[workload]
        )
        release(ledger=folder / f"first-{number}.db").ask(question)
        released, many = passed_through(partial(release, ledger=folder / f"second-{number}.db"))
        _, asked = passed_through(partial(released.ask, question))
        print(f"  {workload:<18} release {many:>3}, ask {asked:>3}")
    budget = dc.Budget(epsilon=1)
    with dc.Curator(table, schema, ledger=folder / "live.db", cap=dc.Budget(epsilon=5)) as curator:
        curator.ask("SELECT count(*) FROM house WHERE a > 3", budget=budget)
        _, many = passed_through(
            lambda: curator.ask("SELECT count(*) FROM house WHERE a > 4", budget=budget)
        )
    print(f"  {'a live question':<18} {many:>11}")


def main() -> int:
    files = list(SOURCE.rglob("*.py"))
    lines = sum(len(file.read_text().splitlines()) for file in files)
    fullest = max({file.parent for file in files}, key=lambda one: len(list(one.glob("*.py"))))
    print(f"{len(files)} modules, {lines:,} lines in src")
    print(
        f"fullest folder: {fullest.relative_to(SOURCE.parent)}, {len(list(fullest.glob('*.py')))} modules"
    )
    trusted.main(["--check"])
    print("modules on the way:")
    with tempfile.TemporaryDirectory() as folder:
        ways(Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
