"""Meters as text for Prometheus: valid, exact, and such that sums over instances give the error of all rows."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from believable import CalibrationMeter, CalibrationMonitor, DriftAlarm, Predictions, evaluate, interval, noise_floor
from believable.errors import InputError
from believable.streams import prometheus_text

ECE = "believable_expected_calibration_error"


def read(text):
    """Read the text by the rules of the format; return {(name, labels): value}, and check what it demands."""
    assert text.endswith("\n")
    found, family, seen = {}, None, set()
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            family = line.split(" ")[2]
            assert family not in seen, "the samples of a family stand together"
            seen.add(family)
            continue
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)", line).groups()
        assert name.startswith(family)
        pairs = re.findall(r'(\w+)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)', labels or "")
        assert ",".join(f'{one}="{text}"' for one, text in pairs) == (labels or "")
        key = (
            name,
            frozenset((one, re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), text)) for one, text in pairs),
        )
        assert key not in found
        found[key] = float(value)
    return found


def only(found, name, **labels):
    """The value of a sample."""
    return found[name, frozenset(labels.items())]


def by_bin(found, name):
    """The samples of a counter, by bin and class."""
    return {
        tuple(sorted((k, v) for k, v in labels if k in ("bin", "class"))): value
        for (one, labels), value in found.items()
        if one == name
    }


def error_of(*pages):
    """Evaluate the PromQL of the page on several instances, literally."""
    sums = {name: defaultdict(float) for name in ("rows", "predicted", "observed")}
    for page in pages:
        for name, total in sums.items():
            for key, value in by_bin(page, f"believable_bin_{name}_total").items():
                total[key] += value
    gaps = sum(abs(sums["predicted"][key] - sums["observed"][key]) for key in sums["rows"])
    return gaps / sum(sums["rows"].values())


@pytest.fixture
def rows():
    """Scores, some of them on the edges of bins, and outcomes."""
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.random(900), np.repeat(np.arange(11) / 10, 10)])
    return p, (rng.random(len(p)) < p**1.3).astype(int)


def metered(*arguments, **settings):
    meter = CalibrationMeter(**settings)
    meter.update(*arguments)
    return meter


def test_every_number_is_that_of_the_library(rows):
    """Counts by hand, everything else by the functions of the library."""
    p, y = rows
    found = read(prometheus_text(metered(p, y)))
    assert only(found, "believable_rows_total") == len(p)
    assert only(found, "believable_ignored_rows_total") == 0
    names = [f"{'(' if i else '['}{i / 10:g}, {(i + 1) / 10:g}]" for i in range(10)]
    for i, name in enumerate(names):
        here = (p > np.arange(11)[i] / 10) & (p <= np.arange(11)[i + 1] / 10) | ((p == 0) & (i == 0))
        assert only(found, "believable_bin_rows_total", bin=name) == here.sum()
        assert only(found, "believable_bin_observed_total", bin=name) == y[here].sum()
        assert only(found, "believable_bin_predicted_total", bin=name) == pytest.approx(p[here].sum(), rel=1e-12)
        le = str((i + 1) / 10)
        assert only(found, "believable_score_bucket", le=le) == (p <= (i + 1) / 10).sum()
        assert only(found, "believable_event_score_bucket", le=le) == y[p <= (i + 1) / 10].sum()
    for name, of in (("score", np.ones(len(p))), ("event_score", y)):
        assert only(found, f"believable_{name}_bucket", le="+Inf") == of.sum()
        assert only(found, f"believable_{name}_count") == of.sum()
        assert only(found, f"believable_{name}_sum") == pytest.approx((p * of).sum(), rel=1e-12)
    assert only(found, "believable_mean_prediction") == pytest.approx(p.mean(), rel=1e-12)
    assert only(found, "believable_observed_rate") == pytest.approx(y.mean(), rel=1e-12)
    summary = metered(p, y).summary
    values = evaluate(summary, metrics=["ece", "brier", "nll"])
    assert only(found, ECE) == values["expected_calibration_error"]
    assert only(found, "believable_brier_score") == values["brier_score"]
    assert only(found, "believable_log_loss") == values["negative_log_likelihood"]
    ends = interval("ece", summary, random_state=0)
    assert only(found, f"{ECE}_interval", end="low") == ends.low
    assert only(found, f"{ECE}_interval", end="high") == ends.high
    assert only(found, f"{ECE}_noise_floor") == noise_floor("ece", summary, random_state=0).mean
    assert prometheus_text(metered(p, y)) == prometheus_text(metered(p, y))


def test_counters_of_instances_add(rows):
    """The PromQL of the page gives the error of all rows of all instances, which is no mean of their errors."""
    p, y = rows
    low = p < 0.5
    a, b = (metered(p[some], y[some] if some is low else 1 - y[some]) for some in (low, ~low))
    found = [read(prometheus_text(one, labels={"instance": name})) for one, name in ((a, "a"), (b, "b"))]
    everything = evaluate((a + b).summary, metrics=["ece"])["expected_calibration_error"]
    assert error_of(*found) == pytest.approx(everything, rel=1e-12)
    labels = np.where(low, y, 1 - y)
    literal = 0.0
    for i in range(10):
        here = (p > i / 10) & (p <= (i + 1) / 10) | (p == 0) & (i == 0)
        literal += abs(p[here].sum() - labels[here].sum()) / len(p)
    assert error_of(*found) == pytest.approx(literal, rel=1e-12)


@pytest.mark.parametrize("notion", [None, "confidence", "classwise", "top_label"])
def test_classes(notion):
    """A matrix: the predicted class, or each class with a label of its own."""
    rng = np.random.default_rng(1)
    scores = rng.dirichlet(np.ones(3), 600)
    labels = rng.integers(0, 3, 600)
    meter = CalibrationMeter(classes=["cat", "dog", 'o"wl\\'])
    meter.update(scores, np.array(["cat", "dog", 'o"wl\\'])[labels])
    found = read(prometheus_text(meter, notion=notion))
    value = evaluate(meter.summary, metrics=["ece"], notion=notion)["expected_calibration_error"]
    assert error_of(found) == pytest.approx(value, rel=1e-12)
    assert only(found, ECE) == value
    named = {dict(labels).get("class") for _, labels in found}
    assert named == ({None} if notion in (None, "confidence") else {None, "cat", "dog", 'o"wl\\'})


def test_weights_and_soft_labels(rows):
    """Weights count; outcomes may be shares."""
    p, y = rows
    w = np.random.default_rng(2).random(len(p))
    meter = metered(p, y, w)
    found = read(prometheus_text(meter))
    assert error_of(found) == pytest.approx(only(found, ECE), rel=1e-12)
    assert sum(by_bin(found, "believable_bin_rows_total").values()) == pytest.approx(w.sum(), rel=1e-12)
    assert not any("score_" in name for name, _ in found if "brier" not in name)  # histograms count whole rows
    assert only(found, "believable_rows_total") == len(p)
    soft = read(prometheus_text(metered(p, 0.3 + 0.4 * y, soft_labels=True), intervals=False))
    assert sum(by_bin(soft, "believable_bin_observed_total").values()) == pytest.approx((0.3 + 0.4 * y).sum())
    assert only(soft, "believable_score_count") == len(p)
    assert not any(name.startswith("believable_event_score") for name, _ in soft)


def test_single_precision_has_the_same_buckets(rows):
    """Edges are written as decimal numbers, so that instances of both types add."""
    p, y = rows
    single = read(prometheus_text(metered(p.astype(np.float32), y), intervals=False))
    double = read(prometheus_text(metered(p, y), intervals=False))
    assert set(single) == set(double)


def test_before_the_first_row():
    """A new meter has counts of 0 and no metrics; so does one that lacks its positive label."""
    empty = read(prometheus_text(CalibrationMeter()))
    assert empty == {("believable_rows_total", frozenset()): 0, ("believable_ignored_rows_total", frozenset()): 0}
    meter = metered([0.2, 0.3], ["no", "no"], pos_label="yes")
    assert only(read(prometheus_text(meter)), "believable_rows_total") == 2
    meter = metered([0.2, 0.3, 0.4], [0.0, 1.0, np.nan], ignore_label=float("nan"))
    assert only(read(prometheus_text(meter, intervals=False)), "believable_ignored_rows_total") == 1


def test_what_is_infinite_or_undefined():
    """An infinite log loss is +Inf; a metric that is undefined is left out."""
    text = prometheus_text(metered([0.0, 1.0], [1, 1]), intervals=False)
    assert "believable_log_loss +Inf\n" in text
    assert only(read(text), "believable_log_loss") == math.inf
    alarm = DriftAlarm()
    assert only(read(prometheus_text(alarm)), "believable_drift_alarm") == 0


def test_several_models_share_their_families(rows):
    """All samples of a name stand together, with the label `model`; hostile texts are escaped."""
    p, y = rows
    hostile = 'a"b\\c\nd{}=,#\ud800é'
    text = prometheus_text(
        {hostile: metered(p, y), "other": metered(p, 1 - y)}, labels={"version": '"\\\n'}, intervals=False
    )
    text.encode("utf-8")
    found = read(text)
    label = {"model": hostile.replace("\ud800", "�"), "version": '"\\\n'}
    assert only(found, "believable_rows_total", **label) == len(p)
    assert text.count("# HELP believable_rows_total ") == text.count("# TYPE believable_rows_total counter") == 1


def test_openmetrics(rows):
    """Counters lose _total in their descriptions, and the text ends with EOF."""
    p, y = rows
    text = prometheus_text(metered(p, y), openmetrics=True, intervals=False)
    assert "# TYPE believable_rows counter\nbelievable_rows_total 1010\n" in text
    assert text.endswith("\n# EOF\n")
    plain = prometheus_text(metered(p, y), intervals=False)
    assert read(plain) == read(text.removesuffix("# EOF\n"))
    assert "# EOF" not in plain


def test_monitors():
    """The last complete window, the rows left out, and the alarm."""
    monitor = CalibrationMonitor(timedelta(hours=1), tolerance=0.02, random_state=0, ignore_label=-1)
    assert read(prometheus_text(monitor))["believable_rows_total", frozenset()] == 0
    rng = np.random.default_rng(0)
    start = datetime(2026, 11, 1, tzinfo=UTC)
    for hour in range(30):
        p = rng.random(400)
        y = (rng.random(400) < (p if hour < 10 else p**3)).astype(int)
        monitor.update(p, y, at=start + timedelta(hours=hour))
    monitor.update([0.5, 0.5], [1, -1], at=start)
    found, last = read(prometheus_text(monitor)), monitor.history[-1]
    assert only(found, "believable_rows_total") == monitor.n == 12_000
    assert only(found, "believable_late_rows_total") == monitor.n_late == 1
    assert only(found, "believable_ignored_rows_total") == monitor.n_ignored == 1
    assert only(found, "believable_window_rows") == 400
    assert only(found, "believable_window_expected_calibration_error") == last.value
    assert only(found, "believable_window_expected_calibration_error_interval", end="high") == last.high
    assert only(found, "believable_window_expected_calibration_error_noise_floor") == last.floor
    assert only(found, "believable_window_flagged") == last.flagged == 1
    assert only(found, "believable_window_end_timestamp_seconds") == (start + timedelta(hours=29)).timestamp()
    assert only(found, "believable_drift_alarm") == 1
    assert only(found, "believable_drift_capital") == monitor.alarm.capital
    assert only(found, "believable_drift_capital_limit") == 100


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"labels": {"a-b": "x"}}, "labels: names of labels have letters, digits and _"),
        ({"labels": {"__a": "x"}}, "start with neither a digit nor __, got '__a'"),
        ({"labels": {"le": "x"}}, "labels: 'le' is a label of the metrics themselves"),
        ({"labels": ["a"]}, "labels must be a mapping of names to texts, got a list"),
        ({"meters": {"a": CalibrationMeter()}, "labels": {"model": "x"}}, "'model' is a label of the metrics themselves"),
        ({"prefix": "a b"}, "prefix must be letters, digits and _, and not start with a digit, got 'a b'"),
        ({"prefix": "9a"}, "and not start with a digit, got '9a'"),
        ({"meters": {1: CalibrationMeter(), "1": CalibrationMeter()}}, "meters has two names that are written '1'"),
        ({"meters": 3}, "meters must be a CalibrationMeter, a CalibrationMonitor, a DriftAlarm, or a mapping"),
        ({"meters": Predictions([0.5], [1])}, "or a mapping of names to these, got a Predictions"),
        ({"n_bins": 0}, "n_bins"),
        ({"openmetrics": "yes"}, "openmetrics must be True"),
        ({"intervals": 1}, "intervals must be True"),
        ({"notion": "nothing"}, "notion"),
        ({"level": 2}, "level"),
    ],
)  # fmt: skip
def test_bad_arguments(keywords, sentence):
    """A sentence says what is wrong, before anything is computed."""
    with pytest.raises(InputError) as error:
        prometheus_text(**{"meters": CalibrationMeter()} | keywords)
    assert sentence in str(error.value)


def test_a_single_meter_may_be_named_by_a_label(rows):
    """Only a mapping uses the label `model` itself."""
    found = read(prometheus_text(metered(*rows), labels={"model": "fraud"}, intervals=False))
    assert only(found, "believable_rows_total", model="fraud") == 1010


# --- the PromQL of the page, evaluated by Prometheus itself -----------------------------------------------------------

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrations" / "prometheus.md"


def promtool(*words, folder, stdin=None):
    """Run promtool, or skip; it comes with Prometheus, which no other test needs."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run(
        [program, *words],
        cwd=folder,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_prometheus_accepts_the_text(rows, tmp_path):
    """With several models and hostile names, as `promtool check metrics` reads it."""
    text = prometheus_text({'a"\\\n{}': metered(*rows), "new": CalibrationMeter(), "alarm": DriftAlarm()})
    promtool("check", "metrics", folder=tmp_path, stdin=text)


