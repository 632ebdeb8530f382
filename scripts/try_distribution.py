"""Install the wheel and the source distribution of a folder into empty environments, and try them there.

    python scripts/try_distribution.py dist tests/stats tests/metrics

`make dist` builds both and then calls this. It checks that nothing is missing from either file. The wheel is installed
without extras, where it must bring NumPy and SciPy and nothing else, and then with `all`; its commands run in an empty
folder, and the tests named after the folder run from the unpacked source distribution. The source distribution is
installed without a C compiler and without extras, where the kernels must be those in NumPy.
"""

from __future__ import annotations

import csv
import fnmatch
import os
import random
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOR_TESTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]["hosts"]
NOT_IN_SDIST = {".gitignore"}
ADDED_TO_SDIST = {"PKG-INFO", "setup.cfg"}
PLAIN_PACKAGES = {"believable", "numpy", "scipy"}
SOURCES_OF_KERNELS = "_kernels/compiled/c/"

PLAIN = """
import numpy as np

import believable
from believable._kernels import backend

rng = np.random.default_rng(0)
p = rng.random(400)
y = (rng.random(400) < p).astype(int)
assert str(believable.verdict(p, y)).startswith("Yes"), believable.verdict(p, y)
assert "<html" in believable.audit(p, y).to_html()
assert believable.__file__.startswith({where!r}), believable.__file__
assert backend == {kernels!r}, backend
"""


