"""Post-processing that several families need."""
