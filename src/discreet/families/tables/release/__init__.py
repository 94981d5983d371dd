"""Algorithms that release contingency tables."""
