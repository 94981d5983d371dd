"""Recomputation of what a release cost, and its signature."""
