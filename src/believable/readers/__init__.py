"""Readers: from files to checked predictions."""

from believable.readers.columns import Columns, choose_columns
from believable.readers.demo import load_demo
from believable.readers.files import read_predictions, read_table
from believable.readers.language_models import is_lm_samples, load_samples
from believable.readers.load import load
from believable.readers.loaded import Loaded
from believable.readers.reranking import load_run
from believable.readers.trec import Judged, judge, read_qrels, read_run
from believable.readers.write import write_beside

__all__ = [
    "Columns",
    "Judged",
    "Loaded",
    "choose_columns",
    "is_lm_samples",
    "judge",
    "load",
    "load_demo",
    "load_run",
    "load_samples",
    "read_predictions",
    "read_qrels",
    "read_run",
    "read_table",
    "write_beside",
]
