"""Limits on the work of a question: how long it may become when it is written out, and how many steps it may take."""
