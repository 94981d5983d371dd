"""Answers and synthetic values from published names and their counts."""
