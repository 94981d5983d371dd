"""Forged releases: every place of a release file is altered in turn, and `verify` must refuse it.

A release of each class by each registered algorithm is made of an invented table, and one of two
classes, also signed. Each altered file must be refused, unless no promise rests on the place: those are listed
in `EXCUSED`, with the reason. What was altered in a part or a claim is also tried with a statement that
was written anew to fit it. Then all is tried again in the name of another version of discreet, which this
one cannot compute again: the cost must still not be forgeable. And all is tried on fitted models without
`--thorough`, where the fit is not computed again: what is accepted then must be said to be unchecked.

A forger who alters everything together, so that it fits, makes another statement that is true of the
same numbers, or lies about what no file can show: see docs/trust.md.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import product
from pathlib import Path

from discreet.answering.verification.signing import new_signing_key, sign_release
from discreet.answering.verification.verify import opened
from discreet.artifacts.files import (
    MANIFEST,
    SIGNATURE,
    read_members,
    release_from_members,
    release_members,
    write_release,
)
from discreet.audits.guessing.tables import GeneratedTable
from discreet.errors import BadInput, BadRelease
from discreet.families.shared.estimate.public_random import generator
from discreet.ledger import Ledger
from discreet.privacy.budget import Budget
from discreet.queries.classes import parse_class
from discreet.queries.registry import families
from discreet.releases.run import release
from discreet.releases.verifying import verify
from discreet.schema import Schema
from tests.harness.material.alterations import Alteration, Members, alterations
from tests.harness.material.tables import Job, all_algorithms, possible, random_table, written
from tests.harness.progress import Progress
from tests.harness.suite import BUDGETS, OPEN_SCHEMAS, RANDOM_SCHEMAS, SCHEMAS

ROWS = 60
TWO_CLASSES = ("marginals(2)", "means(age) * 3")
MOST_OF_ONE_PLACE = 15
"""Alterations of one place in a quick run: the text of a schema can be altered in hundreds of ways."""
QUICKLY_DISGUISED = ("by mwem", "intervals(age) by two-stage-tree")
"""Releases that a quick run alters in the name of another version too: selections, trees, noise."""
OTHER_VERSION = "discreet 0.0.0"

EXCUSED: Mapping[str, str] = {
    "parts/*/measurements/*/values[]": "a noisy number from which nothing else in the file was computed",
    "parts/*/measurements/*/levels/*/first[]": "a noisy number that only decided where a tree stops, if it still stops there",
    "parts/*/measurements/*/levels/*/values[]": "a noisy number of a tree that only decided where another stops",
    "parts/*/weight": "in a release for one class, its weight has no effect",
    "claims/*/confidence": "its bound was recomputed for the stated confidence, and was the same",
    "version down by one": "a file without a tree is the same in versions 2 and 3 of the format",
    "privacy/data/schema_sha256 removed": "files of older versions do not have it",
    "signature.json member removed": "the file is then not signed, and verify says so; `--key` demands a signature",
}
"""Places on which no promise rests, and why."""

ONLY_COMPUTED_AGAIN: Mapping[str, str] = {
    "claims*": "error claims",
    "parts two elements swapped, statement to fit": "the order of the classes",
    "parts/*/estimates*": "estimates",
    "parts/*/facts*": "facts",
    "parts/*/kind": "how answers are computed",
    "parts/*/algorithm": "which algorithm it was",
    "parts/*/class": "what the numbers are for",
    "parts/*/measurements": "how many measurements there are, as long as they fit the budget",
    "parts/*/measurements/*/query*": "what was measured, as long as its sensitivity is as recorded",
    "parts/*/measurements/*/tree/columns": "which axis of a tree is which column: its sensitivity is the same",
    "parts/*/measurements/*/chosen": "which candidate was chosen",
    "parts/*/measurements/*/columns*": "the columns whose keys were named",
    "parts/*/measurements/*/paid*": "the cost of names, as long as the total fits the budget",
    "parts/*/measurements/*/keys*": "which keys were named, as long as they are in their order",
    "parts/*/measurements/*/levels/*": "where a tree stopped, and how a path's epsilon is spread over it",
    "privacy/words*": "the words of the statement, which another version may have chosen differently",
}
"""What `verify` does not check in a file of another version, besides `EXCUSED`, and says so."""


NOT_FITTED_AGAIN: Mapping[str, str] = {
    "claims*": "error claims",
    "parts/*/estimates*": "the model",
    "parts/*/facts*": "facts about the fit",
    "parts/*/measurements": "the order of the measurements",
    "parts/*/measurements/*/query*": "what was measured, as long as its sensitivity is as recorded",
}
"""What `verify` does not check in a fitted model without `--thorough`, besides `EXCUSED`, and says so."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A release of some classes by some algorithms, as the members of its file."""

    title: str
    members: Members


