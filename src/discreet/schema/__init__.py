"""Public facts about a table: its columns, their finite declared domains, and how they are written.

Nothing here has seen a row. May import errors and privacy.
"""

from discreet.schema.column import CodeSelection, Column
from discreet.schema.named import BooleanColumn, CategoryColumn
from discreet.schema.numeric import DoubleFormula, IntegerColumn, NumberColumn
from discreet.schema.ordered import OrderedColumn
from discreet.schema.temporal import DateColumn, DatetimeColumn

__all__ = [
    "BooleanColumn",
    "CategoryColumn",
    "CodeSelection",
    "Column",
    "DateColumn",
    "DatetimeColumn",
    "DoubleFormula",
    "IntegerColumn",
    "NumberColumn",
    "OrderedColumn",
]
