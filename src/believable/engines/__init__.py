"""Statistics from data frames: polars, pandas, pyarrow, duckdb, ibis, dask and Spark.

The engine that holds the rows counts them; only the statistic, which has a fixed size, is collected.
"""

from believable.engines.summarize import summarize

__all__ = ["summarize"]
