"""Post-processing of noisy numbers about predicates."""
