"""Algorithms that release single numbers."""
