"""Intervals by noisy binary search: Blum, Ligett and Roth 2008, section 4."""