@dataclass(slots=True)
class Forgeries:
    """The results for the altered files of one release."""

    title: str
    tried: int = 0
    refused: int = 0
    excused: dict[str, int] = field(default_factory=dict)
    """Accepted at places on which no promise rests."""
    accepted: list[str] = field(default_factory=list)
    """Accepted elsewhere: each one is a hole."""

    @property
    def failed(self) -> bool:
        return bool(self.accepted) or not self.tried

    @property
    def verdict(self) -> str:
        if self.accepted:
            return f"ACCEPTED: {'; '.join(self.accepted[:5])}"
        excused = sum(self.excused.values())
        return f"{self.refused:,} of {self.tried:,} refused, {excused} where no promise rests"


def subjects() -> Iterator[Subject]:
    """A release of each class by each registered algorithm; and of two classes, unsigned and signed."""
    yield _two_classes(signed=False)
    yield _two_classes(signed=True)
    wanted = registered()
    for place, schema in enumerate(_schemas()):
        if not wanted:
            return
        turn = place % len(BUDGETS)
        for query_class, algorithm in possible(schema):
            key = (query_class.name, algorithm)
            if key not in wanted:
                continue
            for budget in BUDGETS[turn:] + BUDGETS[:turn]:
                job = Job((query_class,), {query_class.text: algorithm}, budget)
                members = _published(schema, job)
                if members is not None:
                    wanted.discard(key)
                    yield Subject(f"{query_class.text} by {algorithm}", members)
                    break


def registered() -> set[tuple[str, str]]:
    """Every class with every algorithm that is registered for it."""
    return {(name, each.name) for name, options in all_algorithms().items() for each in options}


def _schemas() -> Iterator[Schema]:
    yield from SCHEMAS
    yield from OPEN_SCHEMAS
    public = generator(0)
    for _ in range(RANDOM_SCHEMAS):
        yield random_table(public).schema


def _two_classes(*, signed: bool) -> Subject:
    classes = tuple(parse_class(text) for text in TWO_CLASSES)
    members = _published(SCHEMAS[1], Job(classes, {}, Budget(epsilon=1)), signed=signed)
    assert members is not None
    return Subject(" and ".join(TWO_CLASSES) + (", signed" if signed else ""), members)


def _published(schema: Schema, job: Job, *, signed: bool = False) -> Members | None:
    """The file of a release of an invented table; `None` where the class does not go with the budget."""
    with tempfile.TemporaryDirectory(prefix="discreet-forgery-") as folder:
        path, published = written(_table(schema), Path(folder)), Path(folder) / "a.release"
        with Ledger.open(Path(folder) / "ledger.db") as ledger:
            try:
                made = release(
                    path,
                    schema,
                    budget=job.budget,
                    workload=job.classes,
                    algorithms=job.algorithms,
                    ledger=ledger,
                ).release
            except BadInput:  # refused before anything was charged
                return None
        write_release(made, published)
        if signed:
            sign_release(published, new_signing_key()[0])
        return read_members(published)


def _table(schema: Schema) -> GeneratedTable:
    """Some rows with values here and there in their domains."""
    identifier = schema.unit.identifier
    header = (() if identifier is None else (identifier,)) + schema.names
    rows = tuple(
        tuple(f"p{row % 20}" if name == identifier else str(row * 7 % 13) for name in header)
        for row in range(ROWS)
    )
    return GeneratedTable(schema=schema, header=header, rows=rows)


def forge(
    subject: Subject,
    chosen: Iterable[Alteration] | None = None,
    *,
    progress: Progress | None = None,
) -> Forgeries:
    """Try alterations, all of them unless some are chosen, on one release, which must itself verify."""
    verify(opened(subject.members), thorough=True).raise_if_bad()
    tried = _with_restated(subject.members) if chosen is None else chosen
    return _forged(subject.title, tried, EXCUSED, progress=progress)


def forge_another_version(
    subject: Subject,
    chosen: Iterable[Alteration] | None = None,
    *,
    progress: Progress | None = None,
) -> Forgeries:
    """The same in the name of another version, whose estimates nobody here can compute again."""
    disguised = as_by_another_version(subject.members)
    verify(opened(disguised), thorough=True).raise_if_bad()
    tried = _with_restated(disguised) if chosen is None else chosen
    title = f"{subject.title}, by another version"
    return _forged(title, tried, {**EXCUSED, **ONLY_COMPUTED_AGAIN}, progress=progress)


def forge_unfitted(
    subject: Subject,
    chosen: Iterable[Alteration] | None = None,
    *,
    progress: Progress | None = None,
) -> Forgeries:
    """Forge what is checked without `--thorough`: a fitted model, or another part that claims to be one.

    A part that calls itself a model must not be passed over.
    """
    title = f"{subject.title}, not fitted again"
    if not verify(opened(subject.members)).unchecked:
        return _forged(title, _called_models(subject.members), (), thorough=False)
    tried = _with_restated(subject.members) if chosen is None else chosen
    excuses = {**EXCUSED, **NOT_FITTED_AGAIN}
    return _forged(title, tried, excuses, thorough=False, progress=progress)


