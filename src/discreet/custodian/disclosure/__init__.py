"""What a table gives away: scoring of attacks, uniqueness, k-anonymity. NOT PRIVATE."""
