"""The columns of the people that ranges are asked about."""

from __future__ import annotations

PEOPLE = """
dataset = "people"
[columns.age]
kind = "integer"
range = [0, 99]
nulls = "exclude"
[columns.income]
kind = "number"
bounds = [0, 1000]
bits = 10
nulls = "exclude"
[columns.born]
kind = "date"
range = ["1920-01-01", "2019-12-31"]
[columns.sex]
kind = "category"
values = ["f", "m"]
"""
