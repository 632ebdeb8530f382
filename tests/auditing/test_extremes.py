"""Audits of what a softmax gives every day: scores next to 0 and 1, uneven weights, few rows."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from believable import Audit, audit
from believable.auditing.advice import _rounded_away
from believable.cli import main
from believable.errors import LimitWarning
from tests.auditing.extremes import extreme_rows

NOT_A_NUMBER = re.compile(r"\bnan\b|\binf\b", re.IGNORECASE)


def in_every_form(found):
    """Return the text, Markdown and HTML (without its script) of an audit, whose JSON gives it back."""
    assert Audit.from_json(found.to_json()) == found
    json.loads(found.to_json())
    return str(found), found.to_markdown(), re.sub(r"<(script|style).*?</\1>", "", found.to_html(), flags=re.DOTALL)


@pytest.mark.parametrize("smallest", [5e-324, 2.3e-308, 1e-200, 1e-100, 1e-9])
def test_the_smallest_score_is_said(smallest):
    """Rounded to two digits, with no power of ten that overflows."""
    p = np.array([smallest, 0.2, 0.3, 0.4] * 5)
    text, *others = in_every_form(audit(p, np.tile([0, 0, 1, 0], 5), fix=False))
    assert "No score is above 0.4" in text
    alone = audit(np.full(20, smallest), np.tile([0, 0, 0, 1], 5), fix=False)
    for form in in_every_form(alone):
        assert f"All scores are {smallest:.2g}: nothing is known about other scores." in form
    assert not any(NOT_A_NUMBER.search(form) for form in (text, *others))


@pytest.mark.parametrize(
    ("score", "below", "above"),
    [(0.123, 0.12, 0.13), (0.1, 0.1, 0.1), (float(np.float32(0.1)), 0.1, 0.1), (1 - 2**-53, 1, 1), (0, 0, 0)],
)
def test_ends_are_rounded_away_from_the_scores(score, below, above):
    """To two digits, but a decimal that float32 rounds stays what it is."""
    assert (_rounded_away(score, np.floor), _rounded_away(score, np.ceil)) == (below, above)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("error", f"ignore::{LimitWarning.__module__}.LimitWarning")
def test_audits_of_extreme_rows(seed):
    """No warning of floating point, no sentence with nan, and the same numbers in every form."""
    p, y, options = extreme_rows(np.random.default_rng(seed))
    forms = in_every_form(audit(p, y, fix=seed < 2, progress=False, **options))
    assert not any(NOT_A_NUMBER.search(form) for form in forms)


def test_the_command_line_writes_every_form(tmp_path):
    """Of a file with the scores of a softmax in double precision."""
    p = [5e-324, 1e-200, 1e-45, 1 - 2**-53, 0.0] * 8
    (tmp_path / "scores.csv").write_text("p,y\n" + "".join(f"{x!r},{int(x > 0.5)}\n" for x in p))
    forms = {name: tmp_path / f"audit.{name}" for name in ("html", "json", "markdown")}
    options = [word for name, path in forms.items() for word in (f"--{name}", str(path))]
    result = CliRunner().invoke(main, ["audit", str(tmp_path / "scores.csv"), "--no-fix", *options])
    assert result.exit_code == 0, result.output
    assert all(path.stat().st_size for path in forms.values())
