"""Adversaries: what can be learnt from published numbers and tables.

Everything here sees only what is published, and what an adversary may know besides. It cannot reach
rows, noise, charges or engines: an import contract says so. Whether an attack was right is scored by
the custodian, who alone knows the truth (`discreet.custodian.disclosure`).
"""
