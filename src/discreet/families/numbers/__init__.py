"""Means and sums of a column."""
