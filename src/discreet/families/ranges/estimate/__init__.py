"""Post-processing of noisy numbers about ranges."""
