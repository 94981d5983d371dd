"""Plain data that may be published: measurements, answers, releases."""
