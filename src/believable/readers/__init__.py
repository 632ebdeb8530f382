"""Readers: from files to checked predictions."""

from believable.readers.columns import Columns, choose_columns
from believable.readers.demo import load_demo
from believable.readers.files import read_predictions, read_table
from believable.readers.loaded import Loaded

__all__ = ["Columns", "Loaded", "choose_columns", "load_demo", "read_predictions", "read_table"]
