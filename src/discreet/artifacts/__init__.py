"""Plain data that may leave the building: measurements, answers, releases.

May import errors, privacy, schema, queries.
"""
