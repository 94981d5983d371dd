"""Algorithms that release numbers and ranges by group."""
