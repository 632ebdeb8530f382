"""What a plain installation does: everything that needs no more than NumPy and SciPy, and one sentence for the rest."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tests.plain import OPTIONAL, printed, run

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

ROWS = """
import numpy as np
import believable

rng = np.random.default_rng(0)
p = rng.random(600)
y = (rng.random(600) < p**1.5).astype(int)
patient = np.arange(600) // 3
probs = rng.dirichlet(np.ones(3), 500)
kind = np.array([rng.choice(3, p=row) for row in probs])
"""


def test_only_numpy_and_scipy_are_required():
    """The required dependencies are two; each other package belongs to an extra."""
    assert [line.partition(">=")[0] for line in PROJECT["dependencies"]] == ["numpy", "scipy"]


WORKS = {
    "every metric": """
from believable.metrics import METRICS
for row in METRICS.values():
    try:
        value = row.function(p, y)
    except ValueError:
        value = row.function(probs, kind)
    assert np.isfinite(float(getattr(value, "slope", value))), row.name
assert len(METRICS) > 30
""",
    "several classes": """
assert 0 < believable.evaluate(probs, kind)["accuracy"] <= 1
assert believable.audit(probs, kind, fix=True).verdict is not None
""",
    "curves and statistics": """
assert len(believable.reliability_table(p, y).n) == 10
assert believable.corp_curve(p, y) is not None
assert believable.smoothed_calibration_curve(p, y) is not None
half = believable.stats.Summary.of(believable.Predictions(p[:300], y[:300]))
both = half + believable.stats.Summary.of(believable.Predictions(p[300:], y[300:]))
assert both.n == 600
both.save("both.summary")
assert believable.stats.Summary.load("both.summary").n == 600
""",
    "intervals, noise floors, tests": """
found = believable.interval("ece", p, y)
assert found.low < found.high
assert believable.noise_floor("ece", p, y).mean > 0
assert believable.spiegelhalter(p, y).p_value > 0.05
assert believable.cox_test(p, y).p_value < 0.05
assert believable.compare(p, p**1.5, y).low > 0
assert len(believable.subgroups(p, y, np.where(p > 0.5, "a", "b")).groups) == 2
assert believable.rows_needed(width=0.02, base_rate=0.2).n > 6000
""",
    "an audit in every form": """
found = believable.audit(p, y, clusters=patient, by={"half": np.arange(600) % 2})
assert found.fix is not None
assert str(found).startswith("600 rows")
assert "|" in found.to_markdown()
page = found.to_html()
assert "<html" in page and "http://" not in page.replace("http://www.w3.org", "")
assert found.to_json()
""",
    "a verdict": """
assert str(believable.verdict(p, y)).startswith("No, recalibrate first")
""",
    "a calibration map": """
from believable.recalibrate import PlattScaling, load_recalibrator
chosen = believable.calibrate(p, y)
saved = chosen.to_json()
again = load_recalibrator(saved)
assert np.array_equal(again.transform(p), chosen.transform(p))
model = PlattScaling().fit(p, y)
assert model.score(p, y) > 0.5 and np.array_equal(model.fit_transform(p, y), model.transform(p))
assert np.array_equal(load_recalibrator(model.to_json()).transform(p), model.transform(p))
""",
    "assertions": """
from believable.testing import assert_calibrated
try:
    assert_calibrated(p, y)
except AssertionError as error:
    assert "recalibrate first" in str(error)
else:
    raise SystemExit("nothing was raised")
""",
    "streams": """
from believable.streams import CalibrationMeter
meter = CalibrationMeter()
meter.update(p, y)
assert meter.n == 600 and len(meter.compute()) > 0
""",
    "the toolbox": """
from believable import toolbox
assert 0 < toolbox.ECE(p, y) < 1
""",
    "decisions": """
assert believable.net_benefit(p, y) is not None
assert believable.threshold_for(p, y, precision=0.5) is not None
assert believable.selective(p, y) is not None
""",
    "the skill for coding agents": """
