"""Post-processing of measurements: it never touches rows, so it costs no privacy.

May import errors, privacy, schema, queries, artifacts; never the kernel.
"""
