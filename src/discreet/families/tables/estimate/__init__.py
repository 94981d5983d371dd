"""Post-processing of noisy numbers about contingency tables."""
