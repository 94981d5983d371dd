"""The HTTP interface for programs: JSON in, JSON out, described by OpenAPI."""
