"""The warning about a cap that gives almost no protection, given before anything is read or charged."""

from __future__ import annotations

import warnings

from discreet.errors import LargeCap
from discreet.privacy.budget import Budget
from discreet.privacy.guidance import cap_warning


def warn_of_large_cap(cap: Budget | None) -> None:
    """Warn whoever called the public function that calls this; None, where no cap is set here, is silent."""
    said = None if cap is None else cap_warning(cap)
    if said is not None:
        warnings.warn(said, LargeCap, stacklevel=4)
