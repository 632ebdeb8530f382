"""The example for Spark is a file that the documentation names and Python reads."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "spark" / "spark_audit.py"


def test_the_example_calls_what_there_is():
    """It passes `summarize` only options that it has, and the list of examples shows its command."""
    import inspect

    from believable.engines import summarize

    tree = ast.parse(EXAMPLE.read_text(encoding="utf-8"))
    (call,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "summarize"
    )
    assert {word.arg for word in call.keywords} <= set(inspect.signature(summarize).parameters)
    assert (
        "spark-submit --master 'local[2]' examples/spark/spark_audit.py"
        in (ROOT / "examples" / "README.md").read_text()
    )
