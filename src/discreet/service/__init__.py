"""The curator as a service: HTTP, accounts, limits and web pages above `curator` and `releases`.

It reads no row and draws no noise: it decides who may ask, and hands the question to a `Curator` or
to an open release. What was charged stands in the ledger alone; accounts, sessions and
idempotency keys stand in a store of their own (`accounts`).
"""
