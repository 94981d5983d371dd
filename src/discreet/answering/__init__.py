"""Open a release, ask it, bound its answers, verify it. Nothing here can reach a row."""

from discreet.answering.many_counts import ManyCounts
from discreet.answering.reader import ReleaseReader, open_release
from discreet.answering.registry import ANSWERERS, register
from discreet.answering.verification.signing import new_signing_key, sign_release
from discreet.answering.verification.verify import Verification, verify_costs

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
