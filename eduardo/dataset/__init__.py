"""Near-transfer pairs: read, check, split; Parquet rows for verl."""

from eduardo.dataset.checks import PairSet, read_pairs
from eduardo.dataset.columns import SourcedPair
from eduardo.dataset.complaints import Dropped, Rule
from eduardo.dataset.location import Location, Record
from eduardo.dataset.rows import SCHEMA, from_row, to_row, write_rows
from eduardo.dataset.selection import Band, Selection, SelectionSettings, select
from eduardo.dataset.sources import HubDataset, LocalFolder, PairSource

__all__ = [
    "SCHEMA",
    "Band",
    "Dropped",
    "HubDataset",
    "LocalFolder",
    "Location",
    "PairSet",
    "PairSource",
    "Record",
    "Rule",
    "Selection",
    "SelectionSettings",
    "SourcedPair",
    "from_row",
    "read_pairs",
    "select",
    "to_row",
    "write_rows",
]
