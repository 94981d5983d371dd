"""What a table discloses: scoring of attacks, uniqueness, k-anonymity. NOT PRIVATE."""
