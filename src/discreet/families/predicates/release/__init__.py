"""Algorithms that release predicates."""
