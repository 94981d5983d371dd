"""Ways to ask from elsewhere: a service over HTTP, the Python database API, SQLAlchemy.

It reads no row, and needs neither the core nor an engine: answers come from a service or a release file.
"""
