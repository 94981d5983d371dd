"""How fast the command line starts, how fast a release answers first, how large the core is.

Each time is CPU (user and system) of a cold process, the median of several runs.
`--venv DIR` measures an existing core environment instead of making one.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.bars import bar

ROOT = Path(__file__).parent.parent
RUNS = 5
HELP_LIMIT, ASK_LIMIT, SIZE_LIMIT = 0.4, 1.2, 400.0
START = "import sys; from discreet.cli import main; main()"
ROWS = "age,sex\n" + "".join(f"{index % 90},{'FM'[index % 2]}\n" for index in range(1000))
SCHEMA = """
dataset = "start"
[columns.age]
kind = "integer"
range = [0, 99]
[columns.sex]
kind = "category"
values = ["F", "M"]
"""


def cpu_of(*words: str, env: dict[str, str]) -> float:
    """CPU seconds of one run of `discreet words`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", START, *words], env=env, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median_cpu(*words: str, env: dict[str, str]) -> float:
    cpu_of(*words, env=env)  # once unmeasured: the first run compiles bytecode
    return statistics.median(cpu_of(*words, env=env) for _ in range(RUNS))


def core_size(venv: Path | None) -> float:
    """Megabytes (of 10^6) of an environment that holds discreet and what it needs, nothing else."""
    with tempfile.TemporaryDirectory() as place:
        if venv is None:
            venv = Path(place) / "venv"
            subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
            pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "--quiet", str(ROOT)]
            subprocess.run([*pip, "--disable-pip-version-check"], check=True, stdout=sys.stderr)
        du = subprocess.run(["du", "-sk", str(venv)], check=True, capture_output=True, text=True)
    return int(du.stdout.split()[0]) * 1024 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--venv", type=Path, help="an existing core environment to measure")
    parser.add_argument("--no-venv", action="store_true", help="leave the environment's size out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "DISCREET_LEDGER": str(folder / "ledger.db"),
        }
        (folder / "start.csv").write_text(ROWS)
        (folder / "start.toml").write_text(SCHEMA)
        release = folder / "start.release"
        command = ["release", str(folder / "start.csv"), "--schema", str(folder / "start.toml")]
        cpu_of(*command, "--epsilon", "1", "--for", "marginals(2)", "-o", str(release), env=env)
        question = "SELECT count(*) FROM start WHERE age BETWEEN 30 AND 39"
        met = bar("discreet --help, CPU s", median_cpu("--help", env=env), HELP_LIMIT)
        first = median_cpu("ask", str(release), question, env=env)
        met &= bar("first ask, cold process, CPU s", first, ASK_LIMIT)
    if not arguments.no_venv:
        met &= bar("core environment, MB", core_size(arguments.venv), SIZE_LIMIT)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
