"""Monitoring: one log line for each request, without values, and counters."""
