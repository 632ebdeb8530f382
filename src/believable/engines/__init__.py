"""Statistics from data frames, wherever they live: polars, pandas, pyarrow, duckdb, ibis, dask and Spark.

The engine that holds the rows counts them; only the statistic, whose size does not grow with the rows, is collected.
"""

from believable.engines.summarize import summarize

__all__ = ["summarize"]
