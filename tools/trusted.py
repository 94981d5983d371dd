"""What must be right for the promise to hold: every module that the core imports, with its lines.

The core is the vault and what it imports, directly or not; imports for type checking alone do not
count, for they never run. The engine is added by whoever opens a table, so it is listed apart.

    python tools/trusted.py           the modules by room, and the totals
    python tools/trusted.py --check   only the totals; exit code 1 where one is above its ceiling
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
CORE = "discreet.core.vault"
ENGINE = "discreet.engines.duckdb.engine"
NAMED_SAMPLER = "discreet.samplers.walks"
"""Loaded by its name, and only where the general mechanism asks for it: no import shows it."""
GROUP_SCORES = "discreet.queries.group_choices"
"""The core knows scores of groups by their protocol. These say how far a row moves them, and that must be right too."""
SHARED_LEDGER = "discreet.ledger.stores.postgres"
"""Loaded by its name where a ledger's place is a database's address."""
CEILINGS = {
    "core": 11_240,
    "with the engine": 17_170,
    "sampler by name": 290,
    "scores of groups": 90,
    "ledger in PostgreSQL": 600,
}
"""Lines. They may only be lowered: what the core does not need does not belong below it. They were raised once,
by 315, for mu: what a budget is, and what is charged in it, cannot live elsewhere."""


def closure(graph: grimp.ImportGraph, module: str) -> set[str]:
    """The module, and all that it imports."""
    return {module, *graph.find_upstream_modules(module)}


def lines_of(module: str) -> int:
    place = SOURCE.joinpath(*module.split("."))
    file = place.with_suffix(".py")
    return len((file if file.exists() else place / "__init__.py").read_text().splitlines())


def table(modules: set[str]) -> list[str]:
    """One line a room: how many modules, how many lines."""
    rooms: dict[str, list[int]] = defaultdict(list)
    for module in modules:
        rooms[".".join(module.split(".")[1:3][:-1] or module.split(".")[1:2])].append(
            lines_of(module)
        )
    return [f"  {room:<16} {len(of):>3} {sum(of):>7,}" for room, of in sorted(rooms.items())]


def main(arguments: list[str]) -> int:
    graph = grimp.build_graph("discreet", exclude_type_checking_imports=True, cache_dir=None)
    core = closure(graph, CORE)
    with_engine = core | closure(graph, ENGINE)
    met = True
    named = closure(graph, NAMED_SAMPLER) - core
    for name, modules in (
        ("core", core),
        ("with the engine", with_engine),
        ("sampler by name", named),
        ("scores of groups", closure(graph, GROUP_SCORES) - with_engine),
        ("ledger in PostgreSQL", closure(graph, SHARED_LEDGER) - core),
    ):
        lines = sum(map(lines_of, modules))
        fits = lines <= CEILINGS[name]
        met &= fits
        print(
            f"trusted, {name}: {len(modules)} modules, {lines:,} lines (at most {CEILINGS[name]:,})"
        )
        if "--check" not in arguments:
            print("\n".join(table(modules)))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
