"""Exact samplers of secret noise: integers out, and no float decides an outcome.

| function | law |
|---|---|
| `draw` | any noise law with a sampler (`laws`) |
| `discrete_laplace`, `geometric` | two-sided and one-sided geometric, by independent digits |
| `discrete_gaussian` | rejection from discrete Laplace (Canonne, Kamath, Steinke 2020) |
| `rounded_gaussian` | a normal number rounded to the nearest integer |
| `noise_chain` | discrete Laplace at several scales, each a coarsening of the finer |
| `select_exponential` | the exponential mechanism's choice |
| `kept_by_chance` | coins whose chances are integers over a power of two |
| `bernoulli_exp`, `uniform_below` | coins of probability exp(-n unit), uniform integers |

Each takes `entropy=`, for tests and audits; without it the system's entropy is used.
No sampler accepts a seed.
"""

from __future__ import annotations

from discreet.samplers.bernoulli import bernoulli_exp
from discreet.samplers.chain import noise_chain
from discreet.samplers.gaussian import discrete_gaussian, rounded_gaussian
from discreet.samplers.keeping import kept_by_chance
from discreet.samplers.laplace import discrete_laplace, geometric
from discreet.samplers.laws import draw
from discreet.samplers.selection import select_exponential
from discreet.samplers.uniform import uniform_below

__all__ = [
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "draw",
    "geometric",
    "kept_by_chance",
    "noise_chain",
    "rounded_gaussian",
    "select_exponential",
    "uniform_below",
]
