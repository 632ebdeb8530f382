"""Audit a table that does not fit on one machine: Spark counts the cells, and only those are collected.

    spark-submit --master 'local[2]' examples/spark/spark_audit.py scores.parquet --by site --save summary.cells

The executors run Spark's own expressions, so only the driver needs `believable`. If the executors have it too,
`--python-workers` counts with their Python, up to twice as fast. The saved summary takes a few megabytes, whatever the
number of rows. Add the summaries of several days with `+`, or write an HTML report from one with
`believable audit summary.cells --html report.html`.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

import believable


def main() -> None:
    """Read the table, count it, save the summary and print the audit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", help="a Parquet file or folder that Spark can read")
    parser.add_argument("--prob", default="p", help="column of P(y = 1), or the prefix of one column per class")
    parser.add_argument("--label", default="y")
    parser.add_argument("--weight")
    parser.add_argument("--by", action="append", default=[], help="a column of subgroups; may be repeated")
    parser.add_argument("--python-workers", action="store_true", help="count with the executors' Python")
    parser.add_argument("--save", help="the file to save the summary in")
    arguments = parser.parse_args()

    spark = SparkSession.builder.appName("believable").getOrCreate()
    frame = spark.read.parquet(arguments.table)
    summary = believable.engines.summarize(
        frame,
        prob=arguments.prob,
        label=arguments.label,
        weight=arguments.weight,
        by=arguments.by,
        on_invalid="drop",
        python_workers=arguments.python_workers,
    )
    spark.stop()
    if arguments.save:
        summary.save(arguments.save)
    for reason, rows in summary.dropped.items():
        print(f"left out, {reason}: {rows:,} rows")
    print(believable.audit(summary))


if __name__ == "__main__":
    main()
