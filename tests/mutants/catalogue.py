"""Every planted bug. `make mutants` plants each in a scratch copy and sees that its tests fail.

A bug is a real one: it compiles, and a release made with it looks like any other. Its number is
that of the list in docs/trust.md; a guarantee that is added brings the bugs that would break it.
"""

from __future__ import annotations

from tests.mutants.bugs.accounting import ACCOUNTING
from tests.mutants.bugs.attacks import ATTACKS
from tests.mutants.bugs.concurrency import CONCURRENCY
from tests.mutants.bugs.counting import COUNTING
from tests.mutants.bugs.csv_files import CSV_FILES
from tests.mutants.bugs.curator import CURATOR
from tests.mutants.bugs.data_dependence import DATA_DEPENDENCE
from tests.mutants.bugs.derived import DERIVED
from tests.mutants.bugs.engines import ENGINES
from tests.mutants.bugs.files import FILES_AND_SIGNATURES
from tests.mutants.bugs.groups import GROUPS
from tests.mutants.bugs.halfspaces import HALFSPACES
from tests.mutants.bugs.joint_answers import JOINT_ANSWERS
from tests.mutants.bugs.keys import KEYS
from tests.mutants.bugs.local_model import LOCAL_MODEL
from tests.mutants.bugs.marginals import MARGINALS
from tests.mutants.bugs.numerics import NUMERICS
from tests.mutants.bugs.postgres import POSTGRES
from tests.mutants.bugs.randomness import RANDOMNESS
from tests.mutants.bugs.ranges import RANGES
from tests.mutants.bugs.sensitivity import SENSITIVITY
from tests.mutants.bugs.service import SERVICE_BUGS
from tests.mutants.bugs.shared_ledger import SHARED_LEDGER
from tests.mutants.bugs.side_channels import SIDE_CHANNELS
from tests.mutants.bugs.spark import SPARK
from tests.mutants.bugs.statements import STATEMENTS
from tests.mutants.bugs.theory import THEORY
from tests.mutants.bugs.units import UNITS_AND_LOCKS
from tests.mutants.bugs.values import VALUES
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *SENSITIVITY,
    *ENGINES,
    *MARGINALS,
    *NUMERICS,
    *RANDOMNESS,
    *DATA_DEPENDENCE,
    *ACCOUNTING,
    *UNITS_AND_LOCKS,
    *SIDE_CHANNELS,
    *CSV_FILES,
    *FILES_AND_SIGNATURES,
    *HALFSPACES,
    *COUNTING,
    *RANGES,
    *GROUPS,
    *CURATOR,
    *JOINT_ANSWERS,
    *KEYS,
    *DERIVED,
    *VALUES,
    *CONCURRENCY,
    *STATEMENTS,
    *LOCAL_MODEL,
    *POSTGRES,
    *SPARK,
    *ATTACKS,
    *THEORY,
    *SERVICE_BUGS,
    *SHARED_LEDGER,
)

NOT_YET = {
    28: "amplification by sampling: nothing in the product samples rows",
}
"""Numbers of the list that nothing can be planted for, and why."""
LAST = 45
"""The highest number of the list."""
