"""Readers: from files to checked predictions."""

from believable._write import write_beside
from believable.readers.checkpoint import load_summary
from believable.readers.columns import Columns, choose_columns
from believable.readers.demo import load_demo
from believable.readers.files import read_predictions, read_table
from believable.readers.language_models import is_lm_samples, load_samples
from believable.readers.load import load
from believable.readers.loaded import Loaded
from believable.readers.one_pass import summarize_files
from believable.readers.reranking import load_run
from believable.readers.trec import Judged, judge, read_qrels, read_run

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
    "load_summary",
    "read_predictions",
    "read_qrels",
    "read_run",
    "read_table",
    "summarize_files",
    "write_beside",
]
