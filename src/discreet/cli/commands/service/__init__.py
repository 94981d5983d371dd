"""Commands of the service: run it, and manage its accounts and files."""
