"""What the parts of a release contribute to answers, and all of it together."""
