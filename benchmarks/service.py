"""The service under load: charged asks and release questions a second, with the quantum off and on.

    python benchmarks/service.py [seconds]

32 clients ask a table of 50,000 rows for a while, each question another one, through a service in
processes of its own. Then the ledger is looked into: every answer that left is charged exactly once.

Clients and service share the machine, and perhaps others do too. So beside answers a second it prints the
processor time that the service took for an answer, and the machine's load: on a machine with c processors of
its own, the service answers at most c / that time.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import discreet as dc
from benchmarks.support.bars import bar
from discreet.demo import make_people, schema_text, write_csv
from discreet.ledger import Ledger
from discreet.service.accounts import Role
from discreet.service.house import open_house
from discreet.service.settings import load_settings

CLIENTS = 32
WORKERS = max(2, os.cpu_count() or 2)
SETTINGS = """[service]
port = 0
workers = {workers}
[limits]
quantum_ms = {quantum}
requests_a_minute = 100000000
questions_waiting = 1000
questions_at_once_each = 1000
[[dataset]]
source = "people.parquet"
schema = "people.toml"
data_version = "1"
[[release]]
file = "people.release"
public = true
"""


def make(folder: Path) -> str:
    """The table, a release of it, and an analyst's token."""
    import duckdb

    write_csv(folder / "people.csv", make_people())
    duckdb.sql(f"COPY (FROM '{folder}/people.csv') TO '{folder}/people.parquet' (FORMAT parquet)")
    schema = replace(dc.Schema.loads(schema_text()), cap=dc.Budget(epsilon=10))
    (folder / "people.toml").write_text(schema.dumps(), encoding="utf-8")
    write_settings(folder, 0)
    settings = load_settings(folder / "curator.toml")
    dc.release_to_file(
        folder / "people.parquet",
        schema,
        folder / "people.release",
        budget=dc.Budget(epsilon="0.5"),
        workload=["marginals(age, sex)"],
        ledger=settings.ledger,
    )
    house = open_house(settings)
    house.accounts.add("ann", Role.ANALYST, by="bench")
    token = house.accounts.issue("ann", days=1, by="bench")
    house.datasets["people"].allow("ann", dc.Budget(epsilon=9), by="bench", reason="bench")
    house.close()
    return token


def write_settings(folder: Path, quantum: int) -> None:
    text = SETTINGS.format(workers=WORKERS, quantum=quantum)
    (folder / "curator.toml").write_text(text, encoding="utf-8")


