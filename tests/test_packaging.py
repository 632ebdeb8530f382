"""What is published: the package holds its files, and everything that names a version or a Python agrees."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from scripts import check_release, lowest_versions, pypi_readme, try_distribution

from tests.needs import need

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SOURCE = "https://github.com/OWNER/believable"
CONDA = {"matplotlib": "matplotlib-base", "torch": "pytorch", "duckdb": "python-duckdb"}  # names on conda-forge


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def pythons() -> list[str]:
    """The versions of Python in the classifiers."""
    found = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in classifiers())
    return [match[1] for match in found if match]


def classifiers() -> list[str]:
    return PROJECT["project"]["classifiers"]


def test_every_file_of_the_package_is_installed():
    """Every file below src/believable is Python or matches package-data; `make dist` compares with a real wheel."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["believable"]
    files = [name.removeprefix("believable/") for name in try_distribution.packaged_files()]
    assert len(files) > 300
    others = [name for name in files if not name.endswith((".py", ".so", ".pyd"))]
    matched = [name for name in others if any(_matches(name, pattern) for pattern in patterns)]
    assert sorted(set(others) - set(matched)) == []
    unused = [pattern for pattern in patterns if not any(_matches(name, pattern) for name in others)]
    assert unused == []


def _matches(name: str, pattern: str) -> bool:
    """As setuptools does: a star stays in its folder."""
    return name.count("/") == pattern.count("/") and fnmatch.fnmatch(name, pattern)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only git knows which files belong to the repository")
def test_the_source_distribution_takes_whole_folders():
    """Every folder of the repository is in MANIFEST.in; `make dist` compares file by file."""
    grafted = set(re.findall(r"^graft (\S+)$", text("MANIFEST.in"), re.MULTILINE))
    folders = {name.partition("/")[0] for name in try_distribution.source_files() if "/" in name}
    assert folders - {"src"} == grafted


def test_the_version_is_the_same_everywhere():
    """It is set in _version.py alone; the files that repeat it for others say the same."""
    assert check_release.complaints() == []
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "believable._version.__version__"}


@pytest.fixture
def released(tmp_path):
    """A copy of the files that name the version, with the date of a release."""
    for name in [*check_release.OTHERS, "src/believable/_version.py"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text(name), encoding="utf-8")
    version = check_release.the_version()
    changes = re.sub(
        rf"^## {re.escape(version)} \(.*\)$", f"## {version} (2027-01-31)", text("CHANGELOG.md"), flags=re.M
    )
    (tmp_path / "CHANGELOG.md").write_text(changes, encoding="utf-8")
    return tmp_path


def test_a_release_has_the_tag_of_its_version(released):
    """The tag is v and the version; any other, and a changelog without a date, stop the release."""
    version = check_release.the_version()
    assert check_release.complaints(f"v{version}", released) == []
    assert "the tag should be" in check_release.complaints("v99.0.0", released)[0]
    (released / "CHANGELOG.md").write_text(f"## {version} (unreleased)\n")
    assert "with the date of the release" in check_release.complaints(f"v{version}", released)[0]


@pytest.mark.parametrize("name", list(check_release.OTHERS))
def test_a_forgotten_version_stops_the_release(released, name):
    """Each file that names another version is reported."""
    (released / "src/believable/_version.py").write_text('__version__ = "9.8.7"\n')
    found = check_release.complaints(None, released)
    assert len(found) == len(check_release.OTHERS)
    assert any(line.startswith(f"{name} names {check_release.the_version()}, but") for line in found)


def test_pythons_agree():
    """The classifiers, requires-python, the matrix of the tests, the wheels and ruff name the same versions."""
    first, *_, last = pythons()
    assert PROJECT["project"]["requires-python"] == f">={first}"
    assert PROJECT["tool"]["mypy"]["python_version"] == first
    matrix = re.search(r"python: \[(.+)\]", text(".github/workflows/test.yml"))[1]
    assert re.findall(r"[\d.]+", matrix) == pythons()
    compact = [version.replace(".", "") for version in (first, last)]
    assert PROJECT["tool"]["cibuildwheel"]["build"] == [f"cp{version}-*" for version in compact]
    setup = text("setup.py")
    assert f'"cp{compact[0]}"' in setup
    assert f'"0x{int(first[0]):02X}{int(first[2:]):02X}0000"' in setup


