"""The bundled table: generated people, so that anyone can try everything without a secret.

Public data from a seeded public generator.
"""

from discreet.demo.people import COLUMNS, PEOPLE, make_people, schema_text, write_csv

__all__ = ["COLUMNS", "PEOPLE", "make_people", "schema_text", "write_csv"]