class Client:
    """One connection that asks, waits for the answer and asks again.

    Written on a bare socket: thirty-two clients share the machine with the service, and a library's client takes about
    as much processor time as the service itself, which would be measured instead.
    """

    def __init__(self, place: tuple[str, int], head: str, bodies: Callable[[int], Any]) -> None:
        self.socket = socket.create_connection(place)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.head, self.bodies, self.at = head, bodies, 0
        self.times: list[float] = []

    def ask(self) -> None:
        self.at += 1
        body = json.dumps(self.bodies(self.at))
        self.received, self.length = b"", -1
        self.began = time.monotonic()
        self.socket.sendall(f"{self.head}Content-Length: {len(body)}\r\n\r\n{body}".encode())

    def hears(self) -> bool:
        """Whether the answer is complete now."""
        got = self.socket.recv(65536)
        if not got:
            raise SystemExit("The service closed a connection.")
        self.received += got
        if self.length < 0 and b"\r\n\r\n" in self.received:
            head, _, _ = self.received.partition(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            self.length = len(head) + 4 + int(fields[b"content-length"])
        if self.length < 0 or len(self.received) < self.length:
            return False
        if not self.received.startswith(b"HTTP/1.1 200"):
            raise SystemExit(self.received.decode())
        self.times.append(time.monotonic() - self.began)
        return True


def load(
    place: tuple[str, int], token: str, path: str, make_body: Any, seconds: float
) -> tuple[int, list[float], float]:
    """Ask from many clients; how many were answered, how long each took, and for how long it went on."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {place[0]}:{place[1]}\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\n"
    )
    began = time.monotonic()
    waiting = selectors.DefaultSelector()
    clients = [
        Client(place, head, lambda at, number=number: make_body(number, at))  # type: ignore[misc]
        for number in range(CLIENTS)
    ]
    for each in clients:
        waiting.register(each.socket, selectors.EVENT_READ, each)
        each.ask()
    left = CLIENTS
    while left:
        for key, _ in waiting.select():
            if not key.data.hears():
                continue
            if time.monotonic() < began + seconds:
                key.data.ask()
            else:
                waiting.unregister(key.fileobj)
                key.data.socket.close()
                left -= 1
    took = time.monotonic() - began
    times = sorted(time for each in clients for time in each.times)
    return len(times), times, took


def processor_seconds(process: subprocess.Popen[str]) -> float:
    """What the service's processes have used so far."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ticks = 0
    for pid in (process.pid, *map(int, children)):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def started(folder: Path) -> tuple[subprocess.Popen[str], tuple[str, int]]:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from discreet.cli import main; main()",
            "serve",
            str(folder / "curator.toml"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    address = process.stderr.readline().split()[-1]
    host, _, port = address.removeprefix("http://").rpartition(":")
    stream = process.stderr
    threading.Thread(target=lambda: [None for _ in stream], daemon=True).start()
    return process, (host, int(port))


def main() -> int:
    met = True
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        token = make(folder)
        asked = 0
        print(f"{CLIENTS} clients, {WORKERS} workers, 50,000 rows, {seconds:g} s each")
        print(
            f"{'questions':<28}{'a second':>10}{'p50 ms':>10}{'p99 ms':>10}{'CPU ms each':>13}{'load':>7}"
        )
        kinds = (
            ("live, quantum off", 0, "/api/v1/datasets/people/ask", 100),
            ("live, quantum 100 ms", 100, "/api/v1/datasets/people/ask", 100),
            ("release, each another", 0, "/api/v1/releases/people/ask", 500),
            ("release, 100 in turn", 0, "/api/v1/releases/people/ask", 500),
        )
        for run, (label, quantum, path, at_least) in enumerate(kinds, start=1):
            price = path.startswith("/api/v1/datasets")
            write_settings(folder, quantum)
            process, place = started(folder)

            def body(
                number: int, at: int, run: int = run, price: bool = price, label: str = label
            ) -> dict[str, Any]:
                if not price:
                    turn = label.endswith("in turn")
                    size = 0 if turn else run * 10_000_000 + number * 100_000 + at
                    sql = f"SELECT count(*) FROM people WHERE age >= {at % 100} AND age <> {size}"
                    return {"sql": sql}
                size = run * 10_000_000 + number * 100_000 + at
                sql = f"SELECT count(*) FROM people WHERE income >= {size}.5 / 1000"
                return {"sql": sql, "budget": {"epsilon": "0.0001"}}

            load(place, token, path, lambda number, at: body(99, number * 1000 + at), 3)
            with Ledger.open(folder / "state" / "ledger.db") as ledger:
                before = len(ledger.entries())
            spent = processor_seconds(process)
            many, times, took = load(place, token, path, body, seconds)
            each = 1000 * (processor_seconds(process) - spent) / many
            busy = os.getloadavg()[0]
            process.send_signal(signal.SIGTERM)
            process.wait()
            with Ledger.open(folder / "state" / "ledger.db") as ledger:
                ledger.verify()
                charged = len(ledger.entries()) - before
                purposes = [one.purpose for one in ledger.entries() if one.analyst == "ann"]
                assert len(set(purposes)) == len(purposes), "a question was charged twice"
                assert ledger.spent("people", analyst="ann").epsilon == Fraction(
                    len(purposes), 10_000
                )
                assert charged == (many if price else 0), (charged, many)
                asked += many if price else 0
            p50, p99 = (1000 * times[int(part * len(times))] for part in (0.5, 0.99))
            print(
                f"{label:<28}{many / took:>10.0f}{p50:>10.0f}{p99:>10.0f}{each:>13.2f}{busy:>7.1f}",
                flush=True,
            )
            met &= bar(f"service: {label}, answers a second", many / took, at_least, at_least=True)
        print(f"{asked:,} live answers left; each is charged exactly once, and no cap was passed.")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
