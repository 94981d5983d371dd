"""Declared cells: where an expression has which value on them, and which of them a condition selects."""
