"""Audit a table that one machine cannot hold: Spark counts the cells, and only those come back.

    spark-submit --master 'local[2]' examples/spark/spark_audit.py scores.parquet --by site --save summary.cells

The executors run Spark's own expressions: `believable` has to be installed on the driver alone. The summary that is
saved is a few megabytes whatever the number of rows; add those of several days with `+`, or audit it again with
`believable.audit(believable.Summary.load(path))`.

Spark writes long methods for so many sums, and Java does not compile long methods unless told to. For a large table add
`--conf spark.driver.extraJavaOptions=-XX:-DontCompileHugeMethods`, and the same for `spark.executor`.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession

import believable


def main() -> None:
    """Read, count, save, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", help="a parquet file or folder, anywhere Spark can read")
    parser.add_argument("--prob", default="p", help="column of P(y = 1), or the prefix of one column per class")
    parser.add_argument("--label", default="y")
    parser.add_argument("--weight")
    parser.add_argument("--by", action="append", default=[], help="a column of subgroups; may be given again")
    parser.add_argument("--save", help="where to keep the summary")
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
    )
    spark.stop()
    if arguments.save:
        summary.save(arguments.save)
    for reason, rows in summary.dropped.items():
        print(f"left out, {reason}: {rows:,} rows")
    print(believable.audit(summary))


if __name__ == "__main__":
    main()