from importlib.resources import files
assert "believable.audit" in (files("believable") / "SKILL.md").read_text(encoding="utf-8")
""",
    "the rows of the demo": """
assert len(believable.readers.load_demo()["logistic"]) == 1797
""",
    "the list of names": """
from believable import *
import inspect
for package in (believable, believable.recalibrate, believable.readers, believable.engines, believable.plots):
    for name in package.__all__:
        if name != "torch":
            assert getattr(package, name) is not None
""",
    "a progress bar, which is left out": """
import sys
sys.stderr.isatty = lambda: True
believable.audit(p[:100], y[:100], fix=False, progress=True)
""",
}


EACH = """
import json, traceback
found = {{}}
for name, code in {parts!r}.items():
    try:
        exec(code, dict(globals()))
    except {caught} as error:
        found[name] = {told}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    """Run all parts in one process, which is started in seconds, and return the traceback of each that failed."""
    code = ROWS + EACH.format(parts=WORKS, caught="BaseException", told="traceback.format_exc()")
    return json.loads(printed(code, folder=tmp_path_factory.mktemp("works")))


@pytest.mark.parametrize("what", list(WORKS))
def test_it_works_with_numpy_and_scipy_alone(what, failures):
    """Everything in this list needs nothing else, and imports nothing else."""
    assert what not in failures, failures[what]


REFUSED = {
    "believable.plot_reliability_diagram(p, y)": 'plots need Matplotlib: pip install "believable[plots]"',
    "believable.ReliabilityDisplay.from_predictions(y, p)": 'plots need Matplotlib: pip install "believable[plots]"',
    "believable.recalibrate.Recalibrated(None)": 'Recalibrated needs scikit-learn: pip install "believable[sklearn]"',
    "believable.scorer('ece').set_score_request(sample_weight=True)": (
        'metadata routing needs scikit-learn: pip install "believable[sklearn]"'
    ),
    "believable.ReliabilityDisplay.from_cv_results({}, p, y)": (
        'predictions from the folds of cross_validate need scikit-learn: pip install "believable[sklearn]"'
    ),
    "believable.readers.load('rows.csv')": 'reading files needs Polars: pip install "believable[files]"',
    "believable.readers.summarize_files('rows.parquet', prob='p', label='y')": (
        'reading files needs Polars: pip install "believable[files]"'
    ),
    "believable.engines.summarize(None)": (
        'counting the rows of a data frame needs Narwhals: pip install "believable[files]"'
    ),
    "believable.reliability_table(p, y).to_frame()": (
        "to_frame(backend='polars') needs Polars: pip install \"believable[files]\""
    ),
    "believable.torch": 'believable.torch needs PyTorch: pip install "believable[torch]"',
}


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    """What each call says."""
    folder = tmp_path_factory.mktemp("refused")
    (folder / "rows.csv").write_text("p,y\n0.5,1\n0.2,0\n")
    parts = {call: call for call in REFUSED}
    code = ROWS + "from believable.errors import MissingDependencyError as Missing\n"
    return json.loads(printed(code + EACH.format(parts=parts, caught="Missing", told="str(error)"), folder=folder))


@pytest.mark.parametrize("call", list(REFUSED))
def test_what_is_missing_names_its_extra(call, sentences):
    """One sentence, an ImportError, which says what to install."""
    assert sentences.get(call) == REFUSED[call]


@pytest.mark.parametrize("absent", ["click", "rich"])
def test_the_command_says_what_it_needs(absent):
    """Without click or rich the command prints a sentence, exits with 2, and shows no traceback."""
    done = run("import sys; sys.argv = ['believable', 'audit']\nfrom believable.__main__ import run; run()", (absent,))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f'Error: the command line needs {absent}: pip install "believable[cli]"\n'


COMMAND = "import sys; sys.argv = ['believable', *{words!r}]\nfrom believable.__main__ import run; run()"


