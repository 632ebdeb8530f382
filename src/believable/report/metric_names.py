"""Metrics by the names that reports give them, beside those of the library."""

from __future__ import annotations

from believable.errors import InputError
from believable.metrics import METRICS, Metric
from believable.metrics.table import instead_of, known_metric, plain_metric_name
from believable.report.wording import long_name, short_name


def known_in_reports(name: str) -> Metric | None:
    """Return a metric by any of its names in the library or in reports, or None."""
    return known_metric(name) or _names_in_reports().get(plain_metric_name(name))


def find(name: str, where: str) -> Metric:
    """Return a metric by any of its names in the library or in reports; the error suggests a similar one."""
    if (found := known_in_reports(name)) is not None:
        return found
    raise InputError(
        f"{where}: there is no metric {name!r}{instead_of(name, _names_in_reports())}; `believable metrics` lists them"
    )


def _names_in_reports() -> dict[str, Metric]:
    found: dict[str, Metric] = {}
    for row in METRICS.values():
        for called in (long_name(row.alias, row.name), short_name(row.alias, row.name)):
            found.setdefault(plain_metric_name(called), row)
    return found
