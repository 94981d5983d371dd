"""What a release cost, computed again, and who signed it."""
