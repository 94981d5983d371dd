"""Algorithms that release halfspaces."""
