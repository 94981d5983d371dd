"""Whole statements of SQL: to a release, and to a curator."""
