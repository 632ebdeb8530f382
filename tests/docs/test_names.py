"""A name that users import is told about on a page that somebody wrote, not in the reference alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import believable
from believable import plots, recalibrate
from tests.needs import need

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
GENERATED = ("metrics.md", "recalibrators.md", "benchmarks.md", "command-line.md")


def public_torch():
    """The names of believable.torch, which are told about also where torch is not installed."""
    source = (ROOT / "src" / "believable" / "torch" / "__init__.py").read_text()
    return re.findall(r'^    "(\w+)",$', source.partition("__all__ = [")[2].partition("]")[0], re.MULTILINE)


NAMES = {
    "believable": [name for name in believable.__all__ if name != "__version__"],
    "believable.recalibrate": list(recalibrate.RECALIBRATORS),
    "believable.plots": [name for name in plots.__all__ if name.startswith("plot_")],
    "believable.torch": public_torch(),
}


def written_pages():
    """The README and the pages of docs/, without the reference, what scripts write, and decisions."""
    pages = [page for page in DOCS.rglob("*.md") if page.parent.name not in ("api", "decisions")]
    return [ROOT / "README.md", *(page for page in pages if page.name not in GENERATED)]


@pytest.mark.parametrize("room", NAMES)
def test_public_names_are_told_about(room):
    """Every name of the package, every recalibrator, plot, and name of torch is on a page written by hand."""
    words = [set(re.findall(r"\w+", page.read_text())) for page in written_pages()]
    if room == "believable.torch":  # on other pages the word stands for its namesake in believable.recalibrate
        words = [found for found in words if "torch" in found]
    missing = sorted(set(NAMES[room]).difference(*words))
    assert not missing, (
        f"no page mentions {', '.join(missing)} of {room}: say what each is for on the page whose question it answers "
        "(plots: gallery.md, torch: torch.md, metrics: which-metric.md or definitions.md, fixes: which-fix.md)"
    )


def test_the_names_of_torch_are_those_of_the_room():
    """What is read from its source is what it offers."""
    need("torch")
    assert public_torch() == believable.torch.__all__