def source_files(root: Path = ROOT) -> set[str]:
    """Return the files of the repository: what git does not ignore in a checkout, otherwise all but build outputs."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
        return {name for name in listed.split("\0") if name and (root / name).exists()}
    left_out = ("*/__pycache__/*", "*.egg-info/*", "*.so", "*.pyd", "*.pyc")
    found = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return {name for name in found if not any(fnmatch.fnmatch(name, pattern) for pattern in left_out)}


def packaged_files(root: Path = ROOT) -> set[str]:
    """Return the files of the package that have to be in a wheel: all but the sources of the kernels."""
    inside = {name.removeprefix("src/") for name in source_files(root) if name.startswith("src/believable/")}
    return {name for name in inside if not name.startswith(f"believable/{SOURCES_OF_KERNELS}")}


def check_names(wheel: Path, sdist: Path) -> None:
    """Exit with a message if a file is missing from the wheel or the source distribution, or should not be there."""
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = {name for name in archive.namelist() if ".dist-info/" not in name}
    kernels = {name for name in in_wheel if fnmatch.fnmatch(name, "believable/_kernels/compiled/_c.*[.dy][sol]*")}
    kernels -= {"believable/_kernels/compiled/_c.pyi"}
    if not kernels:
        sys.exit(f"{wheel.name} has no compiled kernels")
    _compare(wheel.name, in_wheel - kernels, packaged_files())
    with tarfile.open(sdist) as archive:
        in_sdist = {member.name.partition("/")[2] for member in archive if member.isfile()}
    own = {name for name in in_sdist if ".egg-info/" in name} | ADDED_TO_SDIST
    _compare(sdist.name, in_sdist - own, source_files() - NOT_IN_SDIST)


def _compare(name: str, has: set[str], should: set[str]) -> None:
    if missing := sorted(should - has):
        sys.exit(f"{name} lacks {', '.join(missing)}: see MANIFEST.in and [tool.setuptools.package-data]")
    if surplus := sorted(has - should):
        sys.exit(f"{name} has files that git ignores: {', '.join(surplus)}")


class Environment:
    """An empty environment and an empty folder, away from the checkout and its settings."""

    def __init__(self, place: Path) -> None:
        self.folder = place / "work"
        self.folder.mkdir(parents=True)
        venv.create(place / "env", with_pip=True)
        self.programs = place / "env" / ("Scripts" if os.name == "nt" else "bin")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "BELIEVABLE_"))}
        self.variables = kept | {"PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}"}
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", "pip>=25.1")

    def run(self, *words: str, folder: Path | None = None, **variables: str) -> str:
        """Run a command, by default in the empty folder, and return what it printed; exit if it fails."""
        program = [str(self.programs / words[0]), *words[1:]]
        done = subprocess.run(
            program,
            cwd=folder or self.folder,
            env=self.variables | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        if done.returncode:
            sys.exit(f"{done.stdout}\n`{' '.join(words)}` ended with exit code {done.returncode}")
        return done.stdout

    def installed(self) -> set[str]:
        """Return the names of the installed packages, but for pip itself."""
        listed = self.run("python", "-m", "pip", "list", "--disable-pip-version-check", "--format", "freeze")
        return {line.partition("==")[0].partition(" @")[0].lower() for line in listed.split("\n") if line} - {
            "pip",
            "setuptools",
        }

    def install(self, *what: str, **variables: str) -> None:
        """Install packages with pip."""
        self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what, **variables)

    def try_in_python(self, kernels: str) -> None:
        """Compute a verdict and a report with the installed package and the kernels named."""
        self.run("python", "-c", PLAIN.format(where=str(self.programs.parent), kernels=kernels))
        self.run("python", "-m", "pip", "check")


def try_plain(what: Path, kernels: str, place: Path, **variables: str) -> None:
    """Try an installation without extras: it computes with NumPy and SciPy, and says what its command would need."""
    here = Environment(place)
    here.install(str(what), **variables)
    here.try_in_python(kernels)
    if here.installed() != PLAIN_PACKAGES:
        sys.exit(f"{what.name} without extras brings {here.installed()}, not {PLAIN_PACKAGES}")
    done = subprocess.run([here.programs / "believable"], env=here.variables, capture_output=True, text=True)
    said = 'Error: the command line needs click: pip install "believable[cli]"\n'
    if (done.returncode, done.stderr) != (2, said):
        sys.exit(f"the command without its packages ended with {done.returncode} and said {done.stderr}")


def try_wheel(wheel: Path, sdist: Path, tests: list[str], place: Path) -> None:
    """Try the commands of an installed wheel, and run tests of the unpacked source distribution on it."""
    here = Environment(place)
    here.install(f"{wheel}[all]", *FOR_TESTS)
    here.try_in_python("compiled")
    assert "audit" in here.run("believable", "--help")
    assert "compiled kernels" in here.run("believable", "--version")
    assert "Yes, you can take these scores at face value" in here.run("believable", "demo")
    assert any(path.suffix == ".png" for path in here.folder.iterdir()), "the demo drew no picture"
    draw = random.Random(0)
    with (here.folder / "predictions.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["p", "y"])
        rows.writerows((p, int(draw.random() < p)) for p in (draw.random() for _ in range(500)))
    said = here.run("believable", "audit", "predictions.csv", "--html", "report.html", "--plot", "diagram.png")
    assert "500 rows" in said, said
    assert "<script" in (here.folder / "report.html").read_text(encoding="utf-8")
    assert (here.folder / "diagram.png").stat().st_size > 1000
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    unpacked = place / sdist.name.removesuffix(".tar.gz")
    # The package itself has to be the installed one: its sources are out of the way of every import.
    options = ["-q", "-m", "not slow", "-p", "no:cacheprovider"]
    print(here.run("python", "-m", "pytest", *options, *tests, folder=unpacked).splitlines()[-1])


if __name__ == "__main__":
    folder, *tests = sys.argv[1:]
    (wheel,) = Path(folder).resolve().glob("believable-*.whl")
    (sdist,) = Path(folder).resolve().glob("believable-*.tar.gz")
    check_names(wheel, sdist)
    with tempfile.TemporaryDirectory() as place:
        try_wheel(wheel, sdist, tests, Path(place, "wheel"))
        try_plain(wheel, "compiled", Path(place, "plain"))
        try_plain(sdist, "numpy", Path(place, "sdist"), CC="false", CXX="false")  # without a C compiler that works
    print(f"{wheel.name} and {sdist.name} install and work")
