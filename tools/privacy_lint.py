"""The privacy lint: what must not stand in the privacy path, checked on the syntax tree.

Part of `make check`. The privacy path is every module through which an exact number, a noise
scale or a budget passes. Refused there:

  float      float literals, `float(...)`, numpy floats, and transcendental functions of math and
             numpy. A function whose return annotation says `float` is exempt: it reports an error
             or an interval, it does not decide noise or cost. Files with another good reason stand
             in `EXEMPT`, with it.
  random     `random`, `secrets`, `numpy.random`, `os.urandom` outside the entropy module.
  driver     a database driver outside its own folder.
  print      `print`, `logging`, `warnings.warn`, `sys.stdout`: what the kernel says, it says by
             returning measurements or raising errors.
  secret     an error message, or an assertion's, built from a name that holds exact numbers.

    python tools/privacy_lint.py            the tree
    python tools/privacy_lint.py FILE ...   some files, taken as part of the privacy path
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "discreet"

PATH = (
    "core/vault.py",
    "core/alert.py",
    "core/checked_engine.py",
    "core/noise.py",
    "core/refining.py",
    "samplers/entropy.py",
    "core/mechanisms/*.py",
    "samplers/*.py",
    "local/clients/*.py",
    "local/protocols/*.py",
    "ledger/*.py",
    "engines/**/*.py",
    "queries/measurable.py",
    "families/tables/queries/residuals.py",
    "queries/scores.py",
    "queries/group_choices.py",
    "queries/tallies.py",
    "queries/tree.py",
    "privacy/budget.py",
    "privacy/exact.py",
    "privacy/cost.py",
    "privacy/adjacency.py",
    "privacy/protection.py",
)
"""Globs below src/discreet. The laws and conversions in privacy/ compute in floats and round outwards; tests of their own hold them to that."""

EXACT_MATH = {"ceil", "floor", "gcd", "lcm", "isqrt", "prod", "comb", "trunc", "isfinite"}
NUMPY_FLOATS = {
    "float16",
    "float32",
    "float64",
    "double",
    "single",
    "exp",
    "log",
    "log2",
    "sqrt",
    "power",
}
RANDOM_MODULES = {"random", "secrets", "numpy.random"}
DRIVERS: dict[str, str | tuple[str, ...]] = {
    "duckdb": "engines/",
    "sqlite3": "ledger/",
    "psycopg": ("engines/", "ledger/"),
    "pyspark": "engines/",
}
SECRET_NAMES = {
    "exact",
    "counts",
    "scores",
    "numbers",
    "noisy",
    "marginals",
    "totals",
    "moved",
    "row_values",
}
SPEAKING = {"warnings.warn", "sys.stdout", "sys.stderr"}
EXEMPT = {
    (
        "samplers/gaussian.py",
        "float",
    ): "a filter: whatever its proven margin leaves open is decided by integers",
    ("samplers/uniform.py", "float"): "how many words to ask for; decides no outcome",
    (
        "engines/sql/cells.py",
        "float",
    ): "a number column's cells are defined by IEEE doubles",
    ("engines/sql/expressions.py", "float"): "literals of conditions over IEEE doubles",
    (
        "engines/sql/tallies.py",
        "float",
    ): "a grid as the double that a number is multiplied by; the sum is of integers",
    ("engines/sql/syntax.py", "float"): "writes the literals of those doubles",
    ("engines/sql/units.py", "float"): "a limit beyond which text counts as no number",
    ("engines/duckdb/dialect.py", "float"): "writes literals of IEEE doubles",
    (
        "engines/postgres/arithmetic.py",
        "float",
    ): "bounds of IEEE doubles, beyond which SQL would raise",
    ("engines/postgres/numbers.py", "float"): "writes literals of IEEE doubles",
    ("engines/postgres/texts.py", "float"): "limits between the spellings of IEEE doubles",
    ("engines/spark/dialect.py", "float"): "writes literals of IEEE doubles",
    ("engines/spark/spelling.py", "float"): "limits between the spellings of IEEE doubles",
    ("engines/spark/writing.py", "float"): "writes literals of IEEE doubles",
    ("engines/spark/session.py", "float"): "progress and time-outs",
    ("engines/pandas_columns.py", "float"): "a long double of a table is read as a double",
    ("engines/duckdb/session.py", "float"): "progress and time-outs",
    (
        "local/clients/perturbing.py",
        "float",
    ): "a client's own number on its way to the grid; the report after it is epsilon-DP whatever it was",
    ("ledger/journal.py", "random"): "names a new ledger; no noise",
    ("ledger/charging.py", "random"): "a claim's token; no noise",
    ("privacy/exact.py", "float"): "reads and shows numbers; what it returns is exact",
    ("privacy/budget.py", "float"): "shows a delta",
}
"""(file, rule) and the reason beside it. A file stands here only for that one rule."""


class Finding(NamedTuple):
    """One refused place."""

    file: str
    line: int
    rule: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.what}"


def findings(text: str, file: str) -> list[Finding]:
    """Everything refused in one module; `file` is its path below src/discreet."""
    found: list[Finding] = []

    def note(node: ast.AST, rule: str, what: str) -> None:
        if (file, rule) not in EXEMPT:
            found.append(Finding(file, getattr(node, "lineno", 0), rule, what))

    for node, reports_floats in _walk(ast.parse(text), False):
        if not reports_floats:
            for what in _floats(node):
                note(node, "float", what)
        for rule, what in (*_imports(node, file), *_speech(node), *_secrets(node)):
            note(node, rule, what)
    return found


def _walk(node: ast.AST, reports_floats: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Every node, and whether it stands in a function that returns floats."""
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        reports_floats = reports_floats or "float" in ast.unparse(node.returns)
    yield node, reports_floats
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and _is_annotation(node, child):
            continue
        yield from _walk(child, reports_floats)


