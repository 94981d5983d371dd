"""Harnesses that look for whole families of holes, on data of their own: `make trust` runs them whole."""
