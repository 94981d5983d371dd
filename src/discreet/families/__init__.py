"""Families of query classes: each folder holds all that is special to one of them.

`queries` is what a family measures, `release` how it is measured, `estimate` what is computed from the
noisy numbers. `family.py` registers it.
"""
