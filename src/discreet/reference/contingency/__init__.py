"""Contingency tables by noise on every cell of the whole table: Barak et al. 2007."""
