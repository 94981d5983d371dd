"""`make bench`: run every benchmark here, print one table, and fail if a bar was missed.

    python benchmarks/run_all.py
    python benchmarks/run_all.py scan start
    python benchmarks/run_all.py --kept bars.jsonl

A benchmark is a script that prints JSON lines {"bar", "value", "limit", "ok"}; anything else that it prints is passed
on. All of them take hours. With `--kept FILE` each benchmark is written to that file when it ends, and one that is
there already is not run again: a run that was broken off goes on where it was. `make bench KEPT=FILE` does the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

HERE = Path(__file__).parent


Bar = dict[str, Any]


def bars_of(script: Path) -> list[Bar]:
    """What one benchmark measured; a script that ends badly is itself a missed bar."""
    found = []
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        try:
            measured = json.loads(line)
            found.append({key: measured[key] for key in ("bar", "value", "limit", "ok")})
        except (ValueError, KeyError, TypeError):
            print(line, end="")
    if process.wait() != 0 and all(bar["ok"] for bar in found):
        code = process.returncode
        found.append({"bar": f"{script.stem} ends", "value": code, "limit": 0, "ok": False})
    return found


def kept_bars(file: Path | None) -> dict[str, list[Bar]]:
    """By benchmark, what earlier runs wrote to the file. A line that was not written to its end is left out."""
    kept = {}
    for line in file.read_text().splitlines() if file is not None and file.exists() else ():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        kept[entry["benchmark"]] = entry["bars"]
    return kept


def measured(script: Path, kept: dict[str, list[Bar]], file: Path | None) -> list[Bar]:
    """The bars of one benchmark, measured now unless they were kept."""
    if script.stem in kept:
        return kept[script.stem]
    print(f"{script.stem} ...", file=sys.stderr, flush=True)
    started = time.monotonic()
    bars = bars_of(script)
    seconds = round(time.monotonic() - started)
    missed = sum(not bar["ok"] for bar in bars)
    print(
        f"{script.stem}: {len(bars)} bars, {missed} missed, {seconds} s",
        file=sys.stderr,
        flush=True,
    )
    if file is not None:
        with file.open("a") as writing:
            entry = {"benchmark": script.stem, "seconds": seconds, "bars": bars}
            writing.write(json.dumps(entry) + "\n")
    return bars


def shown(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("benchmarks", nargs="*", help="which to run; all of them, if none is named")
    parser.add_argument("--kept", type=Path, metavar="FILE", help="keep what is measured in FILE")
    asked = parser.parse_args()
    scripts = sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)
    scripts = [path for path in scripts if path.stem != "__init__"]
    unknown = set(asked.benchmarks) - {path.stem for path in scripts}
    if unknown:
        print(f"No such benchmark: {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
    kept = kept_bars(asked.kept)
    table = Table(box=box.SIMPLE_HEAD)
    for name, side in (
        ("benchmark", "left"),
        ("bar", "left"),
        ("value", "right"),
        ("limit", "right"),
        ("ok", "left"),
    ):
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    missed = 0
    for script in scripts:
        if asked.benchmarks and script.stem not in asked.benchmarks:
            continue
        for bar in measured(script, kept, asked.kept):
            missed += not bar["ok"]
            verdict = Text("yes", style="green") if bar["ok"] else Text("MISSED", style="bold red")
            table.add_row(
                script.stem,
                Text(str(bar["bar"])),
                shown(bar["value"]),
                shown(bar["limit"]),
                verdict,
            )
    Console().print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
