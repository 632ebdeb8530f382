"""Audits in TensorBoard: calls that write one with a `SummaryWriter`, that of PyTorch or of tensorboardX."""

from __future__ import annotations

from typing import Any

from believable import _check
from believable.auditing import audit as made_audit
from believable.errors import InputError
from believable.integrations._tracked import checked, numbers_of, pixels, start_of_names, words_of
from believable.report import Audit

METHODS = ("add_scalar", "add_text", "add_image")


def log_audit(
    audit: Audit,
    writer: Any,
    step: int | None = None,
    *,
    prefix: str = "",
    page: bool = True,
    picture: bool = True,
) -> None:
    """Write an audit: its numbers as scalars, its answer and report as text, and its diagram as an image.

    Parameters
    ----------
    audit : Audit
        What `believable.audit` returned.
    writer : SummaryWriter
        That of `torch.utils.tensorboard` or of `tensorboardX`, or another with `add_scalar`, `add_text` and
        `add_image`, such as `logger.experiment` in Lightning.
    step : int, optional
        The step, such as the epoch.
    prefix : str
        What all names begin with: "val/" gives "val/calibration/ece".
    page : bool
        Whether to write the report. TensorBoard shows no HTML, so it is Markdown, as `calibration/report`.
    picture : bool
        Whether to write the reliability diagram, as `calibration/diagram`.

    Examples
    --------
    >>> import believable, tempfile
    >>> from torch.utils.tensorboard import SummaryWriter
    >>> found = believable.audit([0.1, 0.2, 0.8, 0.9] * 50, [0, 0, 1, 1] * 50, fix=False)
    >>> with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
    ...     log_audit(found, writer, step=1)
    """
    start = start_of_names(prefix)
    _check.flag(page, "page")
    _check.flag(picture, "picture")
    _refuse_other(writer)
    for name, number in numbers_of(checked(audit), start).items():
        writer.add_scalar(name, number, step)
    for name, words in words_of(audit, start).items():
        writer.add_text(name, words, step)
    if page:
        writer.add_text(f"{start}report", audit.to_markdown(), step)
    if picture:
        writer.add_image(f"{start}diagram", pixels(audit), step, dataformats="HWC")


def log_calibration(
    predictions: Any,
    actuals: Any = None,
    *,
    writer: Any,
    step: int | None = None,
    prefix: str = "",
    page: bool = True,
    picture: bool = True,
    **options: Any,
) -> Audit:
    """Audit predictions, write the audit, and return it.

    Parameters
    ----------
    predictions, actuals
        Scores and outcomes, as for `believable.audit`.
    writer, step, prefix, page, picture
        As for `log_audit`.
    **options
        Options of `believable.audit`, such as `sample_weight`, `by` and `n_bins`. In a training loop, `fix=False` saves
        most of the time.

    Returns
    -------
    Audit
        The audit that was written.
    """
    _refuse_other(writer)  # before the time for the audit is spent
    found = made_audit(predictions, actuals, **options)
    log_audit(found, writer, step, prefix=prefix, page=page, picture=picture)
    return found


def _refuse_other(writer: Any) -> None:
    missing = [name for name in METHODS if not callable(getattr(writer, name, None))]
    if missing:
        raise InputError(
            "{argument} must be a SummaryWriter of torch.utils.tensorboard or of tensorboardX, got {got}, which has no "
            "{missing}",
            argument="writer",
            got=type(writer).__name__,
            missing=missing[0],
        )
