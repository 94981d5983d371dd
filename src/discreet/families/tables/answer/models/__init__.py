"""Tables that a model fills in: their bounds, and how far they usually are off."""
