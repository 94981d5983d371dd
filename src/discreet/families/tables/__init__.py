"""Contingency tables: marginals, conjunctions, histograms, parities."""
