"""Maintenance of a ledger: copies for backups, and the one repair."""
