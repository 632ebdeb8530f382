"""Python with nothing but NumPy and SciPy: a finder refuses every other package that believable can use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

REFUSE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refuse())
"""

OPTIONAL = (
    "sklearn", "joblib", "threadpoolctl", "matplotlib", "mpl_toolkits", "PIL", "polars", "narwhals", "pandas", "pyarrow",
    "click", "rich", "torch", "torchmetrics", "triton", "pyspark", "dask", "ibis", "duckdb", "h5py", "yaml",
)  # fmt: skip


def run(code: str, refused: tuple[str, ...] = OPTIONAL, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a new process that cannot import these packages."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", REFUSE.format(refused=set(refused)) + code],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


def printed(code: str, refused: tuple[str, ...] = OPTIONAL, folder: Path | None = None) -> str:
    """Return what code prints; it must not fail."""
    done = run(code, refused, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout
