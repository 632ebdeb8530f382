"""Scripts are made smaller without a change of meaning."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import believable
from believable.report.browser.compact import compact
from tests.needs import need

REPORT = Path(believable.__file__).parent / "report"
SCRIPTS = sorted(REPORT.rglob("*.js"))


@pytest.mark.parametrize(
    ("script", "smaller"),
    [
        ("a = b // why\n+ c", "a=b\n+c"),
        ("return /[/*]/.test(a) / 2 /* half */ / b", "return/[/*]/.test(a)/2/b"),
        ("a - -b + ++c", "a- -b+ ++c"),
        ('const said = "a  //  b" + `c  ${ d("}") }  // e`', 'let said="a  //  b"+`c  ${ d("}") }  // e`'),
        ("let a = 1\nlet b = 2\n[a, b] = [b, a]", "let a=1\nlet b=2\n[a,b]=[b,a]"),
        ("if (a) {\n  b();\n}\nc()", "if(a){b();}\nc()"),
        ("a\n  .map((b) => b)\n  .join()", "a.map((b)=>b).join()"),
        (r"x = /\//g; y = 'it\'s  ';", r"x=/\//g;y='it\'s  ';"),
    ],
)
def test_spaces_and_comments(script, smaller):
    """Comments and needless spaces go; texts, patterns, templates and line ends that end a statement stay."""
    assert compact(script) == smaller
    assert compact(smaller) == smaller


@pytest.mark.parametrize("path", SCRIPTS, ids=[path.name for path in SCRIPTS])
def test_scripts_of_the_page(path, tmp_path):
    """Each is still a script, and holds what it held but for spaces and comments."""
    node = need("node")
    script = path.read_text(encoding="utf-8")
    smaller = compact(script)
    (tmp_path / "a.js").write_text(smaller, encoding="utf-8")
    done = subprocess.run([node, "--check", tmp_path / "a.js"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(smaller) < len(script)
    assert compact(smaller) == smaller
