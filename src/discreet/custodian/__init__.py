"""Output that only the custodian may see. All of it carries the banner NOT PRIVATE."""
