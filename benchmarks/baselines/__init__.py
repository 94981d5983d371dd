"""Published mechanisms for range counts, to compare with. Float noise and a public number of rows: not for use.

Each takes a histogram, an epsilon and a seeded generator, and returns an estimated histogram.
"""