def test_the_wheels_are_tested_with_tests_that_exist():
    """The commands of cibuildwheel name the same files on every platform, and they are here."""
    settings = PROJECT["tool"]["cibuildwheel"]
    commands = [settings["test-command"], settings["windows"]["test-command"]]
    assert commands[0].replace("'", '"') == commands[1]
    named = [word for word in commands[0].split() if word.startswith("tests/")]
    assert named
    assert all((ROOT / name).exists() for name in [*named, *settings["test-sources"]])
    assert settings["test-groups"] == ["hosts"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_few_permissions(path):
    """They parse, may read the repository and no more, but for publishing, and pin actions by version."""
    yaml = need("yaml")
    flow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert flow["permissions"] == {"contents": "read"}
    granted = {name: job["permissions"] for name, job in flow["jobs"].items() if "permissions" in job}
    assert granted == ({"publish": {"id-token": "write"}} if path.name == "release.yml" else {})
    steps = list(chain.from_iterable(job.get("steps", []) for job in flow["jobs"].values()))
    used = [step["uses"] for step in steps if "uses" in step]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+|pypa/gh-action-pypi-publish@release/v1", each) for each in used)
    assert all("timeout-minutes" in job for job in flow["jobs"].values() if "uses" not in job)


def test_the_recipe_needs_what_pyproject_needs():
    """Of the two packages for conda-forge, one is the plain installation, and the other has `all`."""
    base, whole = need("yaml").safe_load(text("recipe/recipe.yaml"))["outputs"]
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    needed = {_conda(line) for line in project["dependencies"]}
    optional = {_conda(line) for line in chain.from_iterable(extras.values()) if not line.startswith("believable[")}
    of_all = {_conda(line) for line in lowest_versions.spelt_out(["believable[all]"], extras)}
    wanted = base["requirements"]
    assert set(wanted["run"]) == {"python"} | needed
    assert set(wanted["run_constraints"]) == optional - needed
    assert {_conda(line) for line in PROJECT["build-system"]["requires"]} <= set(wanted["host"])
    assert set(whole["requirements"]["run"]) == {"believable-base ==${{ version }}"} | of_all
    assert (base["package"]["name"], whole["package"]["name"]) == ("believable-base", "believable")


def _conda(requirement: str) -> str:
    name, floor = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)", requirement).groups()
    return f"{CONDA.get(name, name)} >={floor}"


def test_the_lowest_versions_are_all_of_them():
    """An extra that names other extras brings what they name, once; two floors of one package are an error."""
    extras = {"one": ["a>=1"], "two": ["b[x]>=2.1", "believable[one]"], "all": ["believable[one,two]"]}
    assert lowest_versions.lowest(["c>=3", "believable[all]"], extras) == ["c==3", "a==1", "b[x]==2.1"]
    with pytest.raises(SystemExit, match="two lowest versions: a==2 and a==1"):
        lowest_versions.lowest(["a>=2", "believable[one]"], extras)
    with pytest.raises(SystemExit, match="names no lowest version"):
        lowest_versions.lowest(["a"], extras)


def test_the_readme_on_pypi_has_no_relative_link():
    """With an address, links and pictures lead to the files of this version; without one, they are gone."""
    readme, version = text("README.md"), check_release.the_version()
    plain = pypi_readme.pypi_readme(readme, None, version)
    assert "](docs" not in plain
    assert "![" not in plain
    assert "See what each line means and how the answer is found." in plain
    with_address = pypi_readme.pypi_readme(readme, f"{SOURCE}/", version)
    targets = re.findall(r"\]\(([^)]+)\)", with_address)
    assert len(targets) == len(re.findall(r"\]\([^)]+\)", readme))
    for target in targets:
        kind, path = re.fullmatch(rf"{SOURCE}/(blob|raw)/v{re.escape(version)}/([^#]+)(?:#.*)?", target).groups()
        assert (ROOT / path).exists()
        assert (kind == "raw") == path.endswith(".png")


def test_code_is_no_link():
    """What looks like a link in a block of code stays as it is."""
    block = "```python\ncalls[0](docs)\n```"
    assert pypi_readme.pypi_readme(f"[a](b.md)\n\n{block}\n", None, "1.0") == f"a\n\n{block}\n"


def test_setup_uses_the_readme_for_pypi():
    """The README of this version is what setup.py passes on, with the address in pyproject.toml, if there is one."""
    source = PROJECT["project"].get("urls", {}).get("Source")
    expected = pypi_readme.pypi_readme(text("README.md"), source, check_release.the_version())
    assert pypi_readme.readme_of_this_version() == expected
    assert "readme" in PROJECT["project"]["dynamic"]


def test_the_image_gets_what_the_wheel_is_made_of():
    """Files that setup.py and pyproject.toml read are sent to the builder of the image."""
    sent = re.findall(r"^!(\S+)$", text(".dockerignore"), re.MULTILINE)
    assert {"pyproject.toml", "setup.py", "scripts/pypi_readme.py", "README.md", "LICENSE", "src"} <= set(sent)
    assert all((ROOT / name).exists() for name in sent)
