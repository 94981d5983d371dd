"""Plain data that may leave the building: measurements, answers, releases."""