def _called_models(members: Members) -> Iterator[Alteration]:
    """Each part that is no model says that it is one, as it stands, and with claims of half the error."""
    made = release_from_members(members)
    claims = tuple(replace(claim, bound=claim.bound / 2) for claim in made.claims)
    kinds = sorted({kind for family in families() for kind in family.fitted})
    for (place, part), kind in product(enumerate(made.parts), kinds):
        parts = list(made.parts)
        parts[place] = replace(part, kind=kind)
        for what, said in (("a model", made.claims), ("a model, half the error claimed", claims)):
            anew = release_members(replace(made, parts=tuple(parts), claims=said))
            yield Alteration(f"parts/{place}/kind", what, partial(dict, anew))


def _with_restated(
    members: Members, chosen: Iterable[Alteration] | None = None
) -> Iterator[Alteration]:
    """Each alteration, and, of parts and claims, each with the privacy statement that fits it."""
    honest = release_members(release_from_members(members))
    for each in alterations(members) if chosen is None else chosen:
        yield each
        if not each.place.startswith(("parts", "claims")):
            continue
        try:
            anew = release_members(release_from_members(each.members))
        except BadRelease:
            continue  # no reader takes it
        if anew != honest:  # a fraction that was only spelled otherwise is the same fraction
            yield Alteration(each.place, f"{each.what}, statement to fit", partial(dict, anew))


def _forged(
    title: str,
    tried: Iterable[Alteration],
    excuses: Iterable[str],
    *,
    thorough: bool = True,
    progress: Progress | None = None,
) -> Forgeries:
    found = Forgeries(title)
    for each in tried:
        found.tried += 1
        if progress is not None:
            progress.advance(0, last=f"{title}, {found.tried:,} altered files")
        if is_refused(each.members, thorough=thorough):
            found.refused += 1
            continue
        excuse = next((name for name in excuses if _excuses(name, each)), None)
        silent = not thorough and not verify(opened(each.members)).unchecked
        if excuse is None or silent:
            found.accepted.append(f"{each.place}: {each.what}")
        else:
            found.excused[excuse] = found.excused.get(excuse, 0) + 1
    if progress is not None:
        progress.advance(1, last=title)
    return found


def _excuses(name: str, each: Alteration) -> bool:
    """Whether an excuse is about this place, or about this place altered in this way."""
    pattern = name.replace("[]", "[[]]")  # in `fnmatch` brackets hold a set of letters
    kind = each.kind_of_place
    return fnmatchcase(kind, pattern) or f"{kind} {each.what}" == name


def as_by_another_version(members: Members) -> Members:
    """The file as another version would have written it, unsigned."""
    manifest = json.loads(members[MANIFEST])
    manifest["software"] = manifest["privacy"]["data"]["software"] = OTHER_VERSION
    unsigned = {name: data for name, data in members.items() if name != SIGNATURE}
    return {**unsigned, MANIFEST: json.dumps(manifest, ensure_ascii=False).encode()}


def is_refused(members: Members, *, thorough: bool = True) -> bool:
    """Whether a reader who verifies a file is told that something is wrong with it."""
    try:
        return not verify(opened(members), thorough=thorough).ok
    except BadRelease:
        return True
    except Exception:  # a traceback: whoever reads the file is told nothing
        return False


def a_few_of_each(
    members: Members, turn: int, *, seen: set[str], few: int = 1
) -> Iterator[Alteration]:
    """A few alterations of each kind of place, others each `turn`.

    Places outside the parts and claims are alike in all releases: those in `seen` are left out.
    """
    kinds: dict[str, list[Alteration]] = {}
    for each in alterations(members):
        kinds.setdefault(each.kind_of_place, []).append(each)
    for kind, options in kinds.items():
        if kind.startswith(("parts", "claims")):
            yield from (options[(turn + more) % len(options)] for more in range(few))
        elif kind not in seen:
            seen.add(kind)
            yield from options[:: 1 + len(options) // MOST_OF_ONE_PLACE]


def forged_releases(*, quick: bool = False) -> Iterator[Forgeries]:
    """Every subject, with its own version, in the name of another, and not fitted again.

    `quick` tries a few of each kind.
    """
    seen: set[str] = set()
    everything = list(subjects())
    progress = Progress("releases forged", 3 * len(everything))
    for turn, subject in enumerate(everything):
        if not quick:
            yield forge(subject, progress=progress)
            yield forge_another_version(subject, progress=progress)
            yield forge_unfitted(subject, progress=progress)
            continue
        yield forge(subject, a_few_of_each(subject.members, turn, seen=seen))
        yield forge_unfitted(subject, a_few_of_each(subject.members, turn + 1, seen=seen))
        if subject.title.endswith(QUICKLY_DISGUISED):
            disguised = as_by_another_version(subject.members)
            chosen = a_few_of_each(disguised, turn, seen=seen, few=4)
            yield forge_another_version(subject, _with_restated(disguised, chosen))
