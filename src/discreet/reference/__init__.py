"""The paper's and the textbooks' own mechanisms, with their theorems' parameters.

They are registered like any algorithm, and stand beside the defaults for comparison.
"""
