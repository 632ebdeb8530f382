"""The compiled kernels, which are optional: without a C compiler the package installs all the same, and NumPy works.

Also the README as PyPI shows it. Everything else about the package is in pyproject.toml.
"""

import contextlib
import logging
import os
import sys
import sysconfig
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

# An older pip complains of a dependency first, at length, before it comes to requires-python.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(f"believable needs Python 3.11 or newer; this is {sys.version.split()[0]}, {sys.executable}")

sys.path.insert(0, str(Path(__file__).resolve().parent / "scripts"))  # which pip and build do not put there
from pypi_readme import readme_of_this_version

SOURCES = Path("src/believable/_kernels/compiled/c")
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # which has no stable ABI yet
STABLE = {} if FREE_THREADED else {"define_macros": [("Py_LIMITED_API", "0x030B0000")], "py_limited_api": True}

# What is passed to the compiler, as far as it knows it: none of these flags is needed for correct results.
FLAGS_OF_MSVC = ["/std:c11", "/O2"]
FLAGS_OF_OTHERS = ["-std=c11", "-O3", "-Wall", "-Wextra", "-Wno-pass-failed", "-Wno-unknown-pragmas"]
FLAGS_OF_OTHERS += ["-fno-fast-math"]  # after a -ffast-math of the environment, with which NaN would go unnoticed
FLAGS_OF_OTHERS += ["-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"]  # the last is about loops, not threads
ROUNDS = "#include <float.h>\n#if FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2\n#error\n#endif\n"
ROUNDS_WITH = ["-msse2", "-mfpmath=sse"]  # instead of the x87 unit of 32-bit processors, which rounds to 80 bits


class BuildKernels(build_ext):
    """Build with the flags that this compiler accepts, tried one by one."""

    def build_extension(self, extension):
        flags = [] if self.compiles([], ROUNDS) else [flag for flag in ROUNDS_WITH if self.compiles([flag])]
        for flag in FLAGS_OF_MSVC if self.compiler.compiler_type == "msvc" else FLAGS_OF_OTHERS:
            if self.compiles([*flags, flag]):
                flags.append(flag)
        extension.extra_compile_args = flags
        try:
            super().build_extension(extension)
        except (BaseError, CCompilerError) as error:
            logging.warning("The kernels in C were not built, so believable computes with NumPy, slower: %s", error)
            raise

    def compiles(self, flags, program=""):
        """Return whether the compiler takes these flags, without its complaints on the screen."""
        program += "int believable_asks(int x) { return x; }\n"
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "asks.c")
            source.write_text(program, encoding="utf-8")
            with silence(source.with_suffix(".txt")):
                try:
                    self.compiler.compile([str(source)], output_dir=folder, extra_postargs=flags)
                except (BaseError, CCompilerError):
                    return False
        return True


@contextlib.contextmanager
def silence(path):
    """Send what this process and the compiler print to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    with open(path, "wb") as file, contextlib.ExitStack() as restore:
        for number in (1, 2):
            kept = os.dup(number)
            restore.callback(os.close, kept)
            restore.callback(os.dup2, kept, number)
            os.dup2(file.fileno(), number)
        yield


kernels = Extension(
    "believable._kernels.compiled._c",
    sources=sorted(path.as_posix() for path in SOURCES.glob("*.c")),
    depends=sorted(path.as_posix() for path in SOURCES.glob("*.h")),
    optional=True,
    **STABLE,
)
setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=[kernels],
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
    long_description=readme_of_this_version(),
    long_description_content_type="text/markdown",
)
