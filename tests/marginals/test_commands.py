"""`discreet synthesize` and `discreet compare`."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

from discreet.artifacts.files import write_release
from discreet.cli.application import application
from discreet.privacy.budget import Budget
from discreet.schema import Schema
from tests.marginals.test_models import SCHEMA, people
from tests.releasing import release


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    table = people(folder / "people.csv", 500)
    made = release(
        table,
        Schema.loads(SCHEMA),
        budget=Budget(epsilon=2),
        workload="marginals(2)",
        ledger=folder / "ledger.db",
    )
    write_release(made, folder / "people.release")
    return folder


def test_synthesize_writes_as_many_rows_as_asked_and_overwrites_nothing(files, tmp_path):
    words = ["synthesize", str(files / "people.release"), "-o", str(tmp_path / "rows.csv")]
    done = CliRunner().invoke(application, [*words, "--rows", "50", "--seed", "3"])
    assert done.exit_code == 0 and "50 synthetic rows" in done.output
    with (tmp_path / "rows.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["age", "sex", "born", "pay", "member"] and len(rows) == 51
    assert CliRunner().invoke(application, words).exit_code != 0


def test_compare_says_first_and_last_that_it_is_not_private(files):
    words = ["compare", str(files / "people.release"), str(files / "people.csv")]
    done = CliRunner().invoke(application, words)
    lines = done.output.strip().splitlines()
    assert done.exit_code == 0
    assert lines[0].startswith("NOT PRIVATE") and lines[-1].startswith("NOT PRIVATE")
    found = json.loads(CliRunner().invoke(application, [*words, "--json"]).output)
    assert found["banner"].startswith("NOT PRIVATE") and len(found["tables"]) == 10
    assert all(each["private"] is False for each in found["tables"])


def test_compare_says_what_it_does_not_compare(files, tmp_path):
    made = release(
        files / "people.csv",
        Schema.loads(SCHEMA),
        budget=Budget(epsilon=2),
        workload=["marginals(sex)", "intervals(age)"],
        ledger=tmp_path / "ledger.db",
    )
    write_release(made, tmp_path / "ranges.release")
    words = ["compare", str(tmp_path / "ranges.release"), str(files / "people.csv")]
    assert "Not compared: intervals(age)." in CliRunner().invoke(application, words).output
    found = json.loads(CliRunner().invoke(application, [*words, "--json"]).output)
    assert found["not_compared"] == ["intervals(age)"] and len(found["tables"]) == 1


def test_files_are_named_in_json_too(files, tmp_path):
    release = str(files / "people.release")
    words = ["synthesize", release, "-o", str(tmp_path / "s.csv"), "--rows", "50", "--json"]
    found = json.loads(CliRunner().invoke(application, words).stdout)
    assert found["rows"] == 50 and found["output"] == str(tmp_path / "s.csv")
    assert found["columns"] == ["age", "sex", "born", "pay", "member"]
    page = str(tmp_path / "page.html")
    done = CliRunner().invoke(application, ["report", release, "-o", page, "--json"])
    assert json.loads(done.stdout) == {"output": page}
