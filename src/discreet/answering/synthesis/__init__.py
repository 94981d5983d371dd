"""Synthetic rows, drawn from what was published."""
