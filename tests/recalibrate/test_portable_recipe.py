"""The recipe of `docs/portable.md` for files of `believable fit --by`: run as printed, it gives what Python gives."""

from __future__ import annotations

import json
import re
import subprocess

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from believable.cli import main
from tests.needs import need
from tests.recalibrate.test_portable import PAGE, block

N, N_NEW = 2_000, 300


def rows(n, seed):
    """Scores that are too low for older patients of one site, with values that are missing or not seen."""
    rng = np.random.default_rng(seed)
    sites, age = ["north", "south", "west", None], rng.integers(20, 90, n)
    site = np.array(sites, object)[rng.integers(0, 4, n)]
    z = rng.normal(-1, 1.3, n)
    harmed = (site == "south") & (age > 60)
    y = rng.random(n) < 1 / (1 + np.exp(-(z + 1.5 * harmed)))
    return pl.DataFrame({"risk": 1 / (1 + np.exp(-z)), "died": y.astype(int), "site": site.tolist(), "age": age})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A map that the command of the page wrote, new rows, and what `believable apply` gives for them."""
    made = tmp_path_factory.mktemp("recipe")
    rows(N, 0).write_csv(made / "patients.csv")
    new = rows(N_NEW, 1).drop("died").with_columns(pl.col("site").replace("west", "east"))
    new.write_csv(made / "new.csv")
    (made / "new.json").write_text(json.dumps(new.to_dicts()))
    (command,) = re.findall(r"^`(believable fit patients[^`]*)`", PAGE, re.MULTILINE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        for line in (command, "believable apply map.json new.csv --prob risk -o python.csv"):
            done = CliRunner().invoke(main, line.split()[1:])
            assert done.exit_code == 0, done.output
    return made


def expected(folder):
    return pl.read_csv(folder / "python.csv")["p_calibrated"].to_numpy()


def test_the_file_is_what_the_page_says(folder):
    """A map by segment, whose common map is an average."""
    saved = json.loads((folder / "map.json").read_text())
    assert saved["method"] == "GroupedRecalibrator"
    assert saved["maps"][0]["base"]["method"] == "AveragedCalibration"


def test_javascript(folder):
    """The program adds the probability to each row, and keeps the rest."""
    for name in ("believable.mjs", "score.mjs"):
        (folder / name).write_text(block("js", name))
    done = subprocess.run([need("node"), "score.mjs"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "out.json").read_text())
    np.testing.assert_allclose([row.pop("p_calibrated") for row in found], expected(folder), rtol=0, atol=1e-12)
    assert found == json.loads((folder / "new.json").read_text())


def test_sql(folder):
    """The script is made by the command that is printed, and writes the rows in their order."""
    duckdb = need("duckdb")
    for name in ("tables", "load", "common_map", "average", "by_segment", "save"):
        (folder / f"{name}.sql").write_text(block("sql", f"-- {name}.sql"))
    subprocess.run(["bash", "-ec", block("text", "cat tables.sql")], cwd=folder, check=True)
    with pytest.MonkeyPatch.context() as patch, duckdb.connect() as connection:
        patch.chdir(folder)
        connection.execute((folder / "score.sql").read_text())
    found, new = pl.read_csv(folder / "out.csv"), pl.read_csv(folder / "new.csv")
    np.testing.assert_allclose(found["p_calibrated"].to_numpy(), expected(folder), rtol=0, atol=1e-12)
    assert found.drop("p_calibrated").equals(new)
