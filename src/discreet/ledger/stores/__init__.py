"""Where a ledger's events are kept: an SQLite file, or a PostgreSQL database for several machines."""
