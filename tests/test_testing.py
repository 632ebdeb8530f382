"""`assert_calibrated`: what passes, what fails, and what the failure says."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import believable
from believable.auditing import judgement, make
from believable.errors import InputError
from believable.readers import load_demo
from believable.report.verdicts import TONES
from believable.testing import assert_calibrated

N = 2000


@pytest.fixture(scope="module")
def calibrated():
    """Scores and outcomes that follow them."""
    rng = np.random.default_rng(0)
    p = rng.random(N)
    return p, (rng.random(N) < p).astype(int)


@pytest.fixture(scope="module")
def too_high():
    """Scores of which those above 0.6 are too high, and their outcomes."""
    rng = np.random.default_rng(1)
    p = rng.random(N)
    return p, (rng.random(N) < np.where(p > 0.6, p - 0.3, p)).astype(int)


@pytest.fixture(scope="module")
def audit(too_high):
    """The audit of these scores."""
    return believable.audit(*too_high, fix=False)


@pytest.fixture
def answered(monkeypatch, calibrated):
    """Make every verdict give this answer."""

    def give(answer):
        found = replace(believable.verdict(*calibrated), answer=answer, rows_needed=900)
        monkeypatch.setattr(judgement, "judge", lambda source, settings: found)

    return give


def failure(*arguments, **keywords):
    """Return the message of an assertion that has to fail."""
    with pytest.raises(AssertionError) as error:
        assert_calibrated(*arguments, **keywords)
    return str(error.value)


@pytest.mark.parametrize("answer", TONES)
@pytest.mark.parametrize(
    "allow", [(), "use with care", "not enough data", ("use with care", "not enough data"), "no, recalibrate first"]
)
def test_which_answers_pass(answered, calibrated, answer, allow):
    """Both kinds of Yes always do; whoever allows No allows what is milder."""
    answered(answer)
    allowed = {allow} if isinstance(allow, str) else {*allow}
    if "no, recalibrate first" in allowed:
        allowed.add("use with care")
    if answer.startswith("yes") or answer in allowed:
        assert_calibrated(*calibrated, allow=allow)
    else:
        assert f'To let this answer pass: allow="{answer}"' in failure(*calibrated, allow=allow)


def test_the_message_is_the_verdict(too_high):
    """All its sentences, which scores are wrong among them, and what to do; a message of one's own comes first."""
    said = failure(*too_high).split("\n")
    verdict = believable.verdict(*too_high)
    assert said[: len(verdict.lines())] == verdict.lines()
    assert verdict.ranges[0].in_words() in said
    assert said[len(verdict.lines()) :] == [
        'To recalibrate the scores: believable.calibrate(scores, labels, method="auto").',
        'To let this answer pass: allow="no, recalibrate first", with a limit such as ece=0.1.',
    ]
    assert failure(*too_high, message="model of May").startswith("model of May: No, recalibrate first. ")


def test_it_says_how_many_rows_are_needed():
    """Too few rows fail, unless that is allowed."""
    rng = np.random.default_rng(3)
    p = rng.random(12)
    y = rng.random(12) < p
    verdict = believable.verdict(p, y)
    assert verdict.answer == "not enough data"
    assert failure(p, y).startswith(
        f"Not enough data. 12 rows cannot tell good calibration from poor; about {verdict.needed} could."
    )
    assert_calibrated(p, y, allow="not enough data")


def test_the_subgroup_is_named(too_high, calibrated):
    """Where only one subgroup is wrong, the failure says which; without `by` these scores pass."""
    rng = np.random.default_rng(4)
    p = rng.random(6000)
    site = rng.choice(["a", "b", "c", "d", "e", "f"], 6000)
    y = rng.random(6000) < np.where(site == "b", p**1.6, np.where(site == "c", p**0.66, p))
    assert_calibrated(p, y)
    said = failure(p, y, by={"site": site})
    audit = believable.audit(p, y, by={"site": site}, fix=False)
    assert said.startswith(audit.verdict.headline)
    flagged = {part.name: part for part in audit.subgroups if part.flagged}
    assert {"b", "c"} <= set(flagged)
    for name, part in flagged.items():
        assert f"site = {name} {part.in_words}, {part.n:,} rows." in said


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"ece": ("high", 1e-9)}, True),
        ({"ece": ("high", -1e-9)}, False),
        ({"ece_low": ("low", 1e-9)}, True),
        ({"ece_low": ("low", -1e-9)}, False),
        ({"ece_value": ("value", 1e-9)}, True),
        ({"ece_value": ("value", -1e-9)}, False),
        ({"auc": ("low", -1e-9)}, True),
        ({"auc": ("low", 1e-9)}, False),
        ({"roc_auc_high": ("high", 1e-9)}, False),
        ({"log_loss": ("high", 1e-9)}, True),
    ],
)
def test_limits_compare_what_the_audit_has(too_high, audit, limits, kept):
    """The same numbers as an audit, to the last digit; the worse end of the interval by default."""
    ((keyword, (end, step)),) = limits.items()
    name = {"ece_low": "ece", "ece_value": "ece", "roc_auc_high": "auc"}.get(keyword, keyword)
    limit = {keyword: getattr(audit[name], end) + step}
    allow = "no, recalibrate first"
    if kept:
        assert_calibrated(*too_high, allow=allow, **limit)
    else:
        assert f"FAILED: {audit[name].alias} at " in failure(*too_high, allow=allow, **limit)


