"""Post-processing of measurements: it never touches rows, so it costs no privacy."""
