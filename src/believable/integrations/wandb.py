"""Audits in Weights & Biases: calls that log one to a run."""

from __future__ import annotations

from typing import Any

import wandb

from believable import _check
from believable.auditing import audit as made_audit
from believable.errors import InputError
from believable.integrations._tracked import checked, numbers_of, pixels, start_of_names, words_of
from believable.report import Audit


def log_audit(
    audit: Audit,
    run: Any = None,
    step: int | None = None,
    *,
    prefix: str = "",
    page: bool = True,
    picture: bool = True,
) -> None:
    """Log an audit to a run: its numbers and its answer, its report as HTML, and its diagram as an image.

    Parameters
    ----------
    audit : Audit
        What `believable.audit` returned.
    run : wandb.Run, optional
        The run; by default the active one.
    step : int, optional
        The step, such as the epoch. W&B ignores what is logged for an earlier step than the last.
    prefix : str
        What all names begin with: "val/" gives "val/calibration/ece".
    page : bool
        Whether to log the HTML report, as `calibration/report`.
    picture : bool
        Whether to log the reliability diagram, as `calibration/diagram`.

    Examples
    --------
    >>> import believable, tempfile
    >>> found = believable.audit([0.1, 0.2, 0.8, 0.9] * 50, [0, 0, 1, 1] * 50, fix=False)
    >>> quiet = wandb.Settings(silent=True)
    >>> with tempfile.TemporaryDirectory() as folder, wandb.init(mode="offline", dir=folder, settings=quiet) as run:
    ...     log_audit(found)
    ...     round(run.summary["calibration/ece"], 6), run.summary["calibration/answer"]
    (0.15, 'no, recalibrate first')
    """
    start = start_of_names(prefix)
    numbers, words = numbers_of(checked(audit), start), words_of(audit, start)
    shown: dict[str, Any] = {}
    if _check.flag(page, "page"):
        shown[f"{start}report"] = wandb.Html(audit.to_html(), inject=False)
    if _check.flag(picture, "picture"):
        shown[f"{start}diagram"] = wandb.Image(pixels(audit))
    _run(run).log({**numbers, **words, **shown}, step=step)


def log_calibration(
    predictions: Any,
    actuals: Any = None,
    *,
    run: Any = None,
    step: int | None = None,
    prefix: str = "",
    page: bool = True,
    picture: bool = True,
    **options: Any,
) -> Audit:
    """Audit predictions, log the audit, and return it.

    Parameters
    ----------
    predictions, actuals
        Scores and outcomes, as for `believable.audit`.
    run, step, prefix, page, picture
        As for `log_audit`.
    **options
        Options of `believable.audit`, such as `sample_weight`, `by` and `n_bins`. In a training loop, `fix=False` saves
        most of the time.

    Returns
    -------
    Audit
        The audit that was logged.
    """
    run = _run(run)  # raises before the time for the audit is spent
    found = made_audit(predictions, actuals, **options)
    log_audit(found, run, step, prefix=prefix, page=page, picture=picture)
    return found


def _run(run: Any) -> Any:
    run = wandb.run if run is None else run
    if run is None:
        raise InputError("no W&B run is active: call wandb.init() first, or pass {argument}", argument="run")
    if not callable(getattr(run, "log", None)):
        raise InputError("{argument} must be a W&B run, got {got}", argument="run", got=type(run).__name__)
    return run
