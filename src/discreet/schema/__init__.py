"""Public facts about a table: its columns, their finite declared domains, and how they are written.

Nothing here has seen a row. May import errors and privacy.
"""

from discreet.schema.column import CodeSelection, Column
from discreet.schema.completeness import keeps_every_row
from discreet.schema.csv_options import CsvOptions
from discreet.schema.impossible import Impossible
from discreet.schema.named import BooleanColumn, CategoryColumn
from discreet.schema.numeric import DoubleFormula, IntegerColumn, NumberColumn
from discreet.schema.ordered import OrderedColumn
from discreet.schema.schema import Schema, check
from discreet.schema.temporal import DateColumn, DatetimeColumn

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
    "check",
    "keeps_every_row",
]
