"""Public facts about a table: its columns, their finite declared domains, and how they are written.

Nothing here has seen a row.
"""

from discreet.schema.columns.column import CodeSelection, Column, keeps_every_row
from discreet.schema.columns.named import BooleanColumn, CategoryColumn
from discreet.schema.columns.numeric import DoubleFormula, IntegerColumn, NumberColumn
from discreet.schema.columns.ordered import OrderedColumn
from discreet.schema.columns.temporal import DateColumn, DatetimeColumn
from discreet.schema.csv_options import CsvOptions
from discreet.schema.impossible import Impossible
from discreet.schema.schema import Schema

__all__ = [
    "BooleanColumn",
    "CategoryColumn",
    "CodeSelection",
    "Column",
    "CsvOptions",
    "DateColumn",
    "DatetimeColumn",
    "DoubleFormula",
    "Impossible",
    "IntegerColumn",
    "NumberColumn",
    "OrderedColumn",
    "Schema",
    "keeps_every_row",
]
