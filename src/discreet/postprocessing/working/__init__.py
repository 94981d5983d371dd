"""From the answers to a statement's questions to its result."""
