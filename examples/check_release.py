"""A second opinion on what a release costs, with Python's standard library alone.

    python examples/check_release.py people.release

Nothing of discreet is imported. The file is read as docs/file-format.md describes it, and the privacy loss is added
up again from the noise that each number got. It prints what it finds, and ends with 1 if the file claims a smaller
loss than its noise gives. What it takes as recorded, it lists. `discreet verify` checks more: estimates, error claims, words and the signature.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tomllib
import zipfile
from collections import Counter
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist
from typing import Any, NamedTuple

CODES = {"|b1": "?", "|i1": "b", "<i2": "h", "<i4": "i", "<i8": "q"}
CODES |= {"|u1": "B", "<u2": "H", "<u4": "I", "<u8": "Q", "<f8": "d"}
"""Types of arrays, and what Python's memoryview calls them."""
HEADER = re.compile(
    r"\{'descr': '([^']+)', 'fortran_order': False, 'shape': \(([0-9]*,?|[0-9]+(?:, [0-9]+)+)\), \} *\n"
)
"""How an array begins. Of a header that says a thing twice, another reader may believe the other one."""
NEARLY = 1e-9
"""Floating point in here is that exact, relatively; sums of losses are exact."""
WIDE, ROUGHLY = 2000, 1e-3
"""From such a standard deviation on, discrete noise is taken for continuous noise, which is so near to it."""

IN_ONE_CELL = {"marginal", "binned-table", "complete-table", "block-counts", "grid-counts"}
IN_ONE_CELL |= {"cut-counts", "group-buckets", "group-counts"}
"""Counts of cells, of which a row lies in at most one."""
HEAVIEST = 1 << 10
"""The largest weight of a row in the root of a tree."""
ONE_COUNT = {"range-count", "present-count", "cell-count"}
COUNTS_APART = {"inequality-counts"}
"""Counts of which each may hold the same row."""
ONE_NUMBER = {"parity", "model-distance"}
"""One number that each row moves by at most 1 when it comes or goes: a sum of signs, a distance of tables."""
MATRICES = {"cell-strategy", "group-strategy", "strategy-counts"}
"""Weighted counts of cells, of which a row lies in at most one; the weights are in the file."""
NO_RULE = {"residual", "group-sums", "group-ends", "key-counts", "strategy-counts"}
"""Queries whose sensitivities this check takes as they are recorded."""


class Release:
    """A release file: its manifest, its schema and its arrays."""

    def __init__(self, path: str) -> None:
        with zipfile.ZipFile(path) as archive:
            if len(set(archive.namelist())) < len(archive.namelist()):
                raise ValueError("a member stands in it twice.")
            self._members = {name: archive.read(name) for name in archive.namelist()}
        self.manifest = json.loads(
            self._members["manifest.json"], object_pairs_hook=distinct, parse_constant=no_number
        )
        schema = tomllib.loads(self.manifest["schema"])
        adjacency = schema.get("adjacency", "add-remove")
        if adjacency not in ("add-remove", "change-one"):
            raise ValueError("its adjacency is none that this check knows.")
        self.is_change_one = adjacency == "change-one"
        self.columns = schema["columns"]
        self.max_rows = schema.get("unit", {}).get("max_rows", 1)
        """Rows of one person, or whatever else is protected."""
        if type(self.max_rows) is not int or self.max_rows < 1:
            raise ValueError("it does not say how many rows a person has.")
        self.measurements = [each for part in self.manifest["parts"] for each in part["measurements"]]  # fmt: skip

    def array(self, number: int) -> tuple[tuple[int, ...], list[Any]]:
        """The shape and the numbers of an array, row by row."""
        data = self._members[f"arrays/{number}.npy"]
        length = int.from_bytes(data[8:10], "little")
        header = HEADER.fullmatch(data[10 : 10 + length].decode("ascii"))
        if data[:8] != b"\x93NUMPY\x01\x00" or header is None:
            raise ValueError("an array in it does not begin as NumPy's first version of them does.")
        sizes = tuple(int(size) for size in header[2].split(",") if size.strip())
        code: Any = CODES[header[1]]
        numbers = memoryview(data)[10 + length :].cast(code).tolist()
        if len(numbers) != math.prod(sizes):
            raise ValueError("an array in it has not as many numbers as it says.")
        return sizes, numbers


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the manifest. Of two entries of one name, another reader may believe the other one."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands in it twice.")
    return dict(pairs)


