"""Means, sums, ranges and quantiles for each group of rows."""