def _is_annotation(parent: ast.AST, child: ast.expr) -> bool:
    return child in (
        getattr(parent, "annotation", None),
        getattr(parent, "returns", None),
    )


def _floats(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield f"the float literal {node.value!r}"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float":
        yield "float(...)"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner, name = node.value.id, node.attr
        if owner == "math" and name not in EXACT_MATH:
            yield f"math.{name}"
        if owner in {"np", "numpy"} and name in NUMPY_FLOATS:
            yield f"{owner}.{name}"


def _imports(node: ast.AST, file: str) -> Iterator[tuple[str, str]]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    for name in names:
        if name in RANDOM_MODULES:
            yield "random", f"import of {name}"
        home = DRIVERS.get(name.split(".")[0])
        if home is not None and not file.startswith(home):
            yield "driver", f"import of {name} outside {home}"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if (node.value.id, node.attr) in {("np", "random"), ("numpy", "random")}:
            yield "random", "numpy.random"
        if (node.value.id, node.attr) == ("os", "urandom") and file != "samplers/entropy.py":
            yield "random", "os.urandom outside the entropy module"


def _speech(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
        if any(name.split(".")[0] == "logging" for name in names):
            yield "print", "import of logging"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
        yield "print", "print(...)"
    if isinstance(node, ast.Attribute) and ast.unparse(node) in SPEAKING:
        yield "print", ast.unparse(node)


def _secrets(node: ast.AST) -> Iterator[tuple[str, str]]:
    message: ast.AST | None = None
    if isinstance(node, ast.Raise):
        message = node.exc
    elif isinstance(node, ast.Assert):
        message = node.msg
    if message is None:
        return
    for part in ast.walk(message):
        if not isinstance(part, ast.FormattedValue):
            continue
        for name in ast.walk(part.value):
            if isinstance(name, ast.Name) and name.id in SECRET_NAMES:
                yield "secret", f"a message built from `{name.id}`"


def main(arguments: list[str]) -> int:
    chosen = [Path(argument).resolve() for argument in arguments] or [
        path for pattern in PATH for path in sorted(SOURCE.glob(pattern))
    ]
    missing = [pattern for pattern in PATH if not list(SOURCE.glob(pattern))]
    if missing:
        print(f"privacy lint: nothing matches {', '.join(missing)}")
        return 1
    found = [
        finding
        for path in chosen
        for finding in findings(
            path.read_text(encoding="utf-8"),
            path.relative_to(SOURCE).as_posix() if path.is_relative_to(SOURCE) else path.name,
        )
    ]
    for finding in found:
        print(finding)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
