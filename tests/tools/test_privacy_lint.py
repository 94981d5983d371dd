"""The privacy lint sees what it refuses, and the tree is clean."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("privacy_lint", ROOT / "tools" / "privacy_lint.py")
assert _spec is not None and _spec.loader is not None
lint = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(lint)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("float", "scale = 0.5\n"),
        ("float", "def law(epsilon):\n    return float(epsilon)\n"),
        ("float", "import math\nx = math.exp(1)\n"),
        ("float", "import numpy as np\nx = np.float64(1)\n"),
        ("random", "import random\n"),
        ("random", "from numpy.random import default_rng\n"),
        ("random", "import numpy as np\nx = np.random.default_rng()\n"),
        ("random", "import os\nkey = os.urandom(16)\n"),
        ("driver", "import duckdb\n"),
        ("driver", "import sqlite3\n"),
        ("print", "def read(exact):\n    print(exact)\n"),
        ("print", "import logging\n"),
        ("print", "import warnings\nwarnings.warn('x')\n"),
        ("secret", "def f(exact):\n    raise ValueError(f'got {exact[0]}')\n"),
        ("secret", "def f(counts):\n    assert counts.sum() > 0, f'{counts.sum()}'\n"),
    ],
)
def test_a_planted_violation_is_found(rule, text):
    assert rule in {finding.rule for finding in lint.findings(text, "core/vault.py")}


@pytest.mark.parametrize(
    "text",
    [
        "def bound(epsilon) -> float:\n    return 0.5 * epsilon\n",
        "from fractions import Fraction\nx = Fraction(1, 2) / 3\n",
        "import math\nx = math.ceil(3)\n",
        "def f(exact, size):\n    raise ValueError(f'{size} cells')\n",
        "def f(x: float) -> None: ...\n",
    ],
)
def test_what_is_allowed_is_not_found(text):
    assert lint.findings(text, "core/vault.py") == []


def test_the_tree_is_clean_and_every_exemption_is_still_needed(monkeypatch):
    assert lint.main([]) == 0
    exempt = dict(lint.EXEMPT)
    monkeypatch.setattr(lint, "EXEMPT", {})
    needed = {
        (finding.file, finding.rule)
        for pattern in lint.PATH
        for path in lint.SOURCE.glob(pattern)
        for finding in lint.findings(
            path.read_text(encoding="utf-8"), path.relative_to(lint.SOURCE).as_posix()
        )
    }
    assert needed == set(exempt)