def test_a_limit_does_not_replace_the_verdict(too_high):
    """A generous limit does not make a bad answer pass, and a failing message has both."""
    said = failure(*too_high, ece=0.9, auc=0.99)
    assert said.startswith("No, recalibrate first.")
    assert "passed: ece at most 0.9: the upper end of the 95 % interval" in said
    assert "FAILED: auc at least 0.99: the lower end of the 95 % interval" in said


def test_a_number_is_seen_to_be_beyond_its_limit(too_high, audit):
    """Numbers that four decimals cannot tell from the limit have more of them, and the limit is as it was given."""
    high = audit["ece"].high
    limit = np.floor(high * 1e4) / 1e4  # the interval ends just above
    text = failure(*too_high, allow="no, recalibrate first", ece=limit)
    found, beyond = re.search(r"95 % interval is ([\d.]+), above ([\d.]+);", text).groups()
    assert float(found) > float(beyond) == limit
    text = failure(*too_high, ece=high + 1e-12)
    found, beyond = re.search(r"95 % interval is ([\d.]+), not above ([\d.]+);", text).groups()
    assert float(found) <= float(beyond) == pytest.approx(high + 1e-12, rel=1e-14)


def test_the_cube_root_of_the_rows(calibrated):
    """The rows are known here, so that their number may decide on the bins, as in an audit."""
    assert_calibrated(*calibrated, n_bins="cube_root", ece=0.1)
    assert "13 uniform bins" in failure(*calibrated, n_bins="cube_root", ece=0.001)


def test_metrics_with_two_limits(too_high, audit):
    """Neither a small nor a large slope is good."""
    slope, allow = audit["slope"], "no, recalibrate first"
    assert_calibrated(*too_high, allow=allow, slope=(slope.low, slope.high))
    assert "FAILED: slope at least 1.5" in failure(*too_high, allow=allow, slope=(1.5, 2))
    assert "FAILED: slope at most 0.1" in failure(*too_high, allow=allow, slope=(0, 0.1))


def test_it_takes_what_an_audit_takes(too_high):
    """Predictions with logits, a summary, a file's rows, weights, clusters and classes."""
    p, y = too_high
    logits = believable.Predictions(np.log(p / (1 - p)), y, from_logits=True)
    assert failure(logits).startswith("No, recalibrate first.")
    assert failure(believable.Summary.of(believable.Predictions(p, y))).startswith("No, recalibrate first.")
    assert failure(load_demo()["naive_bayes"]).startswith("No, recalibrate first.")
    few = failure(p[:60], y[:60], sample_weight=np.arange(1, 61))
    assert few.split("\n")[0] == believable.verdict(p[:60], y[:60], sample_weight=np.arange(1, 61)).headline
    patients = np.arange(N) // 4
    verdict = believable.verdict(p, y, clusters=patients)
    assert failure(p, y, clusters=patients).split("\n")[0] == verdict.headline
    assert f"({verdict.low:.4f}"[1:] in failure(p, y, clusters=patients)
    rng = np.random.default_rng(5)
    rows = rng.dirichlet(np.full(3, 0.7), 1500)
    label = [rng.choice(3, p=row) for row in rows]
    assert_calibrated(rows, label)
    sharp = rows**3 / (rows**3).sum(axis=1, keepdims=True)
    assert "confident" in failure(sharp, label, sce=0.9)


