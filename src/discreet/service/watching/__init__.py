"""What operators see: one line a request without values, and counters."""
