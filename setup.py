"""The compiled kernels, which are optional: without a C compiler the package installs all the same, and NumPy works.

Everything else about the package is in pyproject.toml.
"""

import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

# An older pip complains of a dependency first, at length, before it comes to requires-python.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(f"believable needs Python 3.11 or newer; this is {sys.version.split()[0]}, {sys.executable}")

SOURCES = Path("src/believable/_kernels/compiled/c")
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # which has no stable ABI yet
STABLE = {} if FREE_THREADED else {"define_macros": [("Py_LIMITED_API", "0x030B0000")], "py_limited_api": True}
QUICK = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"]  # the last is about loops, not threads
FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else ["-std=c11", "-Wall", "-Wno-pass-failed", *QUICK]

kernels = Extension(
    "believable._kernels.compiled._c",
    sources=sorted(path.as_posix() for path in SOURCES.glob("*.c")),
    depends=sorted(path.as_posix() for path in SOURCES.glob("*.h")),
    extra_compile_args=FLAGS,
    optional=True,
    **STABLE,
)
setup(ext_modules=[kernels], options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}})