def test_commands_need_no_more_than_their_extra(tmp_path):
    """With click, rich, Polars and Narwhals alone, rows are audited, a map is fitted and applied; no plots are drawn."""
    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = (rng.random(400) < p**2).astype(int)
    np.savetxt(tmp_path / "rows.csv", np.c_[p, y], "%.6f,%d", header="p,y", comments="")
    others = tuple(set(OPTIONAL) - {"click", "rich", "polars", "narwhals"})

    def command(*words: str):
        return run(COMMAND.format(words=words), others, tmp_path)

    assert "recalibrate first" in command("audit", "rows.csv", "--html", "page.html").stdout
    assert command("fit", "rows.csv", "-o", "map.json").returncode == 0
    assert command("apply", "map.json", "rows.csv", "-o", "new.csv").returncode == 0
    assert len((tmp_path / "new.csv").read_text().splitlines()) == 401
    refused = command("audit", "rows.csv", "--plot", "picture.png")
    assert refused.returncode == 2
    assert refused.stderr == 'Error: --plot needs Matplotlib: pip install "believable[plots]"\n'
    shown = command("demo")
    assert shown.returncode == 0, shown.stderr
    assert 'No picture: plots need Matplotlib: pip install "believable[plots]"' in " ".join(shown.stdout.split())


AUDITS = """
import json, sys
from believable.recalibrate import AveragedCalibration, OneVsRest, PlattScaling
found = [
    believable.audit(p, y, random_state=1).to_dict(),
    believable.audit(p, y, clusters=patient, by={"half": np.arange(600) % 2}).to_dict(),
    believable.audit(probs, kind).to_dict(),
    [json.loads(believable.calibrate(p, y, method=name).to_json()) for name in ("auto", "platt", "isotonic")],
    json.loads(believable.calibrate(probs, kind).to_json()),
    json.loads(AveragedCalibration(methods=[PlattScaling(), OneVsRest("beta")]).fit(p, y).to_json()),
    repr(PlattScaling(targets="smoothed")),
    "sklearn" in sys.modules,
]
print(json.dumps(found))
"""


def test_numbers_do_not_depend_on_scikit_learn(tmp_path):
    """An audit with its remedy, and calibration maps, are the same to the last digit with and without scikit-learn."""
    without, with_it = (json.loads(printed(ROWS + AUDITS, refused, tmp_path)) for refused in (("sklearn",), ()))
    assert (without.pop(), with_it.pop()) == (False, True)
    assert without == with_it


def test_the_oldest_versions_are_those_of_the_extras():
    """Sentences about packages that are too old name the versions of pyproject.toml."""
    from believable._optional import DISTRIBUTIONS, PACKAGES

    extras = PROJECT["optional-dependencies"]
    for name, package in PACKAGES.items():
        assert f"{DISTRIBUTIONS.get(name, name)}>={package.oldest}" in extras[package.extra]


OLD = """
import importlib.metadata as metadata
genuine = metadata.version
metadata.version = lambda name: {"scikit-learn": "1.5.2", "matplotlib": "3.7.0rc1"}.get(name) or genuine(name)
"""


def test_packages_that_are_too_old():
    """They are left alone, as if they were absent, and the sentence says what to upgrade."""
    said = printed(
        f"""{OLD}{ROWS}
import sys
from believable.errors import MissingDependencyError
assert believable.audit(p, y).fix is not None and "sklearn" not in sys.modules
for call in (lambda: believable.plot_reliability_diagram(p, y), lambda: believable.recalibrate.Recalibrated(None)):
    try:
        call()
    except MissingDependencyError as error:
        print(error)
""",
        (),
    )
    assert said.splitlines() == [
        'plots need Matplotlib 3.8 or newer, and 3.7.0rc1 is installed: pip install --upgrade "believable[plots]"',
        "Recalibrated needs scikit-learn 1.6 or newer, and 1.5.2 is installed: pip install --upgrade "
        '"believable[sklearn]"',
    ]
