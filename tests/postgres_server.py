"""A PostgreSQL server of the tests' own: in a temporary directory, on a socket there, by no superuser's account.

It is started when a test first asks for it, once in a process, and stopped when the process ends; it also
ends by itself if the process is killed.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa

_OWNER = "postgres"
_names = count(1)
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "log_min_messages": "panic",
    "TimeZone": "America/St_Johns",  # an odd one, which no result may depend on
    "DateStyle": "SQL, DMY",
}
READER = "reader"
"""A user who may do nothing but SELECT."""


def _program(name: str) -> str:
    found = shutil.which(name)
    if found:
        return found
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    assert places, "PostgreSQL is not installed: apt-get install postgresql"
    return str(places[-1])


def _as_owner(command: Sequence[str]) -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return ["setpriv", "--pdeathsig", "QUIT", *command]
    user = pwd.getpwnam(_OWNER)
    ids = ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
    return ["setpriv", *ids, "--pdeathsig", "QUIT", *command]


@dataclass(slots=True)
class Server:
    """A running server."""

    folder: Path
    process: subprocess.Popen[bytes]
    settings: dict[str, str]

    @property
    def admin(self) -> str:
        return f"postgresql://{_OWNER}@/postgres?host={self.folder}"

    @property
    def address(self) -> str:
        """The address for the user who may only read; a source adds the table's name."""
        return f"postgresql://{READER}@/postgres?host={self.folder}"

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute("SET lock_timeout = '20s'")  # an engine left open fails, not hangs
            for statement in statements:
                connection.execute(statement.encode())

    def load(self, table: pa.Table, types: dict[str, str] | None = None) -> str:
        """Makes a table of its own; the source that names it."""
        name = f"table_{next(_names)}"
        fields = [
            f"{quoted(field.name)} {(types or {}).get(field.name) or type_of(field.type)}"
            for field in table.schema
        ]
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE {name} ({', '.join(fields)})".encode())
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                    copy.write_row([spelled(value) for value in row])
            connection.execute(f"GRANT SELECT ON {name} TO {READER}".encode())
        return f"{self.address}#public.{name}"

    def start(self) -> None:
        options = [
            part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")
        ]
        command = [_program("postgres"), "-D", str(self.folder / "data"), "-k", str(self.folder)]
        self.process = subprocess.Popen(
            _as_owner([*command, *options]), stderr=subprocess.DEVNULL, cwd="/"
        )
        for _ in range(600):
            try:
                psycopg.connect(self.admin).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise AssertionError("the server did not start within 30 seconds")

    def stop(self) -> None:
        self.process.send_signal(3)  # at once, without waiting for clients
        self.process.wait()

    def kill(self) -> None:
        """Ends it as a power cut does: every process of it, with no time to write anything."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        for pid in (self.process.pid, *map(int, children.split())):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def program(self, name: str, *words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
        """Runs one of PostgreSQL's own programs against this server."""
        command = _as_owner([_program(name), "-h", str(self.folder), "-U", _OWNER, *words])
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd="/", **more)


def quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def type_of(type_: pa.DataType) -> str:
    if pa.types.is_decimal(type_):
        return f"numeric({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamptz" if type_.tz else "timestamp"
    return {
        "bool": "boolean", "int8": "smallint", "int16": "smallint", "int32": "integer", "int64": "bigint",
        "uint8": "smallint", "uint16": "integer", "uint32": "bigint", "uint64": "numeric", "float": "real",
        "double": "double precision", "string": "text", "large_string": "text", "date32[day]": "date",
        "null": "text",
    }[str(type_)]  # fmt: skip


def spelled(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value


@cache
def server() -> Server:
    """The server of this process, for tables to be read; what it writes would not outlive a power cut."""
    return _made(_SETTINGS)


@cache
def durable_server() -> Server:
    """Another one, whose commits are on disk: for ledgers."""
    durable = {"fsync": "on", "full_page_writes": "on", "max_connections": "120"}
    return _made({**_SETTINGS, **durable})


def _made(settings: dict[str, str]) -> Server:
    folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
    if os.getuid() == 0:
        user = pwd.getpwnam(_OWNER)
        os.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(0o755)
    make = [_program("initdb"), "-D", str(folder / "data"), "-U", _OWNER, "-A", "trust", "-N"]
    make += ["-E", "UTF8", "--locale=C.UTF-8", "--no-instructions"]
    subprocess.run(_as_owner(make), check=True, stdout=subprocess.DEVNULL, cwd="/")
    made = Server(folder, None, settings)  # type: ignore[arg-type]
    atexit.register(_remove, made)
    made.start()
    made.execute(f"CREATE ROLE {READER} LOGIN", "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    return made


def _remove(made: Server) -> None:
    if made.process is not None and made.process.poll() is None:
        made.stop()
    shutil.rmtree(made.folder, ignore_errors=True)


def postgres_source(table: pa.Table | dict[str, Iterable[Any]]) -> str:
    """A table of Arrow, or of columns of Python values, as a source in PostgreSQL."""
    if not isinstance(table, pa.Table):
        table = pa.table({name: pa.array(values) for name, values in table.items()})
    return server().load(table)


def named(server: Server, name: str, *statements: str) -> str:
    """The source of something that statements make, for a user who may read it."""
    server.execute(*statements, f"GRANT SELECT ON {name} TO {READER}")
    return f"{server.address}#{name}"
