"""The theory that the product stands on, as functions that can be run.

Definitions, bounds, lower bounds and separations, each named after its theorem. Nothing here reads rows,
spends a budget or draws secret randomness: inputs are public facts, invented tables, or numbers that the
caller made up. `docs/theorems.md` lists every statement with its file and its test.
"""
