"""Meters, monitors and alarms beside the other metrics of a process, through `prometheus_client`.

`believable.streams.prometheus_text` needs no client; this is for processes that already serve a registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import Metric
from prometheus_client.registry import Collector

from believable.streams import metric_families


class CalibrationCollector(Collector):
    """A collector that reports meters, monitors or alarms as they are whenever a registry is read.

    Parameters
    ----------
    meters : CalibrationMeter, CalibrationMonitor, DriftAlarm, or mapping of names to these
        What to report; the names of a mapping become the label `model`.
    **options
        As for `believable.streams.prometheus_text`: labels, n_bins, notion, intervals, level, prefix, random_state.

    Examples
    --------
    >>> from believable import CalibrationMeter
    >>> from prometheus_client import CollectorRegistry, generate_latest
    >>> meter = CalibrationMeter()
    >>> meter.update([0.2, 0.8], [0, 1])
    >>> registry = CollectorRegistry()
    >>> registry.register(CalibrationCollector(meter))
    >>> "believable_rows_total 2.0" in generate_latest(registry).decode()
    True
    """

    def __init__(self, meters: Any, **options: Any) -> None:
        metric_families(meters, **options | {"intervals": False})  # raises now if something is invalid
        self._meters, self._options = meters, options

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they are now."""
        for family in metric_families(self._meters, **self._options):
            metric = Metric(family.name, family.help, family.kind)
            for sample in family.samples:
                metric.add_sample(f"{family.name}{sample.suffix}", dict(sample.labels), sample.value)
            yield metric
