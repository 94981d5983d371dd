"""A lock for code in which Python makes a syntax tree.

CPython 3.11 counts the depth of a tree in a place that all threads share. Two threads that make trees at
once (numpy does so to read the header of an array, jinja2 to read a template) can both fail.
"""

from threading import RLock

making_a_tree = RLock()
"""Held around every call that leads to `ast.parse`."""
