"""Which kernels run, and what says so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from believable import _kernels
from believable._kernels.compiled import threads
from believable._kernels.twins import TWINS, VARIABLE, backend
from tests.needs import need

BUILT = pytest.mark.skipif(backend == "numpy", reason="the compiled kernels are not in use")


def python(code, **environment):
    """What another Python prints, and its errors."""
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True)
    return done.stdout.strip(), done.stderr


def test_they_are_built():
    """The compiled kernels can be imported, where that is required."""
    assert need("compiled").bin_sums


@pytest.mark.parametrize("wanted", ["numpy", pytest.param("compiled", marks=BUILT)])
def test_the_variable_decides(wanted):
    """BELIEVABLE_KERNELS forces either, and `believable.backend` says which."""
    code = "from believable import _kernels; print(_kernels.backend, _kernels.bin_moments.__module__)"
    said, _ = python(code, **{VARIABLE: wanted})
    where = "believable._kernels.compiled.binary_pass" if wanted == "compiled" else "believable._kernels.binary_pass"
    assert said == f"{wanted} {where}"


def test_a_wrong_word_is_refused():
    """A value that means nothing is an error that names the values that do."""
    _, error = python("import believable._kernels", **{VARIABLE: "fast"})
    assert "BELIEVABLE_KERNELS must be compiled, numpy or auto, got 'fast'" in error


HIDDEN = """
import sys
sys.modules["believable._kernels.compiled._c"] = None  # as where nothing was built
import believable
print(believable.backend, believable.expected_calibration_error([0.2, 0.9], [0, 1]))
"""


def test_without_a_build():
    """Where nothing was built NumPy does the work; asking for compiled kernels says how to get them."""
    said, _ = python(HIDDEN, **{VARIABLE: "auto"})
    assert said.startswith("numpy 0.15")
    _, error = python(HIDDEN, **{VARIABLE: "compiled"})
    assert "install a C compiler and believable again" in error


def test_names_in_c_are_unique():
    """No function of one C file hides that of another."""
    folder = Path(__file__).parents[2] / "src/believable/_kernels/compiled/c"
    if not folder.exists():
        pytest.skip("the C sources are not installed with a wheel, which these tests are run on")
    names = [name for path in folder.glob("*.c") for name in re.findall(r"METHOD\((\w+)\)", path.read_text())]
    assert len(names) == len(set(names)) > 10


@BUILT
def test_every_twin_is_in_use():
    """Compiled kernels are what the names in `_kernels` mean, and they carry the words of their twins."""
    for name, (reference, compiled) in TWINS.items():
        assert compiled.__doc__ == reference.__doc__
        assert getattr(_kernels, name, compiled) is compiled


def test_ranges_cover_all_rows(monkeypatch):
    """Rows are shared out without gaps, and few rows are not shared."""
    monkeypatch.setenv("BELIEVABLE_THREADS", "3")
    assert threads.ranges(10, 6) == [(0, 10)]
    assert threads.ranges(10, 3) == [(0, 3), (3, 6), (6, 10)]
    assert threads.ranges(1000, 1, most=2) == [(0, 500), (500, 1000)]


@pytest.mark.parametrize(("own", "openmp", "wanted"), [("3", "1", 3), ("", "1", 1), ("x", "2", 2), ("0", "2", 2)])
def test_number_of_threads(monkeypatch, own, openmp, wanted):
    """Our variable decides, then OpenMP's, and what is no number is not looked at."""
    monkeypatch.setenv("BELIEVABLE_THREADS", own)
    monkeypatch.setenv("OMP_NUM_THREADS", openmp)
    assert threads.n_threads() == wanted


def test_an_error_in_a_thread_is_raised():
    """Whatever goes wrong in a thread goes wrong for the caller, and results come in order."""
    assert threads.in_parts(lambda part, start, stop: (part, stop - start), [(0, 4), (4, 6)]) == [(0, 4), (1, 2)]
    with pytest.raises(ZeroDivisionError):
        threads.in_parts(lambda part, start, stop: 1 / (1 - part), [(0, 4), (4, 6)])


def test_no_more_threads(monkeypatch):
    """Where no thread can be started, as at the end of a program, the work is done all the same."""

    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads.Thread, "start", refuse)
    assert threads.in_parts(lambda part, start, stop: part, [(0, 1), (1, 2), (2, 3)]) == [0, 1, 2]


def test_one_thread_where_others_are_at_work(monkeypatch):
    """Inside of `alone`, and inside of a part, work is not shared out again; afterwards it is."""
    monkeypatch.setenv("BELIEVABLE_THREADS", "2")
    with threads.alone():
        with threads.alone():
            assert threads.n_threads() == 1
        assert threads.ranges(100, 1) == [(0, 100)]
    assert threads.n_threads() == 2
    assert threads.in_parts(lambda *_: threads.n_threads(), [(0, 1), (1, 2)]) == [1, 1]
    assert threads.in_parts(lambda *_: threads.n_threads(), [(0, 1)]) == [2]
    with pytest.raises(ValueError, match="no"), threads.alone():
        raise ValueError("no")
    assert threads.n_threads() == 2


def test_threads_of_several_callers():
    """Callers in many threads each get their own results, in order, and errors go to whoever called."""

    def call(caller):
        found = []
        for _ in range(50):
            found += threads.in_parts(lambda part, start, stop: (caller, start, stop), [(k, k + 1) for k in range(5)])
        with pytest.raises(ZeroDivisionError):
            threads.in_parts(lambda part, start, stop: 1 // (part - 3), [(0, 1)] * 5)
        return found

    with ThreadPoolExecutor(8) as pool:
        for caller, found in enumerate(pool.map(call, range(8))):
            assert found == [(caller, k, k + 1) for k in range(5)] * 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # that it is multi-threaded, which is the point
def test_a_forked_process_has_threads_of_its_own():
    """The threads of the parent are not there after a fork: without new ones, the child would wait for ever."""
    parts = [(0, 1), (1, 2), (2, 3)]
    assert threads.in_parts(lambda part, *_: part, parts) == [0, 1, 2]
    child = os.fork()
    if child == 0:
        os._exit(0 if threads.in_parts(lambda part, *_: part, parts) == [0, 1, 2] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