def test_files_bring_their_clusters_and_subgroups(tmp_path, too_high):
    """What a reader returns is passed as it is."""
    p, y = too_high
    path = tmp_path / "rows.csv"
    lines = [f"{i // 4},{'ab'[i % 2]},{p[i]},{y[i]}" for i in range(N)]
    path.write_text("\n".join(["patient,site,p,y", *lines]) + "\n")
    loaded = believable.readers.load(path, cluster="patient", by=["site"])
    said = failure(loaded)
    assert said.startswith(believable.verdict(p, y, clusters=np.arange(N) // 4).headline)
    assert "site = a over-predicts" in said
    with pytest.raises(InputError):
        assert_calibrated(loaded, y)


def test_it_is_deterministic(too_high):
    """Twice the same message, to the last digit, even where resampling is involved."""
    said = [failure(*too_high, allow="no, recalibrate first", brier=0.01, smece=0.01) for _ in range(2)]
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"sample_weigths": 1}, "has no argument 'sample_weigths', and there is no such metric (did you mean sample_weight?)"),
        ({"ec": 0.1}, "has no argument 'ec', and there is no such metric (did you mean ece?)"),
        ({"eces": 0.1}, "did you mean ece?"),
        ({"neg_log_loss": 0.1}, "use 'log_loss', for which lower is better here"),
        ({"ece": "small"}, "ece='small': the limit must be a number, got 'small'"),
        ({"ece": True}, "ece=True: the limit must be a number, got True"),
        ({"ece": np.True_}, "the limit must be a number, got"),
        ({"ece": float("nan")}, "the limit must be a number"),
        ({"ece": 5}, "ece=5: ece lies in [0, 1], so 5 cannot be its limit; for 5 %, write 0.05"),
        ({"slope": 1}, "slope=1: slope is best at 1, so give the lowest and the highest value that pass"),
        ({"slope": (1.2, 0.8)}, "the lowest value that passes comes first"),
        ({"slope": (1, 2, 3)}, "give the lowest and the highest value that pass, as slope=(low, high)"),
        ({"sce": 0.1}, "sce=0.1: with one score per row, an audit does not measure sce; choose one of ece, smece"),
        ({"allow": "care"}, "allow must be one of 'use with care', 'no, recalibrate first', 'not enough data', got 'care'"),
        ({"allow": 3}, "allow must be one of"),
        ({"allow": ["no, recalibrate first", "not enough data"]}, "this test could never fail: give a limit"),
        ({"n_bins": 0}, "n_bins"),
        ({"pairs": "yes"}, "pairs must be True"),
        ({"sample_weight": [1, 2]}, "sample_weight"),
    ],
)  # fmt: skip
def test_bad_arguments_are_errors_not_failures(calibrated, keywords, sentence):
    """An InputError, which no test mistakes for a failed assertion."""
    with pytest.raises(InputError) as error:
        assert_calibrated(*calibrated, **keywords)
    assert sentence in str(error.value)


def test_undefined_metrics_are_errors():
    """A limit on the AUC of a single class cannot be judged."""
    with pytest.raises(InputError, match=r"auc=0\.5: auc is not defined for these predictions"):
        assert_calibrated([0.9, 0.95] * 50, [1, 1] * 50, allow=["no, recalibrate first", "not enough data"], auc=0.5)


def test_nothing_is_computed_that_nobody_asked_for(monkeypatch, calibrated):
    """A test suite should not wait for curves, other metrics and recalibration."""
    for name in ("remedy", "_lines", "slices_of"):
        monkeypatch.setattr(make, name, None)
    assert_calibrated(*calibrated, ece=0.5)


def test_pytest_is_not_needed_and_not_imported():
    """A plain AssertionError, in any test runner."""
    code = (
        "import sys; from believable.testing import assert_calibrated\n"
        "try: assert_calibrated([0.1, 0.2, 0.8, 0.9] * 50, [0, 0, 1, 1] * 50, n_bins=2)\n"
        "except AssertionError as error: print(str(error)[:21], 'pytest' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "No, recalibrate first False\n"


def test_pytest_shows_the_line_of_the_test(tmp_path):
    """Not the lines of the library, and the whole message."""
    (tmp_path / "test_model.py").write_text(
        "from believable.testing import assert_calibrated\n\n"
        "def test_scores():\n    assert_calibrated([0.1, 0.2, 0.8, 0.9] * 50, [0, 0, 1, 1] * 50, n_bins=2)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_model.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert ">       assert_calibrated(" in done.stdout or ">   " in done.stdout
    assert "test_model.py:4: AssertionError" in done.stdout
    assert "testing.py" not in done.stdout
    assert (
        "E       AssertionError: No, recalibrate first. When it says 85 %, it happens 100 % of the time" in done.stdout
    )
