"""A schema with one column of every kind, for tests that go through all of them."""

from __future__ import annotations

from discreet.schema import Schema

EVERY_KIND = Schema.loads("""
dataset = "t"
[columns.age]
kind = "integer"
range = [0, 99]
[columns.x]
kind = "number"
bounds = [0, 1]
bits = 4
[columns.m]
kind = "category"
values = ["F", "M"]
[columns.ok]
kind = "boolean"
[columns.day]
kind = "date"
range = ["2020-01-01", "2020-12-31"]
[columns.at]
kind = "datetime"
range = ["2020-01-01", "2020-12-31"]
granularity = "hour"
""")
