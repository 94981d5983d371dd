"""`release`: from a table to a release that can be asked; every charge durable before any row is read.

The order, and nothing else: check everything that public facts decide; open the table; charge; read
and add noise; publish. What fails before the charge costs nothing; what fails after it stays paid,
whatever the reason, for runs that are killed until one pleases would break the guarantee.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.answering import ReleaseReader
from discreet.answering.verification.signing import content_digest
from discreet.artifacts.files import release_members
from discreet.artifacts.release import Release
from discreet.core.vault import Grant, Vault
from discreet.engines import open_engine
from discreet.engines.protocol import Engine
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.privacy.exact import confidence_level
from discreet.releases.output_file import OutputFile
from discreet.releases.preparing import Prospect, Workload, prepare, purpose, warn_of_large_cap
from discreet.releases.together import finished
from discreet.releases.watched_grant import WatchedGrant
from discreet.schema import Schema

Progress = Callable[[str, float], None]
"""Called with the running step (one of `STEPS`) and the fraction of it that is done."""
STEPS = ("opening", "charging", "reading", "publishing")


def release(
    source: object,
    schema: Schema,
    *,
    budget: Budget,
    workload: Workload,
    ledger: Ledger | Path | str | None = None,
    confidence: float = 0.95,
    algorithms: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    convert_unit: bool = False,
) -> ReleaseReader:
    """Release `source` for `workload` at the cost of `budget`, charged to the schema's dataset.

    `budget` is for the whole release. `ledger` is an open ledger, a path, or `None` for the default
    place. `confidence` is the confidence of the error claims. `algorithms` names, for the text of a class, an
    algorithm other than the preferred one. If the dataset's cap protects another unit than the schema
    does, `convert_unit` allows to charge the price that group privacy gives, where a theorem gives one.
    """
    run = Run(schema, budget, workload, confidence, algorithms, progress, convert_unit)
    made = run.go(
        source,
        ledger,
        memory_limit=memory_limit,
        threads=threads,
        publish=lambda made: content_digest(release_members(made)).hex(),
    )
    return ReleaseReader(made)


def release_to_file(
    source: object,
    schema: Schema,
    path: Path | str,
    *,
    budget: Budget,
    workload: Workload,
    ledger: Ledger | Path | str | None = None,
    confidence: float = 0.95,
    algorithms: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    convert_unit: bool = False,
) -> ReleaseReader:
    """Like `release`, and writes the file `path`, whole or not at all, before the ledger says `published`.

    A file that is there already is refused before anything is charged, unless `overwrite`: it may
    be a release that was paid for. So is one that another run is about to write. If the disk fills
    up after the charge, the release is kept in another directory, and `NotWritten` says where.
    """
    run = Run(schema, budget, workload, confidence, algorithms, progress, convert_unit)
    output = OutputFile(path, overwrite=overwrite)
    output.check_room(run.prospect)

    def written(made: Release) -> str:
        members = release_members(made)
        with ThreadPoolExecutor(1) as beside:
            digest = beside.submit(content_digest, members)
            output.write(members)
        return digest.result().hex()

    with output.reserved():
        made = run.go(source, ledger, memory_limit=memory_limit, threads=threads, publish=written)
    if output.not_written is not None:
        raise output.not_written
    return ReleaseReader(made)


class Run:
    """One release on its way."""

    def __init__(
        self,
        schema: Schema,
        budget: Budget,
        workload: Workload,
        confidence: float,
        algorithms: Mapping[str, str] | None,
        progress: Progress | None,
        convert_unit: bool = False,
    ) -> None:
        self.confidence = float(confidence_level(confidence))
        self.prospect = prepare(schema, budget=budget, workload=workload, algorithms=algorithms)
        self._progress, self._convert_unit = progress, convert_unit
        warn_of_large_cap(self.prospect.schema.cap or self.prospect.charge)

    def go(
        self,
        source: object,
        ledger: Ledger | Path | str | None,
        *,
        memory_limit: str | None,
        threads: int | None,
        publish: Callable[[Release], str],
    ) -> Release:
        prospect = self.prospect
        limits: dict[str, Any] = {} if memory_limit is None else {"memory_limit": memory_limit}
        self._tell("opening", 0.0)
        with (
            _opened(ledger) as book,
            open_engine(
                source,
                prospect.schema,
                threads=threads,
                progress=lambda done: self._tell("reading", done),
                **limits,
            ) as engine,
            ThreadPoolExecutor(1) as beside,
        ):

            def all_read() -> None:
                # The engine is let go of meanwhile. If that fails, it fails again at the end: after the ledger's line.
                beside.submit(engine.close)

            return self.with_engine(engine, book, publish, all_read=all_read)

    def with_engine(
        self,
        engine: Engine,
        book: Ledger,
        publish: Callable[[Release], str],
        *,
        all_read: Callable[[], None] = lambda: None,
    ) -> Release:
        """Charge, measure and publish. The engine is open, and stays so; `all_read` is called when it is done with."""
        prospect = self.prospect
        self._tell("charging", 0.0)
        vault = Vault(engine, prospect.schema, book, convert_unit=self._convert_unit)
        with vault.charge(
            prospect.charge,
            purpose=purpose(prospect),
            request=request_digest(prospect, self.confidence),
            accounting=prospect.accounting,
        ) as grant:
            self._tell("reading", 0.0)
            made = self._measured(grant, all_read)
            self._tell("publishing", 0.0)
            grant.publish(publish(made))
        self._tell("publishing", 1.0)
        return made

    def _measured(self, grant: Grant, all_read: Callable[[], None]) -> Release:
        prospect = self.prospect
        schema = prospect.schema
        rows = grant.public_rows() if schema.rows_are_public else None
        requests = [request for part in prospect.parts for request in part.requests]
        verbs = WatchedGrant(grant, all_read)
        measured = iter(verbs.measure(requests) if requests else ())
        made = finished(
            prospect,
            verbs,
            lambda part: [next(measured) for _ in part.requests],
            public_rows=rows,
            confidence=self.confidence,
        )
        all_read()
        return made

    def _tell(self, step: str, done: float) -> None:
        if self._progress is not None:
            self._progress(step, done)


def request_digest(prospect: Prospect, confidence: float) -> str:
    """Identifies what is asked, of the dataset's declared name; never of a path or of rows."""
    asked = {
        "schema": prospect.schema.digest(),
        "dataset": prospect.schema.dataset,
        "workload": [
            [part.query_class.text, str(part.query_class.weight), part.algorithm]
            for part in prospect.parts
        ],
        "budget": prospect.charge.to_dict(),
        "accounting": prospect.accounting.value,
        "confidence": repr(confidence),
    }
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(b"discreet release 1\n" + text.encode()).hexdigest()


@contextmanager
def _opened(ledger: Ledger | Path | str | None) -> Iterator[Ledger]:
    """A ledger for the length of a run; one that the caller opened stays open."""
    if isinstance(ledger, Ledger):
        yield ledger
        return
    with Ledger.open(ledger) as book:
        yield book
