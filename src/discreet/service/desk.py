"""`Desk`: what every route needs at hand: the open house, the limits, the log and the counters."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from discreet.service.accounts import Person, Role
from discreet.service.datasets import LiveDataset
from discreet.service.house import House
from discreet.service.limits.refusals import NotAllowed, NotFound, NotSignedIn
from discreet.service.limits.running import RateLimit, Runner, wait_for_quantum
from discreet.service.settings import Limits, Settings
from discreet.service.shelf import ShelvedRelease
from discreet.service.watching import Metrics, RequestLog

Result = TypeVar("Result")


@dataclass(slots=True)
class Desk:
    """The shared state of one worker process."""

    house: House
    runner: Runner
    rate: RateLimit
    metrics: Metrics = field(default_factory=Metrics)
    log: RequestLog = field(default_factory=RequestLog)
    is_closing: bool = False

    @classmethod
    def at(cls, house: House, log: RequestLog | None = None) -> Desk:
        limits = house.settings.limits
        return cls(
            house, Runner(limits), RateLimit(limits.requests_a_minute), log=log or RequestLog()
        )

    @property
    def settings(self) -> Settings:
        return self.house.settings

    @property
    def limits(self) -> Limits:
        return self.house.settings.limits

    # Who may see what

    def datasets_of(self, person: Person) -> list[LiveDataset]:
        """Those that a person may look at: an analyst's are those with a budget."""
        every = self.house.datasets.values()
        if person.role is not Role.ANALYST:
            return list(every)
        return [each for each in every if each.allowance(person.name) is not None]

    def dataset(self, name: str, person: Person) -> LiveDataset:
        """A dataset that a person may look at. One that is not theirs is refused as one that is not there."""
        found = self.house.datasets.get(name)
        if found is None or (person.role is Role.ANALYST and not found.may_ask(person.name)):
            raise NotAllowed(
                f"There is no dataset {name[:100]!r}, or this account has no budget on it. Nothing was read or charged."
            )
        return found

    def releases_of(self, person: Person | None) -> list[ShelvedRelease]:
        """Those that a person, or the public, may look at."""
        return [each for each in self.house.shelf.all() if each.is_public or person is not None]

    def release(self, name: str, person: Person | None) -> ShelvedRelease:
        """A release that a person, or the public, may look at."""
        found = self.house.shelf.get(name)
        if found is None or not (found.is_public or person is not None):
            if person is None:
                raise NotSignedIn("Sign in first: this needs a token.")
            raise NotFound(f"There is no release {name[:100]!r}.")
        return found

    # Running

    async def run(self, person: Person | None, work: Callable[[], Result]) -> Result:
        """Do work on a thread, within the limits."""
        return await self.runner.run("" if person is None else person.name, work)

    async def run_live(self, person: Person, arrived: float, work: Callable[[], Result]) -> Result:
        """As `run`, for work that reads rows: its outcome, answer or refusal, leaves on the time quantum."""
        try:
            return await self.run(person, work)
        finally:
            await wait_for_quantum(arrived, self.limits.quantum_ms)


def now() -> float:
    """The clock of arrivals and quanta."""
    return time.monotonic()
