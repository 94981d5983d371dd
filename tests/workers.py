"""How `make test` deals the tests out to its workers, and where their files go."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Free bytes from which on temporary files go to memory; a whole run needs a tenth of it."""
SPARK = (
    "tests/audits/test_value_fuzz.py",
    "tests/docs/test_documented_commands.py",
    "tests/engines/test_battery.py",
    "tests/engines/test_broken_off.py",
    "tests/engines/test_contract.py",
    "tests/engines/test_counting.py",
    "tests/engines/test_long_texts.py",
    "tests/engines/test_same_person.py",
    "tests/engines/test_spark.py",
    "tests/engines/test_spark_origins.py",
    "tests/engines/test_spark_places.py",
)
"""What needs a Spark of the worker's own, which takes 15 seconds to start."""
LONG = (
    *SPARK,
    "tests/audits/test_concurrency.py",
    "tests/service/test_service_browser.py",
    "tests/mutants/test_quick_mutants.py",
    "tests/audits/test_forgery.py",
    "tests/audits/test_empirical_releases.py",
    "tests/audits/test_file_neighbours.py",
    "tests/curator/test_curator_processes.py",
    "tests/curator/test_curator_replay.py",
    "tests/audits/test_people_neighbours.py",
    "tests/audits/test_leaks.py",
)
"""What is begun first, so that no worker is left alone with it at the end."""


class ByFile(LoadFileScheduling):
    """A file goes to one worker, so that what its tests share is made once; all that needs Spark goes to one too."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "Spark" if file in SPARK else file


def place(file: str) -> int:
    """Where a file stands in the queue; equal ones keep their order."""
    return LONG.index(file) if file in LONG else len(LONG)


def temporary_files_in_memory() -> Path | None:
    """A folder in memory for this run, if there is room and nobody chose a place; the caller removes it.

    A charge waits for the disk several times before it is granted: together that is minutes of waiting in which
    nothing is tested, for no test can cut the power.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return None
    if shutil.disk_usage(MEMORY).free < ROOM:
        return None
    folder = Path(tempfile.mkdtemp(prefix="discreet-tests-", dir=MEMORY))
    folder.chmod(0o755)  # PostgreSQL runs as a user of its own
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # asks the environment again
    return folder
