"""`believable page` writes the page that audits files in the browser."""

from __future__ import annotations

from click.testing import CliRunner

from believable.cli import main
from believable.report.browser import audit_page


def test_the_page_is_written(tmp_path):
    """With one sentence that says where it is and what to do."""
    path = tmp_path / "calibration.html"
    done = CliRunner().invoke(main, ["page", "-o", str(path)])
    assert (done.exit_code, done.output) == (
        0,
        f"Page written to {path}: open it in a browser, and drop a CSV file on it\n",
    )
    assert path.read_text(encoding="utf-8") == audit_page()


def test_the_standard_output(tmp_path):
    """Nothing but the page."""
    assert CliRunner().invoke(main, ["page", "-o", "-"]).output == audit_page()


def test_places_that_cannot_be_written(tmp_path):
    """One sentence, before any work."""
    for path, said in ((tmp_path, "is a folder: name a file"), (tmp_path / "no" / "a.html", "there is no folder")):
        done = CliRunner().invoke(main, ["page", "-o", str(path)])
        assert done.exit_code == 2
        assert said in done.output
