"""Readers: from files to checked predictions."""

from believable.readers.columns import Columns, choose_columns
from believable.readers.demo import load_demo
from believable.readers.files import read_predictions, read_table

__all__ = ["Columns", "choose_columns", "load_demo", "read_predictions", "read_table"]
