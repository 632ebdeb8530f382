"""Statistics from data frames: polars, pandas, pyarrow, duckdb, ibis, dask and Spark.

The engine that holds the rows counts them; only the statistic, which has a fixed size, is collected.
"""

from typing import TYPE_CHECKING

from believable import _optional

if TYPE_CHECKING or _optional.is_installed("narwhals"):
    from believable.engines.segments import segment_stats
    from believable.engines.summarize import summarize
else:
    COUNTING = "counting the rows of a data frame needs"
    segment_stats = _optional.stand_in("segment_stats", COUNTING, "narwhals")
    summarize = _optional.stand_in("summarize", COUNTING, "narwhals")

__all__ = ["segment_stats", "summarize"]
