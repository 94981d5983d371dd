"""A running sparse vector: what the vault's `above_threshold` returns.

It holds the grant that paid for it, and asks through it: the charge was made, and the ledger said
`reading`, before it came to be.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from discreet.core.mechanisms import AboveThreshold
from discreet.errors import BadInput
from discreet.queries.measurable import CountQuery
from discreet.queries.tallies import Tally
from discreet.samplers.entropy import never_copied

if TYPE_CHECKING:
    from discreet.core.vault import Grant


class Alert:
    """A running sparse vector: ask counts until one is above. Then it is spent.

    Thread safe: one question at a time, from the check whether it is spent to the moment it is. So one charge gives one `above`.
    """

    def __init__(
        self, grant: Grant, threshold: int, mechanism: AboveThreshold, sensitivity: int
    ) -> None:
        self._grant, self._mechanism, self._sensitivity = grant, mechanism, sensitivity
        noise = grant._noise
        start = np.array([threshold], dtype=np.int64)
        law = mechanism.threshold_law(sensitivity)
        self._bar = int(noise.add(start, law, step=grant._next_step("threshold"))[0])
        self.over = False
        self._lock = threading.Lock()

    __reduce__ = never_copied  # a copy would say `above` once more

    def is_above(self, query: CountQuery | Tally) -> bool:
        """Whether the count is, noisily, at or above the noisy threshold. The first True ends the run."""
        schema = self._grant._schema
        if query.size(schema) != 1 or query.sensitivity(schema).l1 > self._sensitivity:
            raise BadInput(
                f"An alert watches single counts of sensitivity at most {self._sensitivity}."
            )
        law = self._mechanism.count_law(self._sensitivity)
        with self._lock:
            if self.over:
                raise BadInput(
                    "This alert has fired once, which spends it. Open another alert to ask more."
                )
            if isinstance(query, Tally):
                exact = int(self._grant._engine.tally([query])[0][0])
            else:
                exact = int(self._grant._read([query])[0][0])
            self.over = self._grant._noise.is_above(
                exact, self._bar, law, step=self._grant._next_step("above")
            )
            return self.over