def no_number(text: str) -> None:
    """Refuses NaN, which is neither above nor below any limit, and infinities."""
    raise ValueError(f"{text} stands in it for a number.")


def whole(number: Any, least: int) -> int:
    """A whole number of the file. A fraction, or a truth, would be compared as if it were one."""
    if type(number) is not int or number < least:
        raise ValueError(f"a number in it is not a whole one of at least {least}.")
    return number


def exact(text: str) -> Fraction:
    """A number of the file. Others, such as 1e999999999, would take for ever to write out."""
    if not re.fullmatch(r"-?[0-9]{1,1000}(/[1-9][0-9]{0,999})?", text, re.ASCII):
        raise ValueError("a number in it is not an exact fraction.")
    return Fraction(text)


class Loss(NamedTuple):
    """What one measurement costs, in each notion of privacy loss; `None` where the notion has no bound for it."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    mu_squared: float | None = None


def within(epsilon: Fraction, spread: Fraction) -> Loss:
    """The loss of a mechanism whose log-likelihood ratios stay within `epsilon`, and in an interval of length `spread`."""
    if not spread:
        return Loss(epsilon, rho=Fraction(0), mu_squared=0.0)
    # By the small tail, which doubles hold to full precision; far out, by a simple bound of that tail.
    far = spread > 200
    mu = 0.0 if far else -2 * NormalDist().inv_cdf(1 / (1 + math.exp(float(spread) / 2)))
    return Loss(epsilon, rho=spread**2 / 8, mu_squared=float(4 * spread) if far else mu**2)


def loss_of_noise(measured: dict[str, Any], l1: int, l2_squared: int) -> Loss:
    """What it costs to publish numbers of these sensitivities, each with independent noise."""
    law = measured["law"]
    if law["kind"] == "discrete-laplace":
        epsilon = l1 / exact(law["scale"])
        return within(epsilon, 2 * epsilon)
    if law["kind"] not in ("discrete-gaussian", "rounded-gaussian"):
        raise ValueError("its noise has a law that this check does not know.")
    variance = exact(law["sigma_squared"])
    mu_squared, rounded = l2_squared / variance, law["kind"] == "rounded-gaussian"
    stated = measured["cost"]
    if stated["rho"] is None:  # made for one epsilon and delta
        epsilon, claimed = exact(stated["epsilon"]), exact(stated["delta"])
        delta, nearly = delta_of_mu(float(mu_squared), float(epsilon)), NEARLY
        if not rounded:
            delta, nearly = delta_of_one_count(float(variance), l1, float(epsilon)), ROUGHLY
        return Loss(epsilon, Fraction(delta) if delta > float(claimed) * (1 + nearly) else claimed)
    return Loss(rho=mu_squared / 2, mu_squared=float(mu_squared) if rounded else None)


def delta_of_mu(mu_squared: float, epsilon: float) -> float:
    """The delta of Gaussian noise at an epsilon (Balle and Wang 2018)."""
    mu = math.sqrt(mu_squared)
    if not mu:
        return 0.0
    near, far = ((epsilon / mu + sign * mu / 2) / math.sqrt(2) for sign in (-1, 1))
    return (math.erfc(near) - math.exp(min(epsilon, 700)) * math.erfc(far)) / 2


def delta_of_one_count(variance: float, moved: int, epsilon: float) -> float:
    """The delta of discrete Gaussian noise on one number that moves so far (Canonne, Kamath, Steinke 2020)."""
    sigma = math.sqrt(variance)
    if sigma > WIDE:
        return delta_of_mu(moved**2 / variance, epsilon)
    reach = math.ceil(40 * sigma) + 1
    whole = math.fsum(math.exp(-x * x / (2 * variance)) for x in range(-reach, reach + 1))
    last = (
        math.ceil(moved / 2 - epsilon * variance / moved) - 1
    )  # up to there a number tells more than epsilon
    return math.fsum(
        math.exp(-x * x / (2 * variance)) / whole
        * -math.expm1(epsilon - moved * (moved - 2 * x) / (2 * variance))
        for x in range(-reach, min(last, reach) + 1)
    )  # fmt: skip


def delta_of_rho(rho: float, epsilon: float) -> float:
    """The delta of rho-zCDP at an epsilon: the least over all orders (Canonne, Kamath, Steinke 2020)."""
    if not rho:
        return 0.0

    def delta(order: float) -> float:
        power = (order - 1) * (order * rho - epsilon) + order * math.log1p(-1 / order)
        return math.exp(min(power, 700)) / (order - 1)

    return min(1.0, *(delta(1 + math.exp(step / 200)) for step in range(-2000, 3000)))


def sensitivities(release: Release, measured: dict[str, Any]) -> tuple[int, int] | None:
    """How far one person moves the numbers, in L1 and in squared L2; `None` where this check has no rule."""
    query, rows = measured["query"], release.max_rows
    kind, moved = query["kind"], release.is_change_one
    if kind in ONE_COUNT:
        return rows, rows**2
    if kind in ONE_NUMBER:
        reach = 2 * rows if moved else rows
        return reach, reach**2
    if kind in IN_ONE_CELL:
        return (2 * rows, 2 * rows**2) if moved else (rows, rows**2)
    if kind in COUNTS_APART:
        many = release.array(measured["values"])[0][0]
        return many * rows, many * rows**2
    weights = query.get("matrix")  # none: counts of conditions, of which a row may fulfil several
    if kind in MATRICES and weights is not None:
        if any(type(each) is not int for row in weights for each in row):
            raise ValueError("a weight in a strategy is not a whole number.")
        cells = list(zip(*weights, strict=True))
        none = (0,) * len(weights)  # where the schema leaves a row out
        moves = list(combinations([none, *cells], 2) if moved else ((none, each) for each in cells))
        if moved and kind == "group-strategy":  # from one group to another: no cell is the same
            moves += [((*none, *one), (*other, *none)) for one in cells for other in cells]
        steps = [[b - a for a, b in zip(*move, strict=True)] for move in moves]
        first = max((sum(map(abs, step)) for step in steps), default=0)
        second = max((sum(each * each for each in step) for step in steps), default=0)
        return first * rows, second * rows**2
    if kind == "clamped-sum":
        column, grid = release.columns[query["column"]], whole(query["grid"], 1)
        (bounds,) = (column[name] for name in ("bounds", "range") if name in column)
        ends = [(Fraction(str(end)) - exact(query["center"])) * grid for end in bounds]
        if len(ends) != 2 or ends[0] > ends[1]:
            raise ValueError("a column in it has bounds that are none.")
        low, high = min(0, math.floor(ends[0])), max(0, math.ceil(ends[1]))
        reach = rows * max(1, high - low if moved else max(-low, high))
        return reach, reach**2
    if kind == "residual" and not moved and len(query["columns"]) < 2:
        # Counts of d cells, times d, less the number of rows; of no column, the number of rows.
        many = release.array(measured["values"])[0][0]
        first, second = (2 * (many - 1), many * (many - 1)) if query["columns"] else (1, 1)
        return first * rows, second * rows**2
    return None


def going_on_among(
    array: tuple[tuple[int, ...], list[int]], is_stopped: list[bool], depth: list[int], by: list[int],
    above: set[tuple[int, ...]],
) -> set[tuple[int, ...]]:  # fmt: skip
    """The listed nodes of a level at which a tree goes on; each must lie below one of those `above`."""
    (many, width), flat = array
    nodes = list(zip(*(flat[axis::width] for axis in range(width)), strict=True))
    if len(set(nodes)) != many:
        raise ValueError("a tree counts a node twice.")
    if any(place >> deep for node in nodes for place, deep in zip(node, depth, strict=True)):
        raise ValueError("a tree counts a node that its level does not have.")
    parents = {tuple(place >> up for place, up in zip(node, by, strict=True)) for node in nodes}
    if not parents <= above:
        raise ValueError("a tree goes on below a node where it was stopped.")
    return {node for node, ends in zip(nodes, is_stopped, strict=True) if not ends}


def check_numbers(release: Release, measured: dict[str, Any]) -> None:
    """Refuses a query that this check does not know, and more numbers than a query has: further draws of its noise."""
    query = measured["query"]
    kind, many = query["kind"], len(release.array(measured["values"])[1])
    known = IN_ONE_CELL | ONE_COUNT | COUNTS_APART | ONE_NUMBER | MATRICES | NO_RULE
    if kind not in known | {"clamped-sum"}:
        raise ValueError("asks a query that this check does not know.")
    is_total = kind == "residual" and not query.get("columns", "?")  # the number of rows
    one = is_total or kind in ONE_COUNT | ONE_NUMBER | {"clamped-sum"}
    matrix = query.get("matrix")
    if kind in MATRICES and matrix is not None and not (matrix and all(matrix)):
        raise ValueError("has a strategy without weights.")
    rows = 1 if one else len(matrix or ()) if kind in MATRICES else 0
    if rows and (many % rows if kind == "group-strategy" else many != rows):
        raise ValueError(f"has {many:,} numbers, and its query has {rows:,}.")


def loss_of_tree(release: Release, measured: dict[str, Any]) -> Loss:
    """A row lies in one node of each level: along its path the losses add up.

    Where a node is stopped, all that its path has left was spent on it, so nothing below it may be counted. The number
    that was shown first is the kept one with more noise. So it is never finer, and the same where its noise is.
    """
    depths = measured["tree"]["depths"]
    left = path = exact(measured["path_epsilon"])
    if (weights := measured.get("weights")) is not None:
        # The root counts each row by a weight, and a path of a lesser weight pays less for it. What that leaves is
        # spent below, in the same proportions: so the epsilons of the file are those of the heaviest path.
        root = measured["levels"][0]
        fits = root["level"] == 0 and [len(weights)] == [2**depth for depth in depths[1]]
        heaviest = max(whole(weight, 0) for weight in weights)
        is_root = not any(release.array(root["stopped"])[1]) and 0 < heaviest <= HEAVIEST
        if not fits or not is_root or not 0 < exact(root["refined_epsilon"]) < left:
            raise ValueError("a tree has weights that do not fit its root.")
    above, going_on, listed = [0] * len(depths[0]), 1, {(0,) * len(depths[0])}
    # Up to version 2 of the format nodes are listed. Since then they are the children of those that go on.
    (is_listed,) = {"nodes" in level for level in measured["levels"]}
    for level in measured["levels"]:
        names = ("stopped_epsilon", "refined_epsilon", "first_epsilon")
        stopped, refined, first = (exact(level[name]) for name in names)
        is_stopped = release.array(level["stopped"])[1]
        if stopped > left or refined > stopped:
            raise ValueError("a tree spends more on a path than the path has.")
        if refined < 0 or not 0 < first <= (stopped if all(is_stopped) else refined):
            raise ValueError(
                "a tree shows a number first that is finer than the one that it keeps."
            )
        shown, kept = (release.array(level[name])[1] for name in ("first", "values"))
        if any(
            (stopped if ends else refined) == first and one != other
            for ends, one, other in zip(is_stopped, shown, kept, strict=True)
        ):
            raise ValueError("a tree has two numbers of a node whose noise was drawn once.")
        depth = depths[whole(level["level"], 0)]
        by = [low - high for low, high in zip(depth, above, strict=True)]
        if min(by) < 0 or len(is_stopped) > going_on << sum(by):
            raise ValueError(
                "a tree counts more nodes than there are below those where it was not stopped."
            )
        if is_listed:
            listed = going_on_among(release.array(level["nodes"]), is_stopped, depth, by, listed)
        above, going_on = depth, sum(not ends for ends in is_stopped)
        left -= refined
    epsilon = path * release.max_rows * (2 if release.is_change_one else 1)
    return within(epsilon, 2 * epsilon)


def check(path: str) -> tuple[list[str], list[str]]:
    """What was found, in words; and what is wrong."""
    release = Release(path)
    losses: list[Loss] = []
    wrong: list[str] = []
    recorded: Counter[str] = Counter()
    for place, measured in enumerate(release.measurements):
        try:
            loss = _loss(release, measured, recorded)
        except ValueError as error:
            wrong.append(f"Measurement {place}: {error}")
            continue
        losses.append(loss)
        stated = measured.get("cost") or measured["paid"]
        for name in ("epsilon", "delta", "rho"):
            found = getattr(loss, name)
            if found is not None and found < 0:  # it would make up for the others
                wrong.append(f"Measurement {place} has a negative {name}.")
            if stated[name] is not None and found is not None and found > exact(stated[name]):
                wrong.append(f"Measurement {place} states {name} {stated[name]}, and has {found}.")
    manifest = release.manifest
    numbers = sum(
        len(release.array(each)[1])
        for measured in release.measurements
        for each in _arrays(measured)
    )
    found = [
        f"{manifest['dataset']}: {len(release.measurements):,} measurements, {numbers:,} noisy numbers; rows of one "
        f"person: {release.max_rows:,}; {'change-one' if release.is_change_one else 'add-remove'} adjacency.",
        _total(manifest, losses, wrong),
    ]
    if recorded:
        listed = ", ".join(f"{kind} ({many})" for kind, many in sorted(recorded.items()))
        found.append(f"Taken as recorded, without a rule of this check: {listed}.")
    return found, wrong


def _loss(release: Release, measured: dict[str, Any], recorded: Counter[str]) -> Loss:
    match measured["type"]:
        case "tree":
            return loss_of_tree(release, measured)
        case (
            "selection"
        ):  # by the exponential mechanism: its losses spread over an interval of epsilon
            recorded["selection"] += 1
            epsilon = exact(measured["cost"]["epsilon"])
            return within(epsilon, epsilon)
        case "naming":  # of keys that enough people hold
            recorded["naming"] += 1
            return Loss(exact(measured["paid"]["epsilon"]), exact(measured["paid"]["delta"]))
    check_numbers(release, measured)
    stated = whole(measured["l1"], 1), whole(measured["l2_squared"], 1)
    found = sensitivities(release, measured)
    kind = measured["query"]["kind"]
    if kind in IN_ONE_CELL | {"group-strategy"}:  # several draws of each cell would not be seen
        recorded[f"how many cells there are in {kind}"] += 1
    if found is None:
        recorded[kind] += 1
    elif found[0] > stated[0] or found[1] > stated[1]:
        raise ValueError(
            f"states sensitivities of {stated[0]:,} and {stated[1]:,} (squared), and has {found[0]:,} and {found[1]:,}."
        )
    return loss_of_noise(measured, *stated)


def _arrays(measured: dict[str, Any]) -> list[int]:
    levels = measured.get("levels", [])
    return [level["values"] for level in levels] or (
        [measured["values"]] if "values" in measured else []
    )


def _total(manifest: dict[str, Any], losses: list[Loss], wrong: list[str]) -> str:
    """All losses together, under the file's way to add them up, against what it promises."""
    budget = {name: exact(amount) for name, amount in manifest["budget"].items()}
    accounting, delta = manifest["accounting"], budget["delta"]
    try:
        if len(budget) != 2:
            raise ValueError("The file promises several things, and may be read as any of them.")
        if accounting == "basic":
            epsilon = sum((_known(each.epsilon) for each in losses), Fraction(0))
            spent = sum((each.delta for each in losses), Fraction(0))
            _compare(wrong, "an epsilon", epsilon, budget["epsilon"])
            _compare(wrong, "a delta", spent, delta)
            return f"In all epsilon {float(epsilon):.6g} and delta {float(spent):.3g}, by basic composition."
        if accounting == "concentrated":
            rho = sum((_known(each.rho) for each in losses), Fraction(0))
            if "epsilon" in budget:
                found = delta_of_rho(float(rho), float(budget["epsilon"]))
                _compare(wrong, "a delta", found, delta)
            else:
                _compare(wrong, "a rho", rho, budget["rho"])
            return f"In all rho {float(rho):.6g}, by zero-concentrated composition."
        squares = math.fsum(_known(each.mu_squared) for each in losses)
        if "epsilon" in budget:
            found = delta_of_mu(squares, float(budget["epsilon"]))
            _compare(wrong, "a delta", found, delta)
        else:
            _compare(wrong, "a squared mu", squares, budget["mu_squared"])
        return f"In all mu {math.sqrt(squares):.6g}, by Gaussian composition."
    except ValueError as error:
        wrong.append(str(error))
        return "The losses cannot be added up."


def _known(loss: Any) -> Any:
    if loss is None:
        raise ValueError("A measurement has no loss in the notion that the file adds up.")
    return loss


def _compare(wrong: list[str], what: str, found: Fraction | float, promised: Fraction) -> None:
    exact = isinstance(found, Fraction)
    if found > promised if exact else found > float(promised) * (1 + NEARLY):
        wrong.append(f"The noise gives {what} of {float(found):.6g}, and the file promises {float(promised):.6g}.")  # fmt: skip


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("Give one release file: python examples/check_release.py people.release", file=sys.stderr)  # fmt: skip
        return 2
    try:
        found, wrong = check(arguments[0])
    except (
        OSError,
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        zipfile.BadZipFile,
    ) as error:
        print(f"{arguments[0]} cannot be read as a release: {error}", file=sys.stderr)
        return 2
    print("\n".join([*found, *wrong]))
    print("Not what it promises." if wrong else "As promised, by this check.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
