"""Other packages on the engines that they are made for: the noisy counts of 16 cells of a million rows, epsilon 1.

    python benchmarks/peers_engines.py                     those that this interpreter can import
    python benchmarks/peers_engines.py --install FOLDER    each in an environment of its own there, made if it is missing
    python benchmarks/peers_engines.py --rows 10000000     so many rows

Tumult Analytics and PipelineDP on Spark local[2], SmartNoise SQL on PostgreSQL, OpenDP on Polars; ours on Spark, on PostgreSQL and
on the Parquet files (DuckDB). Each is asked for a count by sex and region, whose values are listed, where one row is one person. Each
run is a process of its own; the fastest of three counts, without the start of Spark. Ours is a whole release: charged in
a ledger on disk, with its file. CPU is that of the program and of what it starts, without PostgreSQL's server. Shown without a bar, with the mean absolute error of a cell. What cannot be installed or run is said.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.support.children import SOURCE, executed
from benchmarks.support.peers.counted import CELLS, REGIONS, SEXES

PROGRAMS = Path(__file__).parent / "support" / "peers"
MAKE = (
    f"SELECT {list(SEXES)}[1 + (h % 2)::INTEGER] AS sex, {list(REGIONS)}[1 + (h // 2 % 8)::INTEGER] AS region, "
    "(h // 16 % 100)::INTEGER AS age FROM (SELECT hash(range) AS h FROM range({rows}))"
)


@dataclass(frozen=True, slots=True)
class Peer:
    """A program, what must be installed for it, and the engine that it counts with."""

    name: str
    program: str
    engine: str
    packages: tuple[str, ...] = ()


PEERS = (
    Peer("discreet", "ours", "Spark"),
    Peer("Tumult Analytics", "tumult", "Spark", ("tmlt.analytics",)),
    Peer("PipelineDP", "pipelinedp", "Spark", ("pipeline-dp", "pyspark<4", "setuptools<81")),
    Peer("discreet", "ours", "PostgreSQL"),
    Peer("SmartNoise SQL", "smartnoise", "PostgreSQL", ("smartnoise-sql", "psycopg2-binary")),
    Peer("discreet", "ours", "Parquet"),
    Peer("OpenDP", "opendp_polars", "Polars", ("opendp[polars]",)),
)


def interpreter(peer: Peer, folder: Path | None) -> tuple[str, str]:
    """The Python that runs a peer, and why there is none of its own, if it could not be made."""
    if folder is None or not peer.packages:
        return sys.executable, ""
    place = folder.resolve() / peer.program
    python = str(place / "bin" / "python")
    if not Path(python).exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--no-input", *peer.packages]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    return python, "" if done.returncode == 0 else _last(done.stderr)


def _last(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"


def measured(peer: Peer, python: str, source: str, folder: Path) -> dict[str, Any] | str:
    """What a program found, or its last words. It runs in `folder`, for some leave files where they run."""
    paths = [str(PROGRAMS)] + ([str(SOURCE)] if peer.program == "ours" else [])
    program = PROGRAMS / f"{peer.program}.py"
    settings = {"PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": python}
    done = subprocess.run(
        [python, "-W", "ignore", str(program), source],
        env={**os.environ, **settings, "PYSPARK_DRIVER_PYTHON": python},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return _last(done.stderr)
    found: dict[str, object] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--install", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    import duckdb
    import psycopg

    from tests.postgres_server import READER, server

    made = MAKE.format(rows=given.rows)
    query = f"SELECT sex || ' ' || region, count(*) FROM ({made}) GROUP BY 1"
    exact = dict(duckdb.execute(query).fetchall())
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "visits").mkdir()
        executed(f"COPY ({made}) TO '{folder}/visits/part.parquet' (FORMAT parquet)")
        executed(f"COPY ({made}) TO '{folder}/visits.csv' (HEADER false)")
        server().execute("CREATE TABLE visits (sex text, region text, age int)")
        with psycopg.connect(server().admin, autocommit=True) as connection:
            with connection.cursor().copy("COPY visits FROM STDIN CSV") as copy:
                copy.write((folder / "visits.csv").read_bytes())
            connection.execute("VACUUM ANALYZE visits")
            connection.execute(f"GRANT SELECT ON visits TO {READER}".encode())
        files, address = f"{folder}/visits", server().address
        for peer in PEERS:
            ours = peer.program == "ours"
            source = {
                "Spark": f"spark:{files}" if ours else files,
                "PostgreSQL": f"{address}#visits" if ours else address,
                "Parquet": f"{files}/*.parquet",
                "Polars": files,
            }[peer.engine]
            python, why = interpreter(peer, given.install)
            found = why or measured(peer, python, source, folder)
            label = f"{peer.name} on {peer.engine}"
            if isinstance(found, str):
                print(f"  {label:<32} did not run: {found}", flush=True)
                continue
            counts = dict(zip((f"{a} {b}" for a, b in CELLS), found["counts"], strict=True))
            error = sum(abs(counts[cell] - exact[cell]) for cell in counts) / len(counts)
            print(
                f"  {label:<32} {found['seconds']:8.2f} s {found['cpu']:8.2f} s of CPU   "
                f"mean error of a cell {error:.2f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
