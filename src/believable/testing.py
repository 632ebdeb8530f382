"""Assertions for test suites: `assert_calibrated` fails if scores may not be taken at face value."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from believable import _check
from believable._types import Bins, Notion, Strategy
from believable.errors import InputError
from believable.stats.source import TEN, UNIFORM

if TYPE_CHECKING:
    from believable.auditing.gates import End, Gate, Result
    from believable.auditing.source import AuditSource
    from believable.metrics import Metric
    from believable.report.parts import Part
    from believable.report.verdicts import Answer, Verdict

__all__ = ["assert_calibrated"]

MAX_SUBGROUPS_NAMED = 10
RECALIBRATE = 'To recalibrate the scores: believable.calibrate(scores, labels, method="auto").'


def assert_calibrated(
    predictions: Any,
    actuals: Any = None,
    n_bins: Bins = TEN,
    strategy: Strategy = UNIFORM,
    *,
    allow: str | Iterable[str] = (),
    notion: Notion | None = None,
    pairs: bool = False,
    clusters: Any = None,
    by: Any = None,
    level: float = 0.95,
    message: str = "",
    random_state: Any = 0,
    sample_weight: Any = None,
    **limits: float | Sequence[float],
) -> None:
    """Raise an AssertionError unless the verdict on these scores is Yes and every metric keeps its limit.

    The error says which scores are wrong, and how far. The verdict is that of `believable.verdict`, with the subgroups
    of `by`; both kinds of "Yes" pass. "Use with care" and "No, recalibrate first" fail, and so does "Not enough data",
    whose message says how many rows would be enough. Answers in `allow` pass too, so that the limits decide. The same
    data always give the same result.

    Parameters
    ----------
    predictions, actuals, n_bins, strategy, notion, pairs, clusters, by, level, sample_weight
        As for `believable.audit`.
    allow : str or list of str
        Further answers that pass: "use with care", "not enough data" or "no, recalibrate first". Whoever allows the
        last allows "use with care" as well.
    message : str
        A sentence for the beginning of the error, such as the name of the model.
    random_state : None, int or numpy Generator
        Random seed, for reproducible results.
    **limits : float or (float, float)
        Limits on metrics, as on the command line (--fail-above, --fail-below): `ece=0.05` passes if the upper end of
        the interval is at most 0.05, `auc=0.8` if the lower end is at least 0.8, that is, only if the data show that
        the metric keeps the limit. `ece_low=0.05` compares the lower end, and fails only if the data show that the
        limit is exceeded; `ece_value=0.05` compares the value. A metric that can be too small and too large has two
        limits: `slope=(0.8, 1.25)`.

    Raises
    ------
    AssertionError
        If the answer or a limit fails.
    InputError
        If the arguments are invalid, or nothing could fail.

    Examples
    --------
    >>> scores, labels = [0.1, 0.2, 0.8, 0.9] * 50, [0, 0, 1, 1] * 50
    >>> assert_calibrated(scores, labels, n_bins=2, allow="no, recalibrate first", auc=0.9)
    >>> assert_calibrated(scores, labels, n_bins=2, ece=0.1)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    AssertionError: No, recalibrate first. When it says 85 %, it happens 100 % of the time ...
    """
    __tracebackhide__ = True  # pytest then shows the line of the test, not this one
    from believable.auditing.gates import GOOD_ANSWERS, AnswerGate
    from believable.auditing.judgement import judge
    from believable.auditing.make import judged_with_subgroups, settings_of
    from believable.auditing.measure import Measurer

    allowed, gates = _allowed(allow), _gates_of(limits)
    _refuse_no_test(allowed, gates)
    _check.refuse_array(n_bins, "n_bins")
    source = _source_of(predictions, actuals, sample_weight, clusters=clusters, by=by, pairs=pairs)
    n_bins = _check.positive_integer(source.number_of_bins(n_bins), "n_bins")
    for gate in gates:
        gate.refuse_kind(source.kind)
    _, settings = settings_of(source, n_bins, strategy, notion, level, random_state)
    judged = judge(source, settings)
    measurer = Measurer(source, settings, judged)
    verdict, subgroups = judged_with_subgroups(judged, source, settings)
    results: list[Result] = [
        AnswerGate(frozenset({*GOOD_ANSWERS, *allowed})).result(verdict),
        *(gate.result(measurer.one, settings.level) for gate in gates),
    ]
    if not all(result.kept for result in results):
        raise AssertionError(_failure(message, verdict, subgroups, results))


# --- arguments --------------------------------------------------------------------------------------------------------


def _source_of(predictions: Any, actuals: Any, sample_weight: Any, **given: Any) -> AuditSource:
    """Return the checked data; what a reader returned brings its own clusters and subgroups."""
    from believable.auditing.source import source_of_audit
    from believable.readers.load import Loaded
    from believable.stats.source import refuse_extras

    if isinstance(predictions, Loaded):
        refuse_extras("Loaded", actuals=actuals, sample_weight=sample_weight)
        of_file = {"clusters": predictions.clusters, "by": dict(predictions.by) or None}
        given |= {name: value for name, value in of_file.items() if given[name] is None}
        predictions = predictions.predictions
    return source_of_audit(predictions, actuals, sample_weight, **given).remembering()


def _allowed(allow: str | Iterable[str]) -> set[Answer]:
    from believable.auditing.gates import MILDER
    from believable.report.verdicts import TONES

    given = [allow] if isinstance(allow, str) or not isinstance(allow, Iterable) else list(allow)
    for answer in given:
        _check.choice(answer, [one for one in TONES if not one.startswith("yes")], "allow")
    allowed: set[Answer] = {answer for answer in TONES if answer in given}
    return allowed.union(*(MILDER.get(answer, ()) for answer in allowed))


def _refuse_no_test(allowed: set[Answer], gates: Sequence[Gate]) -> None:
    from believable.auditing.gates import GOOD_ANSWERS
    from believable.report.verdicts import TONES

    if not gates and {*GOOD_ANSWERS, *allowed} == {*TONES}:
        raise InputError(
            "every answer is allowed, so this test could never fail: give a limit, such as ece=0.05", argument="allow"
        )


def _gates_of(limits: dict[str, Any]) -> list[Gate]:
    """Return the gates of keyword arguments such as `ece=0.05`, `auc_value=0.8` and `slope=(0.8, 1.25)`."""
    from believable.auditing.gates import Gate

    found: list[Gate] = []
    for keyword, limit in limits.items():
        row, end = _metric_and_end(keyword)
        where = f"{keyword}={limit!r}"
        if isinstance(limit, (tuple, list)):
            if len(limit) != 2:
                raise InputError(f"{where}: give the lowest and the highest value that pass, as {keyword}=(low, high)")
            pair = [Gate.of(row, end, one, above, where) for one, above in zip(limit, (False, True), strict=True)]
            if pair[0].limit > pair[1].limit:
                raise InputError(f"{where}: the lowest value that passes comes first, and here it is above the highest")
            found += pair
            continue
        if row.direction is None:
            best = "" if row.best is None else f" {row.alias} is best at {row.best:g}, so"
            raise InputError(
                f"{where}:{best} give the lowest and the highest value that pass, as {keyword}=(low, high)"
            )
        found.append(Gate.of(row, end, limit, row.direction == "lower", where))
    return found


def _metric_and_end(keyword: str) -> tuple[Metric, End | None]:
    from believable.auditing.gates import ENDS
    from believable.metrics.table import instead_of
    from believable.report.metric_names import known_in_reports

    if (row := known_in_reports(keyword)) is not None:
        return row, None
    name, _, end = keyword.rpartition("_")
    if end in ENDS and (row := known_in_reports(name)) is not None:
        return row, end
    arguments = [name for name in inspect.signature(assert_calibrated).parameters if name != "limits"]
    close = get_close_matches(keyword, arguments, n=1, cutoff=0.75)
    meant = f" (did you mean {close[0]}?)" if close else instead_of(keyword)
    raise InputError(f"assert_calibrated has no argument {keyword!r}, and there is no such metric{meant}")


# --- the message ------------------------------------------------------------------------------------------------------


def _failure(message: str, verdict: Verdict, subgroups: Sequence[Part], results: Sequence[Result]) -> str:
    """Return the answer and what failed, then the evidence, then what to do."""
    on_answer, *on_metrics = results
    lines = [f"{message}: {verdict.headline}" if message else verdict.headline]
    lines += [str(result) for result in on_metrics]
    lines += verdict.details()
    lines += _miscalibrated(subgroups)
    if not on_answer.kept:
        if verdict.answer == "no, recalibrate first":
            lines.append(RECALIBRATE)
        instead = "" if on_metrics else ", with a limit such as ece=0.1"
        lines.append(f'To let this answer pass: allow="{verdict.answer}"{instead}.')
    return "\n".join(lines)


def _miscalibrated(subgroups: Sequence[Part]) -> list[str]:
    """Return a line for each subgroup whose scores are wrong beyond noise, the largest error first."""
    wrong = sorted((part for part in subgroups if part.flagged), key=lambda part: -(part.low or 0.0))
    named = [f"{part.column} = {part.name} {part.in_words}, {part.n:,} rows." for part in wrong[:MAX_SUBGROUPS_NAMED]]
    left = len(wrong) - len(named)
    return [
        *named,
        *([f"{left} more {'subgroup is' if left == 1 else 'subgroups are'} miscalibrated."] if left else []),
    ]