def test_prometheus_evaluates_the_queries_of_the_page(rows, tmp_path):
    """Over two instances: the error of all rows, that of new rows, the ratio of averages, and the alert."""
    p, y = rows
    first, second = metered(p, y), metered(p, (1 - y))
    new = metered(p[:400], y[:400]), metered(p[400:], y[400:])
    series = []
    for name, before, added in (("a", first, new[0]), ("b", second, new[1])):
        then, now = (read(prometheus_text(one, labels={"instance": name})) for one in (before, before + added))
        for (metric, labels), value in then.items():
            text = ",".join(f'{one}="{value}"' for one, value in sorted(labels))
            # a day of samples; the new rows come in the middle of it, so that no increase is extrapolated to zero
            late = now[metric, labels]
            if math.isfinite(value):  # which promtool cannot write
                series.append({"series": f"{metric}{{{text}}}", "values": f"{value!r}x720 {late!r}x720"})
    total = (first + new[0]) + (second + new[1])
    everything = total.summary
    error = evaluate(everything, metrics=["ece"])["expected_calibration_error"]
    of_new = evaluate((new[0] + new[1]).summary, metrics=["ece"])["expected_calibration_error"]
    sums = everything.sums
    queries = re.findall(r"^```promql\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(queries) == 4
    ratio = sums.wp[-1] / sums.wy[-1] if np.ndim(sums.wp) else sums.wp / sums.wy
    expected = [error, of_new, float(ratio)]
    rules = {
        "rule_files": [],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [
                    {  # promtool compares exactly, and rounding differs with the order of sums
                        "expr": f"abs(({query.strip()}) - {value!r}) < bool 1e-9",
                        "eval_time": "24h",
                        "exp_samples": [{"labels": "{}", "value": 1}],
                    }
                    for query, value in zip(queries[:3], expected, strict=True)
                ]
                + [
                    {
                        "expr": f"count({queries[3].strip()}) > bool 0",
                        "eval_time": "1m",
                        "exp_samples": [{"labels": "{}", "value": 1}],
                    }
                ],
            }
        ],
    }
    (tmp_path / "test.json").write_text(json.dumps(rules))
    assert "SUCCESS" in promtool("test", "rules", "test.json", folder=tmp_path)
