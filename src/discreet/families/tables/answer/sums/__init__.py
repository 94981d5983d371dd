"""Sums, averages, spreads and correlations from tables."""
