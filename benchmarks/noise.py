"""How fast exact noise is: one JSON object a line, exit code 1 if a bar is missed.

CPU time (`time.process_time`), the fastest of several repeats, so that other work on the
machine disturbs little. OpenDP's vector mechanisms are measured in the same run; they come
with `pip install 'discreet[bench]'`.

    python benchmarks/noise.py
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.samplers import (
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    laplace,
    rounded_gaussian,
    select_exponential,
)

BATCH = 1_000_000
OPENDP_BATCH = 5_000
CANDIDATES = 1_000_000
SCALES = (1, 10, 1_000, 1_000_000)
LAPLACE_LIMIT = 40.0
GAUSSIAN_LIMIT = 70.0
OPENDP_FACTOR = 150.0


def cpu_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The least CPU time that `work` took."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


class Bars:
    """Prints each bar and remembers whether all were met."""

    def __init__(self) -> None:
        self.all_met = True

    def at_most(self, bar: str, value: float, limit: float) -> None:
        """A bar for what should be small."""
        self._print(bar, value, limit, value <= limit)

    def at_least(self, bar: str, value: float, limit: float) -> None:
        """A bar for what should be large."""
        self._print(bar, value, limit, value >= limit)

    def not_measured(self, bar: str, limit: float, note: str) -> None:
        """A bar that could not be tried counts as missed."""
        self.all_met = False
        print(json.dumps({"bar": bar, "value": None, "limit": limit, "ok": False, "note": note}))

    def _print(self, bar: str, value: float, limit: float, ok: bool) -> None:
        self.all_met &= ok
        line = {"bar": bar, "value": float(f"{value:.4g}"), "limit": limit, "ok": bool(ok)}
        print(json.dumps(line), flush=True)


def opendp_mechanisms() -> dict[str, Callable[[float], Callable[[list[int]], Any]]] | None:
    """OpenDP's vector mechanisms on 64-bit integers by scale, or None where it is missing."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    return {
        "laplace": lambda scale: dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale),
        "gaussian": lambda scale: dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale),
    }


def measure_noise(bars: Bars) -> None:
    """Nanoseconds per draw, and how many times faster that is than OpenDP."""
    opendp = opendp_mechanisms()
    for kind, limit in (("laplace", LAPLACE_LIMIT), ("gaussian", GAUSSIAN_LIMIT)):
        for scale in SCALES:
            if kind == "laplace":
                draw = partial(discrete_laplace, Fraction(scale), BATCH)
            else:
                draw = partial(discrete_gaussian, Fraction(scale**2), BATCH)
            ours = cpu_seconds(draw) / BATCH
            bars.at_most(f"discrete {kind}, scale {scale}: CPU ns per draw", ours * 1e9, limit)
            bar = f"discrete {kind}, scale {scale}: times faster than OpenDP"
            if opendp is None:
                note = "opendp is not installed: pip install 'discreet[bench]'"
                bars.not_measured(bar, OPENDP_FACTOR, note)
                continue
            mechanism = opendp[kind](float(scale))
            drawn = partial(mechanism, [0] * OPENDP_BATCH)
            theirs = cpu_seconds(drawn, repeats=3) / OPENDP_BATCH
            bars.at_least(bar, theirs / ours, OPENDP_FACTOR)
    for sigma in SCALES:
        ours = cpu_seconds(partial(rounded_gaussian, Fraction(sigma**2), BATCH), repeats=3)
        bars.at_least(f"rounded gaussian, sigma {sigma}: draws per CPU second", BATCH / ours, 1e5)


def measure_single_draws(bars: Bars) -> None:
    """One draw at a time: with tables at hand, and with none."""
    for scale in SCALES:
        for kind, draw, size in (
            ("laplace", discrete_laplace, Fraction(scale)),
            ("gaussian", discrete_gaussian, Fraction(scale**2)),
        ):

            def hundred(draw: Callable[..., Any] = draw, size: Fraction = size) -> None:
                for _ in range(100):
                    draw(size, 1)

            warm = cpu_seconds(hundred) / 100
            bars.at_most(f"discrete {kind}, scale {scale}: us for one draw, warm", warm * 1e6, 100)

            def cold(draw: Callable[..., Any] = draw, size: Fraction = size) -> None:
                laplace.signed_sampler.cache_clear()
                gaussian._discrete_sampler.cache_clear()
                draw(size, 1)

            bars.at_most(
                f"discrete {kind}, scale {scale}: ms for one draw, cold", cpu_seconds(cold) * 1e3, 5
            )


def measure_selection(bars: Bars) -> None:
    """The slowest of ten choices among a million: how many proposals it takes is chance."""
    lone = np.full(CANDIDATES, -2_000)
    lone[CANDIDATES // 3] = 0
    shapes = {
        "equal scores": np.zeros(CANDIDATES, np.int64),
        "scores falling by one": -np.arange(CANDIDATES),
        "one candidate 2,000 ahead": lone,
        "one candidate 10^12 ahead": lone * 500_000_000,
    }
    for name, scores in shapes.items():
        times = []
        for _ in range(10):
            start = time.process_time()
            select_exponential(scores, unit=Fraction(1))
            times.append(time.process_time() - start)
        bars.at_most(f"selection among 10^6, {name}: CPU s, slowest of 10", max(times), 1.0)


def main() -> int:
    """0 if every bar is met."""
    bars = Bars()
    measure_noise(bars)
    measure_single_draws(bars)
    measure_selection(bars)
    return 0 if bars.all_met else 1


if __name__ == "__main__":
    sys.exit(main())
