"""All engines count random frames as a loop over the rows does, or refuse them with the same sentence."""

from __future__ import annotations

import pyarrow as pa
import pytest

from .fuzz import MAKERS, check, expected, frames_of, random_case

QUICK = {name: make for name, make in MAKERS.items() if name != "ibis" and not name.startswith("dask")}
SLOW = {name: make for name, make in MAKERS.items() if name not in QUICK} | {"pyarrow": MAKERS["pyarrow"]}
QUICK_SEEDS, SLOW_SEEDS, SPARK_SEEDS = range(18, 36), range(100, 105), range(200, 202)


@pytest.mark.parametrize("seed", QUICK_SEEDS)
def test_engines_in_memory(seed):
    """polars, pandas with all kinds of columns, pyarrow and duckdb."""
    case = random_case(seed)
    assert list(check(case, frames_of(case, QUICK))) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", SLOW_SEEDS)
def test_ibis_and_partitions_of_dask(seed):
    """However the rows are cut; a partition may be empty."""
    case = random_case(seed)
    assert list(check(case, frames_of(case, SLOW))) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", SPARK_SEEDS)
def test_spark(seed, spark):
    """With types that Spark has: no dictionaries, halves or unsigned integers."""
    case = random_case(seed)
    table = case.table()
    types = {pa.float16(): pa.float32(), pa.uint8(): pa.int16(), pa.large_string(): pa.string()}
    plain = [getattr(kind, "value_type", kind) if pa.types.is_dictionary(kind) else kind for kind in table.schema.types]
    plain = [types.get(kind, kind) for kind in plain]
    names = table.column_names
    frame = spark.createDataFrame(table.cast(pa.schema(list(zip(names, plain, strict=True))))).repartition(2)
    assert list(check(case, {"pyarrow": table, "spark": frame})) == []


def test_most_cases_are_counted():
    """Else agreement would mean little."""
    wanted = [expected(random_case(seed))[0] for seed in (*QUICK_SEEDS, *SLOW_SEEDS, *SPARK_SEEDS)]
    assert sum(one is not None for one in wanted) > 0.7 * len(wanted)
