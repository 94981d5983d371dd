"""Planted bugs, by the chapter of the list in docs/trust.md that they belong to."""
