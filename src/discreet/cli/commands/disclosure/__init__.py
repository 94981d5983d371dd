"""Commands about what publications give away: attacks, anonymity, the local model, what epsilon means."""
