"""Open a release, ask it, bound its answers, verify it. Nothing here can reach a row."""

from discreet.answers.many_counts import ManyCounts
from discreet.answers.reader import ReleaseReader, open_release
from discreet.answers.registry import ANSWERERS, register
from discreet.answers.signing import new_signing_key, sign_release
from discreet.answers.verify import Verification, verify_costs

__all__ = [
    "ANSWERERS",
    "ManyCounts",
    "ReleaseReader",
    "Verification",
    "new_signing_key",
    "open_release",
    "register",
    "sign_release",
    "verify_costs",
]
