"""What follows from published names and their counts: bounds for values that were not named."""
