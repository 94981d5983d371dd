"""A table behind a password: it comes from the environment, a file or a prompt, and is written nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from discreet import postgres_addresses
from discreet.cli.application import application
from discreet.cli.failures import run
from tests.postgres_server import postgres_source, server

SECRET = "SECRET-88"
SCHEMA = """dataset = "people"
[columns.age]
kind = "integer"
range = [0, 9]
"""


@pytest.fixture
def locked() -> Iterator[str]:
    """The source of a table that a user may read who has a password."""
    source = postgres_source(pa.table({"age": [1, 2, None, 40]}))
    table, rules = source.partition("#")[2], server().folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all keyholder scram-sha-256\n{before}")
    server().execute(
        f"CREATE ROLE keyholder LOGIN PASSWORD '{SECRET}'",
        f"GRANT SELECT ON {table} TO keyholder",
        "SELECT pg_reload_conf()",
    )
    yield source.replace("reader@", "keyholder@")
    rules.write_text(before)
    server().execute(
        f"REVOKE SELECT ON {table} FROM keyholder",
        "DROP ROLE keyholder",
        "SELECT pg_reload_conf()",
    )


def release(source: str, folder: Path, name: str) -> int:
    (folder / "people.toml").write_text(SCHEMA)
    words = ["release", source, "--schema", str(folder / "people.toml"), "--epsilon", "1"]
    words += ["--for", "histogram(age)", "-o", str(folder / f"{name}.release")]
    return run(application, [*words, "--ledger", str(folder / f"{name}.db")])


def test_a_password_for_a_table_comes_from_three_places_and_is_kept_in_none(
    locked: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    said = []

    def done(name: str) -> int:
        code = release(locked, tmp_path, name)
        said.append(capsys.readouterr())
        return code

    assert done("nothing") == 2
    assert "PGPASSWORD" in said[-1].err
    monkeypatch.setenv("PGPASSWORD", "WRONG-88")
    assert done("wrong") == 2
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert done("environment") == 0, said[-1].err
    monkeypatch.delenv("PGPASSWORD")
    passwords = tmp_path / "passwords"
    passwords.write_text(f"*:*:*:*:{SECRET}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    assert done("file") == 0, said[-1].err
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    asked: list[str] = []

    def typed(prompt: str) -> str:
        asked.append(prompt)
        return SECRET

    monkeypatch.setattr(postgres_addresses, "_typed", {})
    monkeypatch.setattr("getpass.getpass", typed)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert done("prompt") == 0, said[-1].err
    assert len(asked) == 1 and SECRET not in asked[0]
    passwords.unlink()
    assert not any("-88" in each.out + each.err for each in said)
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len([path for path in kept if path.suffix == ".release"]) == 3
    assert not any(b"-88" in path.read_bytes() for path in kept)
