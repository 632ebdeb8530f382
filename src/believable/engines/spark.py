"""What Spark alone needs: vectors as arrays, and queries that Java compiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LIMIT, LONGEST_COMPILED = "spark.sql.codegen.hugeMethodLimit", "8000"


def without_vectors(native: Any) -> Any:
    """Columns of vectors, as Spark's machine learning makes them, as columns of arrays."""
    names = [field.name for field in native.schema.fields if type(field.dataType).__name__ == "VectorUDT"]
    if not names:
        return native
    from pyspark.ml.functions import vector_to_array

    return native.withColumns({name: vector_to_array(native[name]) for name in names})


@contextmanager
def compiled(native: Any) -> Iterator[None]:
    """For the length of one query, Spark writes no method that Java would not compile.

    It makes one long method of a whole stage, and Java interprets methods of more than 8,000 bytes, several times as
    slowly. Beyond this limit Spark makes short ones instead.
    """
    conf = native.sparkSession.conf
    before = conf.get(LIMIT, None)
    conf.set(LIMIT, LONGEST_COMPILED)
    try:
        yield
    finally:
        if before is None:
            conf.unset(LIMIT)
        else:
            conf.set(LIMIT, before)
