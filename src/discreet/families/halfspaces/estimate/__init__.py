"""Post-processing of noisy numbers about halfspaces."""
