"""The ledger: a durable, tamper-evident record of every charge against a dataset.

Invariant: what `charge` has granted is on disk, under the hash chain and under the
high-water mark, before it returns; nothing refunds it. A refused charge reads nothing
and writes nothing.
"""

from discreet.ledger.entry import CapChange, ChangeKind, Entry, EntryState, EntryView
from discreet.ledger.ledger import Ledger
from discreet.ledger.place import default_place

__all__ = [
    "CapChange",
    "ChangeKind",
    "Entry",
    "EntryState",
    "EntryView",
    "Ledger",
    "default_place",
]
