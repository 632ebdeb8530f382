"""The text and the collector, read by the parsers of prometheus_client and served by it."""

from __future__ import annotations

import math
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from believable import CalibrationMeter, CalibrationMonitor, DriftAlarm
from believable.errors import InputError
from believable.streams import prometheus_text
from tests.needs import need

HOSTILE = 'a"b\\c\nd{}=,# é'


@pytest.fixture(scope="module")
def client():
    """The package."""
    return need("prometheus_client")


@pytest.fixture(scope="module")
def meters():
    """One of everything: scores, classes, nothing yet, an infinite log loss, a monitor, an alarm."""
    rng = np.random.default_rng(0)
    scores = rng.random(500)
    binary, classes, certain = CalibrationMeter(), CalibrationMeter(classes=["a", HOSTILE, "c"]), CalibrationMeter()
    binary.update(scores, rng.random(500) < scores)
    weighted = CalibrationMeter()
    weighted.update(scores, rng.random(500) < scores, rng.random(500))
    classes.update(rng.dirichlet(np.ones(3), 300), np.array(["a", HOSTILE, "c"])[rng.integers(0, 3, 300)])
    certain.update([0.0, 1.0], [1, 1])
    monitor, alarm = CalibrationMonitor(100, random_state=0), DriftAlarm()
    monitor.update(scores, rng.random(500) < scores**2)
    alarm.update(scores, rng.random(500) < scores)
    return {
        HOSTILE: binary,
        "classes": classes,
        "weighted": weighted,
        "new": CalibrationMeter(),
        "certain": certain,
        "monitor": monitor,
        "alarm": alarm,
    }


def samples(families):
    """Every sample, by name and labels."""
    found = {}
    for family in families:
        for one in family.samples:
            assert (one.name, frozenset(one.labels.items())) not in found
            found[one.name, frozenset(one.labels.items())] = one.value
    return found


@pytest.fixture(scope="module")
def parsed(client, meters):
    """What both parsers read."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
    from prometheus_client.parser import text_string_to_metric_families as plain

    return {
        "plain": list(plain(prometheus_text(meters, labels={"version": HOSTILE}))),
        "openmetrics": list(openmetrics(prometheus_text(meters, labels={"version": HOSTILE}, openmetrics=True))),
    }


def test_both_formats_are_read(parsed):
    """The same samples from both, whose families have their types; OpenMetrics is checked strictly by its parser."""
    plain, openmetrics = samples(parsed["plain"]), samples(parsed["openmetrics"])
    assert plain == openmetrics
    assert len(plain) > 150
    for families in parsed.values():
        kinds = {family.name: family.type for family in families}
        assert kinds["believable_rows"] == "counter"
        assert kinds["believable_score"] == kinds["believable_event_score"] == "histogram"
        assert kinds["believable_drift_alarm"] == "gauge"
        assert "unknown" not in kinds.values()
        assert all(family.documentation for family in families)
    assert plain["believable_rows_total", frozenset({("model", HOSTILE), ("version", HOSTILE)})] == 500
    assert plain["believable_log_loss", frozenset({("model", "certain"), ("version", HOSTILE)})] == math.inf


def test_the_collector_reports_the_same(client, meters, parsed):
    """A registry with the collector has the same samples, read whenever it is asked."""
    from believable.integrations.prometheus_client import CalibrationCollector

    registry = client.CollectorRegistry()
    registry.register(CalibrationCollector(meters, labels={"version": HOSTILE}))
    assert samples(registry.collect()) == samples(parsed["plain"])


def test_it_is_served(client):
    """By the server of the client, in the format that is asked for, with the counts of that moment."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
    from prometheus_client.parser import text_string_to_metric_families as plain

    from believable.integrations.prometheus_client import CalibrationCollector

    meter, registry = CalibrationMeter(), client.CollectorRegistry()
    registry.register(CalibrationCollector(meter, n_bins=5, intervals=False))
    server, thread = client.start_http_server(0, addr="127.0.0.1", registry=registry)
    address = f"http://127.0.0.1:{server.server_port}/metrics"
    try:
        for n in (2, 4):
            meter.update([0.1, 0.8], [0, 1])
            with urllib.request.urlopen(address) as reply:
                found = samples(plain(reply.read().decode()))
            assert found["believable_rows_total", frozenset()] == n
            asked = urllib.request.Request(address, headers={"Accept": "application/openmetrics-text; version=1.0.0"})
            with urllib.request.urlopen(asked) as reply:
                assert reply.headers["Content-Type"].startswith("application/openmetrics-text")
                found = samples(openmetrics(reply.read().decode()))
            assert found["believable_bin_rows_total", frozenset({("bin", "(0.6, 0.8]")})] == n / 2
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_bad_arguments_are_found_when_it_is_made(client):
    """Not when the registry is read, where nobody sees the error."""
    from believable.integrations.prometheus_client import CalibrationCollector

    with pytest.raises(InputError, match="'le' is a label of the metrics themselves"):
        CalibrationCollector(CalibrationMeter(), labels={"le": "x"})
    with pytest.raises(InputError, match="meters must be"):
        CalibrationCollector([CalibrationMeter()])


@pytest.mark.slow
def test_the_page(client, tmp_path):
    """Every block of docs/integrations/prometheus.md prints what is shown below it, that with the client included."""
    from scripts import pages

    page = Path(__file__).resolve().parents[2] / "docs" / "integrations" / "prometheus.md"
    for block, output in zip(pages.blocks(page.read_text()), pages.run(page, tmp_path), strict=True):
        assert output is not None
        assert block.shown is None or pages.same(block.shown, output)
