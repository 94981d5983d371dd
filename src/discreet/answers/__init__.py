"""Open a release, ask it, bound its answers, verify it. Nothing here can reach a row.

May import errors, privacy, schema, queries, artifacts, inference; never the kernel.
"""

from discreet.answers.batch import ManyCounts
from discreet.answers.reader import ReleaseReader, open_release
from discreet.answers.signing import new_signing_key, sign_release
from discreet.answers.sources import ANSWERERS
from discreet.answers.verify import Verification, verify_costs

__all__ = [
    "ANSWERERS",
    "ManyCounts",
    "ReleaseReader",
    "Verification",
    "new_signing_key",
    "open_release",
    "sign_release",
    "verify_costs",
]
