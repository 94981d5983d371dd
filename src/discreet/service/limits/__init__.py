"""Limits for one request, one person and all together: size, rate, concurrency, time."""
