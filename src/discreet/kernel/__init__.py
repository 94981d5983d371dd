"""The kernel: the only room that touches raw rows for publication, or secret randomness.

May import errors, privacy, schema, queries, artifacts.
"""
