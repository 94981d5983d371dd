"""Conditions that are declared one by one."""
