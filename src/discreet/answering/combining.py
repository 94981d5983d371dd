"""One answer from the estimates of all sources for a region: combined, chosen, or refused. Nothing else does this.

1. A source that counts fewer rows than are asked for answers only if no other does.
2. What is known without noise is the answer.
3. If one source already uses another's measurements, it answers for both, unless the other has less noise.
4. Unbiased numbers with independent noise are combined by the inverse of their variances.
5. Else the source with the least noise answers. What was declared to be asked goes before what cells say,
   unless those say it with less noise and without cutting a cell.
6. Where tables answer with counts that add up, and these take into account what the answer rests on, they are the estimate, and the
   interval is widened to hold them. Else a note says that sums of tables may differ.

Noise laws, shapes and the question decide which source answers, never a noisy number: choosing spoils no interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.answering.estimates import NO_GROUPS, Estimates, is_combined
from discreet.answering.readings import combined, independent
from discreet.answering.regions.region import Region
from discreet.answering.source import Found, Refusal, Source
from discreet.arrays import Integers
from discreet.artifacts.answer import Covers
from discreet.errors import DiscreetError, NotAnswerable
from discreet.families.shared.answer.library import Library
from discreet.queries.places import loaded
from discreet.queries.registry import families
from discreet.schema import Schema

APART_NOTE = (
    "This count was also measured on its own, so sums of the release's tables may differ from it by noise. "
    "With `additive`, all counts come from the tables, and add up."
)


def settled(found: Sequence[Found], region: Region, schema: Schema, confidence: float) -> Estimates:
    """The answer to a region, or the best reason why there is none."""
    offers = [each for each in found if isinstance(each, Estimates)]
    if not offers:
        raise best_reason([each for each in found if isinstance(each, Refusal)])
    offers = [each for each in offers if not each.is_of_fewer_rows] or offers
    certain = [each for each in offers if each.is_certain]
    if certain:
        return max(certain, key=lambda each: each.is_direct)
    agreed = next((each for each in offers if each.adds_up), None)
    offers = _overlaid(offers, region, schema)
    best = _combination(offers, region, confidence) or _least_noise(offers)
    return best if agreed is None or best is agreed else that_adds_up(best, agreed)


def that_adds_up(best: Estimates, agreed: Estimates) -> Estimates:
    """The interval of `best` around counts that add up, where these take the same into account; else `best`, with a note.

    The interval covers at its confidence, and a wider one at least as often: so it is made wide enough to hold the count.
    """
    if not agreed.includes_ranges or not np.array_equal(_codes(best), _codes(agreed)):
        return best.noted(APART_NOTE)
    counts = agreed.estimate
    return replace(
        best,
        estimate=counts,
        lower=np.minimum(np.maximum(best.lower, 0.0), counts),
        upper=np.maximum(best.upper, counts),
        readings=(),
        draws=None,
        adds_up=True,
    )


def _codes(found: Estimates) -> Integers:
    return NO_GROUPS if found.codes is None else found.codes


def best_reason(refusals: Sequence[Refusal]) -> DiscreetError:
    """The reason of the highest rank, the first of them."""
    told = [each for each in refusals if each.reason is not None]
    if not told:
        return NotAnswerable("The release cannot answer this: nothing in it is about these rows.")
    best = max(told, key=lambda each: each.rank).reason
    assert best is not None
    return best


def _combination(
    offers: Sequence[Estimates], region: Region, confidence: float
) -> Estimates | None:
    """All unbiased readings together; `None` where fewer than two are independent."""
    readings = [reading for each in offers for reading in each.readings]
    if not region.is_one_count or not readings:
        return None
    used = independent(readings)
    if len(used) < 2:
        return None
    chosen = {id(reading) for _, reading in used}
    notes = [
        note
        for each in offers
        if any(id(reading) in chosen for reading in each.readings)
        for note in each.notes
        if not is_combined(note)
    ]
    return Estimates.of_reading(combined(readings), confidence, *dict.fromkeys(notes))


def _least_noise(offers: Sequence[Estimates]) -> Estimates:
    direct = [each for each in offers if each.is_direct]
    others = [each for each in offers if not each.is_direct]
    if not direct or not others:
        return min(offers, key=lambda each: each.noise)
    best, other = (min(each, key=lambda one: one.noise) for each in (direct, others))
    return other if other.covers is Covers.NOISE and other.noise < best.noise else best


def _overlaid(offers: list[Estimates], region: Region, schema: Schema) -> list[Estimates]:
    """Without the sources that another one includes; of these, only groups that the other lacks."""
    for better in offers:
        if not better.includes:
            continue
        kept = [better]
        for each in offers:
            if each is better:
                continue
            if not each.parts or not each.parts <= better.includes:
                kept.append(each)
            elif region.groups:
                kept[0] = _over(each, better, region, schema)
            elif each.covers is Covers.NOISE and each.noise < better.noise:
                kept.append(each)  # of many ranges, whose noises the better source can only add up
        return kept
    return offers


def _over(whole: Estimates, better: Estimates, region: Region, schema: Schema) -> Estimates:
    """The groups of `whole`, with those of `better` in their place where it has them."""
    place, there = places_of(whole.codes, better.codes, region.groups, schema)
    if not there.any():
        return whole
    return whole.replaced(there, better.taken(place[there])).noted(*better.notes)


def places_of(
    codes: Integers | None, known: Integers | None, groups: tuple[str, ...], schema: Schema
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """For each group of `codes` its place in `known`, and whether it is there."""
    assert codes is not None and known is not None
    sizes = tuple(schema.column(name).cells for name in groups)
    wanted = np.ravel_multi_index(tuple(codes.T), sizes)
    offered = np.ravel_multi_index(tuple(known.T), sizes)
    if not len(offered):
        return np.zeros(len(wanted), dtype=np.int64), np.zeros(len(wanted), dtype=np.bool_)
    order = np.argsort(offered, kind="stable")
    place = order[np.minimum(np.searchsorted(offered[order], wanted), len(order) - 1)]
    return place, np.asarray(offered[place] == wanted)


def additive_sources(library: Library) -> list[Source]:
    """Sources whose counts add up however they are summed: see `Family.additive`."""
    return [loaded(place)(library) for family in families() for place in family.additive]


def sources_of(library: Library) -> list[Source]:
    """Arrays of counts come from the first of them that has them."""
    places = [place for family in families() for place in family.pooled]
    pooled: list[Source] = [loaded(place)(library) for place in places]
    pooled.sort(key=lambda source: not source.is_first)
    return [*pooled, *library.evidence.sources]
