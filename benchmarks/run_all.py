"""`make bench`: run every benchmark here, print one table, and fail if a bar was missed.

A benchmark is a script that prints JSON lines {"bar", "value", "limit", "ok"}; anything else
that it prints is passed on. `run_all.py scan start` runs only those.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

HERE = Path(__file__).parent


def lines_of(script: Path) -> list[dict[str, Any]]:
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
    if process.wait() != 0 and all(line["ok"] for line in found):
        code = process.returncode
        found.append({"bar": f"{script.stem} ends", "value": code, "limit": 0, "ok": False})
    return found


def shown(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def main() -> int:
    wanted = sys.argv[1:]
    scripts = sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)
    unknown = set(wanted) - {path.stem for path in scripts}
    if unknown:
        print(f"No such benchmark: {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 2
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
        if wanted and script.stem not in wanted:
            continue
        print(f"{script.stem} ...", file=sys.stderr)
        for line in lines_of(script):
            missed += not line["ok"]
            verdict = Text("yes", style="green") if line["ok"] else Text("MISSED", style="bold red")
            table.add_row(
                script.stem,
                Text(str(line["bar"])),
                shown(line["value"]),
                shown(line["limit"]),
                verdict,
            )
    Console().print(table)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
