"""Parts of the product that are defined outside it, and work like its own."""
