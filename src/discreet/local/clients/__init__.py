"""The clients' side: the only part of the local model that draws noise."""
