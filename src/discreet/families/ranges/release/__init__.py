"""Algorithms that release ranges."""
