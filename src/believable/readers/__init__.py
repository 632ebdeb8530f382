"""Read files as checked predictions."""

from believable._write import write_beside
from believable.readers.columns import Columns, choose_columns
from believable.readers.files import read_predictions, read_table
from believable.readers.load import Loaded, load, load_demo
from believable.readers.logs.language_models import is_lm_samples, load_samples
from believable.readers.logs.reranking import load_run
from believable.readers.logs.trec import Judged, judge, read_qrels, read_run
from believable.readers.passes.checkpoint import load_summary
from believable.readers.passes.one_pass import summarize_files

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
