"""What several audits work with: tables, workloads, altered files."""
