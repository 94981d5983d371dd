"""The notebooks run from top to bottom, each in a folder of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_is_one_for_each_reader() -> None:
    assert [each.stem for each in NOTEBOOKS] == ["analyst", "custodian", "reviewer", "teacher"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {"__name__": "__main__"}
    ran = 0
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "notebooks are kept without outputs"
            exec(compile("".join(cell["source"]), str(path), "exec"), names)  # noqa: S102 - our own notebooks
            ran += 1
    assert ran >= 4
