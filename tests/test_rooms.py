"""Who may import whom: a room imports rooms above it only, and third-party packages only where they are allowed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "believable"

# In order: a room may import any room above it. The set names the third-party packages it may use.
ROOMS: dict[str, set[str]] = {
    "_version": set(),
    "errors": set(),
    "_optional": set(),
    "_write": set(),
    "_types": {"numpy"},
    "_kernels": {"numpy", "scipy"},
    "_arrays": {"numpy"},
    "_check": {"numpy"},
    "_progress": {"rich"},
    "predictions": {"numpy"},
    "binning": {"numpy"},
    "stats": {"numpy"},
    "curves": {"numpy"},
    "metrics": {"numpy"},
    "inference": {"numpy", "scipy"},
    "streams": {"numpy"},
    "recalibrate": {"numpy", "scipy", "sklearn"},
    "decide": {"numpy", "scipy"},
    "engines": {"numpy", "narwhals", "polars", "pyspark"},  # polars: in workers of Spark; pyspark: its vectors
    "readers": {"numpy", "polars", "zstandard", "pyarrow"},  # the last two: archives compressed with Zstandard
    "writers": {"numpy", "polars"},
    "plots": {"numpy", "matplotlib", "mpl_toolkits"},
    "report": {"numpy", "scipy"},
    "auditing": {"numpy", "scipy"},
    "testing": set(),
    "torch": {"numpy", "torch", "torchmetrics", "triton"},
    "toolbox": {"numpy"},
    "integrations": {"numpy"},  # and the tool that a file is named after
    "cli": {"click", "rich"},
    "_lazy": set(),
    "__main__": set(),
    "__init__": set(),
}
COMPANIONS = {"evaluate": {"datasets"}, "transformers": {"torch"}}  # which such a tool cannot be used without
STANDARD = set(__import__("sys").stdlib_module_names)
FILES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Dotted names of everything a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} uses a relative import"
            if node.module == "believable":
                found |= {f"believable.{alias.name}" for alias in node.names}
            else:
                found.add(node.module or "")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_imports_stay_within_the_fence(name):
    """A file imports the standard library, the packages of its room, and rooms above its own."""
    room = name.split("/")[0].removesuffix(".py")
    order = list(ROOMS)
    for imported in imports(SOURCE / name):
        package, _, rest = imported.partition(".")
        if package != "believable":
            host = {Path(name).stem} | COMPANIONS.get(Path(name).stem, set()) if room == "integrations" else set()
            assert package in STANDARD | ROOMS[room] | host, f"{name} imports {package}"
        elif rest:
            other = rest.split(".")[0]
            assert order.index(other) <= order.index(room), f"{name} imports {imported}, a room below"


@pytest.mark.parametrize("name", FILES)
def test_private_means_private(name):
    """A `_module` or `_name` of a package is used in that package alone; those at the root belong to the library."""
    room = name.split("/")[0].removesuffix(".py")
    for node in ast.walk(ast.parse((SOURCE / name).read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("believable."):
            continue
        other, *modules = str(node.module).split(".")[1:]
        if other == room:
            continue
        private = [part for part in (*modules, *(alias.name for alias in node.names)) if re.match("_[^_]", part)]
        assert not private, f"{name} imports {private[0]} of {node.module}, which is private there"


def test_every_room_is_in_the_table():
    """No room is missing from the order."""
    assert {name.split("/")[0].removesuffix(".py") for name in FILES} == set(ROOMS)


# Tools that the library works inside; `make test-hosts` tests each in an environment of its own.
HOSTS = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "integrations").glob("test_*.py")}

# What the tests of a room need, once it is there.
WORDS = {"torch": {"torch"}, "engines": {"spark", "dask", "duckdb", "ibis"}, "report": {"node", "browser"}}


def test_ci_requires_every_optional_part():
    """Each word that a test can skip on, or that a room's tests need, is required by .ci/run."""
    words = {
        word for path in (ROOT / "tests").rglob("*.py") for word in re.findall(r'\bneed\("(\w+)"\)', path.read_text())
    }
    for room, needed in WORDS.items():
        if (SOURCE / room).exists() or (SOURCE / f"{room}.py").exists():
            words |= needed
    script = (ROOT / ".ci" / "run").read_text()
    required = re.search(r"BELIEVABLE_REQUIRE=(\S+)", script)
    assert required is not None
    assert words <= set(required.group(1).split(",")) | HOSTS
    assert "make test-hosts" in script  # which requires each host in its own environment
