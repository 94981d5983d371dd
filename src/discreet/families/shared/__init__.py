"""What several families need."""
