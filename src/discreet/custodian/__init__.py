"""What only the custodian may see. Every output carries the banner NOT PRIVATE."""
