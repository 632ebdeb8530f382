"""The calculator of how-many-rows computes what Python computes, and shows it in a browser."""

from __future__ import annotations

import json
import subprocess
from itertools import product
from pathlib import Path

import pytest

import believable
from tests.needs import need

pytestmark = pytest.mark.slow

STATIC = Path(__file__).resolve().parent.parent.parent / "docs" / "_static"
NAMES = {
    "floor": "floor",
    "floorQ95": "floor_q95",
    "width": "width",
    "slopeWidth": "slope_width",
    "oeWidth": "oe_width",
}
CASES = [
    {"n": n, "bins": bins, "strategy": strategy, "baseRate": rate, "auc": auc}
    for n, bins, strategy, rate, auc in product(
        (1, 100, 25_000), (1, 10, 45), ("uniform", "quantile"), (0.0001, 0.001, 0.03, 0.5, 0.999), (0.51, 0.8, 0.999)
    )
]
RUN = """
const R = require(process.argv[1]);
const cases = JSON.parse(require("fs").readFileSync(0, "utf8"));
const needed = (one, name) => R.rowsNeeded({ [name]: 0.02 }, one).n;
console.log(JSON.stringify(cases.map((one) => ({
  ...R.expectedPrecision(one.n, one), needed: [needed(one, "floor"), needed(one, "width")],
}))));
"""


def test_the_script_computes_what_python_computes():
    """Floors, quantiles, widths and rows needed agree to 1e-6 on a grid of plans."""
    command = [need("node"), "-e", RUN, str(STATIC / "rows.js")]
    done = subprocess.run(command, input=json.dumps(CASES), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for case, found in zip(CASES, json.loads(done.stdout), strict=True):
        choices = {"n_bins": case["bins"], "strategy": case["strategy"]}
        choices |= {"base_rate": case["baseRate"], "auc": case["auc"]}
        planned = believable.expected_precision(case["n"], **choices)
        for name, python in NAMES.items():
            assert found[name] == pytest.approx(getattr(planned, python), rel=1e-6), (case, name)
        needed = [believable.rows_needed(**{name: 0.02}, **choices).n for name in ("floor", "width")]
        assert found["needed"] == pytest.approx(needed, rel=1e-6, abs=1)


def test_the_calculator_in_a_browser(tmp_path):
    """Fields have labels, what is shown is what Python says, and a bad base rate is told."""
    program = need("browser")
    from playwright.sync_api import sync_playwright

    scripts = "".join(
        f'<script src="{(STATIC / name).as_uri()}"></script>' for name in ("rows.js", "rows-calculator.js")
    )
    page_file = tmp_path / "page.html"
    page_file.write_text(f'<!doctype html><div id="rows-calculator">no script</div>{scripts}')
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(error))
        page.goto(page_file.as_uri())
        page.get_by_role("slider", name="Bins").fill("15")
        page.get_by_label("Base rate").fill("0.1")
        page.get_by_label("for an interval of the ECE this wide").fill("0.01")
        shown = {name: page.inner_text(f"#rc-{name}") for name in ("floor", "q95", "width", "slope", "oe", "n-width")}
        page.get_by_label("Base rate").fill("0.001")
        few = page.inner_text("#rc-n-floor")
        page.get_by_label("Base rate").fill("2")
        refused = page.inner_text("#rc-n-width"), page.get_attribute("#rc-rate", "aria-invalid")
        browser.close()
    planned = believable.expected_precision(2000, n_bins=15, base_rate=0.1)
    values = (planned.floor, planned.floor_q95, planned.width, planned.slope_width, planned.oe_width)
    assert [float(shown[name]) for name in ("floor", "q95", "width", "slope", "oe")] == [
        float(f"{v:.2g}") for v in values
    ]
    assert shown["n-width"] == f"{believable.rows_needed(width=0.01, n_bins=15, base_rate=0.1).n:,} rows"
    assert few == "15,000 rows (for 15 events)"
    assert refused == ("base rate: 0.001 to 0.999", "true")
    assert errors == []
