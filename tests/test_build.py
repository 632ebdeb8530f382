"""The kernels in C are built by compilers that differ in the flags they know."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src/believable/_kernels/compiled/c").glob("*.c"))
COMPILER = next((name for name in ("gcc", "clang", "cc") if shutil.which(name)), None)

# A compiler that knows neither warnings, nor standards, nor what a loop may be turned into.
PLAIN = """#!/bin/sh
for flag in "$@"; do
    case $flag in
        -Wl,*) ;;
        -W*|-std=*|-O3|-fno-*|-fopenmp*) echo "unknown flag $flag" >&2; exit 1;;
    esac
done
exec {compiler} "$@"
"""

SHOWS = """
import sys
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np

if len(sys.argv) > 1:
    spec = spec_from_file_location("believable._kernels.compiled._c", sys.argv[1])
    sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[spec.name])
import believable as bv
from believable._kernels import twins

assert len(sys.argv) == 1 or twins.c.__file__ == sys.argv[1]
rng = np.random.default_rng(0)
scores = rng.random(10_000)
labels = rng.random(10_000) < scores
print(bv.auc(scores, labels), bv.expected_calibration_error(scores, labels), bv.brier_score(scores, labels))
"""


def kernels(folder: Path, **variables: str) -> Path:
    """Build the kernels into a folder, and return the file of the module."""
    pytest.importorskip("setuptools")
    command = [
        sys.executable,
        "setup.py",
        "build_ext",
        "--build-lib",
        str(folder),
        "--build-temp",
        str(folder / "temp"),
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, encoding="utf-8", check=True
    )
    (folder / "log.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    return next(iter((folder / "believable/_kernels/compiled").glob("_c.*")), Path())


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None or os.name != "posix", reason="there is no C compiler to wrap")
def test_a_compiler_without_flags_builds_the_same_kernels(tmp_path):
    """Flags that a compiler refuses are left out, and what it builds computes the same numbers."""
    compiler = tmp_path / "plaincc"
    compiler.write_text(PLAIN.format(compiler=COMPILER))
    compiler.chmod(0o755)
    built = kernels(tmp_path / "built", CC=str(compiler), LDSHARED=f"{compiler} -shared", CFLAGS="-O0")
    assert built.is_file()
    log = (tmp_path / "built/log.txt").read_text()
    assert "-fopenmp-simd" not in log
    assert "unknown flag" not in log
    ours, theirs = (
        subprocess.run(
            [sys.executable, "-c", SHOWS, *args],
            env=os.environ | {"BELIEVABLE_KERNELS": kernels},
            capture_output=True,
            text=True,
            check=True,
        )
        for args, kernels in (([], "auto"), ([str(built)], "compiled"))
    )
    assert [float(x) for x in theirs.stdout.split()] == pytest.approx(
        [float(x) for x in ours.stdout.split()], rel=1e-14
    )


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None or os.name != "posix", reason="there is no C compiler to wrap")
def test_a_failed_build_says_so(tmp_path):
    """Without a working compiler the package installs all the same, and the log says what is missing."""
    assert kernels(tmp_path, CC="false", LDSHARED="false") == Path()
    assert "The kernels in C were not built, so believable computes with NumPy" in (tmp_path / "log.txt").read_text()


@pytest.mark.skipif(COMPILER not in ("gcc", "clang"), reason="the flags are those of gcc and clang")
def test_the_kernels_are_standard_c():
    """Without extensions of one compiler, unless they are behind a macro with another form."""
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").is_file():
        pytest.skip("the headers of Python are not installed")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wvla", "-Werror", "-pedantic-errors", "-Wno-unknown-pragmas"]
    for compiler in filter(shutil.which, ("gcc", "clang")):
        command = [compiler, *flags, "-DPy_LIMITED_API=0x030B0000", "-isystem", str(headers), "-fsyntax-only"]
        done = subprocess.run([*command, *map(str, SOURCES)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
