"""The page that audits files in the browser, made with the site: `calibration.html`, beside its front page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from believable.report.browser import audit_page


def write(app: Any, error: Exception | None) -> None:
    """Write the page that the front page links to."""
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "calibration.html").write_text(audit_page(), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
