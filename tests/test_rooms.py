"""Which room may import which: read off the syntax tree, so that it holds wherever the tests run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import discreet
from discreet.queries.registry import merged

SOURCES = Path(discreet.__file__).parent
CANNOT_REACH_ROWS = (
    "privacy",
    "schema",
    "questions",
    "queries",
    "artifacts",
    "answering",
    "attacks",
    "families/*/answer",
    "families/*/queries",
    "families/*/estimate",
    "families/*/figures",
    "charts",
    "report",
    "local/collector",
    "local/protocols",
    "theory",
)
REACHES_ROWS = tuple(
    f"discreet.{room}" for room in ("core", "samplers", "ledger", "engines", "releases", "curator")
)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_rooms_that_answer_never_import_the_core_or_a_database():
    seen = 0
    for room in CANNOT_REACH_ROWS:
        for path in sorted([*SOURCES.glob(f"{room}/**/*.py"), *SOURCES.glob(f"{room}.py")]):
            seen += 1
            found = [
                name
                for name in imports(path)
                if name.startswith(REACHES_ROWS)
                or name.split(".")[0] in ("duckdb", "sqlite3", "psycopg", "pyspark")
            ]
            assert found == [], f"{path.relative_to(SOURCES)} imports {found}"
    assert seen > 30


def test_only_the_core_and_the_audits_import_secret_randomness():
    for path in sorted(SOURCES.rglob("*.py")):
        room = path.relative_to(SOURCES).parts[0]
        if room in ("core", "samplers", "audits") or path.is_relative_to(
            SOURCES / "local" / "clients"
        ):
            continue
        secret = ("discreet.samplers", "discreet.core.noise", "discreet.core.test_door")
        found = [name for name in imports(path) if name.startswith(secret)]
        assert found == [], f"{path.relative_to(SOURCES)} imports {found}"


def test_what_families_share_knows_none_of_them_by_name():
    """Not even by a type: a family from outside is put together with the others in the same way."""
    own = ("groups", "halfspaces", "keys", "numbers", "predicates", "ranges", "tables")
    assert {*own, "shared"} == {
        each.name for each in (SOURCES / "families").iterdir() if (each / "__init__.py").exists()
    }
    known = (*(f"discreet.families.{name}" for name in own), "discreet.reference")
    paths = sorted((SOURCES / "families" / "shared").rglob("*.py"))
    assert len(paths) > 10
    for path in paths:
        found = [name for name in imports(path) if name.startswith(known)]
        assert found == [], f"{path.relative_to(SOURCES)} imports {found}"


def test_nobody_outside_the_families_asks_for_a_class_or_a_kind_of_part_by_name():
    """`part.kind == "model"` elsewhere would pass over a family from outside; the registry says such things."""
    known = {*merged("sources"), *merged("algorithms")}
    for path in sorted(SOURCES.rglob("*.py")):
        if path.relative_to(SOURCES).parts[0] in ("families", "reference"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Attribute):
                continue
            named = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            asked = named & known if node.left.attr in ("kind", "name") else set()
            assert not asked, f"{path.relative_to(SOURCES)}:{node.lineno} asks for {sorted(asked)}"
