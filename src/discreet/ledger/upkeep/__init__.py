"""What is done to a ledger by hand: copies for backups, and the one repair."""
