"""Run the code of the documentation's pages, and keep what it prints and draws beside it.

    python scripts/pages.py                 # all pages: rewrite outputs and pictures
    python scripts/pages.py docs/start.md   # these pages

The blocks of a page run one after the other in one namespace and one folder, empty but for the page's own data,
`docs/PAGE.json`, where there are any:

- a ```python block is executed;
- in an ```sh block each line is a command; `believable` runs in this process, the rest in a shell;
- the ```text block that follows one of these, with nothing in between, is what it printed;
- a picture `images/PAGE/NAME.png` is the NAME.png that the code of PAGE wrote.

Other blocks are not code to run: ```text alone, or ```console for what concerns another machine (an installation, a
cluster). What a page cannot do without says its first line, `<!-- needs: torch, node -->`; the same line directly above
a block is about this block alone. Where a page's needs are not met it is left as it is, and so is such a block, with
what is shown below it; blocks that use its names have to say the same.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GENERATED = ("metrics", "recalibrators", "benchmarks")  # written by scripts, without code to run
_NEEDS = r"<!-- needs: ([^\n]*?) -->"
_BLOCK = re.compile(
    rf"^(?P<above>{_NEEDS}\n)?```(?P<language>python|sh)\n(?P<code>.*?)^```\n(\n```text\n(?P<shown>.*?)^```\n)?",
    re.M | re.S,
)
_NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_WIDEST = 1200  # pixels of a kept picture
WARN_THEMSELVES = r"(mlflow|sqlalchemy|alembic)(\.|$)"  # about what these libraries use of one another


class PageError(Exception):
    """Code that failed, with its page and line."""


@dataclass(frozen=True)
class Block:
    """Code of a page, where it stands, what it needs, and the output shown below it (None where none is shown)."""

    language: str
    code: str
    shown: str | None
    line: int
    start: int
    end: int
    needs: tuple[str, ...] = ()


def all_pages() -> list[Path]:
    """The pages written by hand that hold code."""
    found = sorted(path for path in DOCS.rglob("*.md") if path.stem not in GENERATED)
    return [path for path in found if blocks(path.read_text())]


def blocks(text: str) -> list[Block]:
    """The blocks of a page that are run."""
    found = []
    for m in _BLOCK.finditer(text):
        start = m.start("language") - 3  # of the fence
        line = text.count("\n", 0, start) + 2
        found.append(Block(m["language"], m["code"], m["shown"], line, start, m.end(), tuple(needs(m["above"] or ""))))
    return found


def needs(text: str) -> list[str]:
    """The packages or programs that a page, or a block, cannot do without, by the line it begins with."""
    first = re.match(_NEEDS, text)
    return [word.strip() for word in first[1].split(",")] if first else []


def missing(words: Iterable[str]) -> list[str]:
    """Those of them that are not here."""
    return [word for word in words if find_spec(word) is None and shutil.which(word) is None]


def run(page: Path, folder: Path) -> list[str | None]:
    """Run the blocks of a page in a folder, and return what each printed: None for those whose needs are not met."""
    names: dict[str, Any] = {"__name__": page.stem}
    printed: list[str | None] = []
    if (data := page.with_suffix(".json")).exists():
        shutil.copy(data, folder)
    with _inside(folder), _drawing_nothing():
        for block in blocks(page.read_text()):
            if missing(block.needs):
                printed.append(None)
                continue
            try:
                output = _python(block, page, names) if block.language == "python" else _shell(block.code)
            except Exception as error:
                raise PageError(f"{page.name}, block at line {block.line}: {type(error).__name__}: {error}") from error
            printed.append("".join(line.rstrip() + "\n" for line in output.splitlines()).lstrip("\n"))
    return printed


def _python(block: Block, page: Path, names: dict[str, Any]) -> str:
    out = io.StringIO()
    code = "\n" * (block.line - 1) + block.code  # so that a traceback has the line of the page
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("error")  # a page that makes a warning shows it, or does not make it
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject", ResourceWarning)  # Inspect AI leaves streams open
        warnings.filterwarnings("ignore", module=WARN_THEMSELVES)
        exec(compile(code, page.name, "exec"), names)
    return out.getvalue()


def _shell(code: str) -> str:
    """What the commands print; `# exit code 1` after one says that this is how it ends."""
    outputs = []
    for line in code.replace("\\\n", " ").splitlines():
        command, _, comment = line.partition(" #")
        if not command.strip() or command.startswith("#"):
            continue
        expected = int(found[1]) if (found := re.search(r"exit code (\d)", comment)) else 0
        ended, output = _believable(command) if _is_plain(command) else _other(command)
        if ended != expected:
            raise RuntimeError(f"`{command.strip()}` ended with exit code {ended}:\n{output}")
        outputs.append(output)
    return "\n".join(outputs)


def _is_plain(command: str) -> bool:
    return command.startswith("believable ") and not re.search(r"[|<>;&$]", command)


def _believable(command: str) -> tuple[int, str]:
    from click.testing import CliRunner

    from believable.cli import main

    result = CliRunner().invoke(main, _words(command)[1:], prog_name="believable")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def _words(command: str) -> list[str]:
    """The words of a command; unquoted patterns become the files they match."""
    words = []
    for word in shlex.split(command):
        found = sorted(map(str, Path().glob(word))) if "*" in word and f"'{word}'" not in command else []
        words += found or [word]
    return words


def _other(command: str) -> tuple[int, str]:
    here = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    result = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, env=os.environ | {"PATH": here}
    )
    return result.returncode, result.stdout + result.stderr


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before, width = Path.cwd(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "110"
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.pop("COLUMNS") if width is None else os.environ.update(COLUMNS=width)


@contextlib.contextmanager
def _drawing_nothing() -> Iterator[None]:
    """Figures that a page makes with pyplot are closed, and no window opens."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def same(shown: str, printed: str) -> bool:
    """Whether two outputs are the same text with the same numbers, up to one unit in the last digit shown."""
    if _NUMBER.sub("#", shown) != _NUMBER.sub("#", printed):
        return False
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=True)
    return all(a == b or abs(_value(a) - _value(b)) <= 1.001 * max(_unit(a), _unit(b)) for a, b in pairs)


def _value(number: str) -> float:
    return float(number.replace("−", "-"))


def _unit(number: str) -> float:
    digits, _, exponent = number.partition("e")
    return float(10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))) if "." in digits else 0.0


def pictures(page: Path) -> dict[str, Path]:
    """The pictures that the code of a page makes: the name of the file it writes, and where it is kept."""
    folder = f"images/{page.stem}/"
    shown = re.findall(r"!\[[^\]]*\]\((?:\.\./)?(images/[^)]+)\)", page.read_text())
    return {Path(target).name: DOCS / target for target in shown if target.startswith(folder)}


def rewrite(page: Path) -> None:
    """Run a page, and put what it printed and drew into it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        printed, text = run(page, folder), page.read_text()
        for block, output in reversed(list(zip(blocks(text), printed, strict=True))):
            if block.shown is not None and output is not None and not same(block.shown, output):
                before = f"```{block.language}\n{block.code}```\n"
                text = text[: block.start] + f"{before}\n```text\n{output}```\n" + text[block.end :]
        page.write_text(text)
        for written, kept in pictures(page).items():
            if None not in printed or (folder / written).exists():
                _keep(folder / written, kept)


def _keep(written: Path, kept: Path) -> None:
    """A smaller form of a picture, unless it looks like the one that is there."""
    from PIL import Image, ImageChops

    image = Image.open(written).convert("RGB")
    if image.width > _WIDEST:
        image = image.resize((_WIDEST, round(image.height * _WIDEST / image.width)), Image.Resampling.LANCZOS)
    image = image.quantize(128, dither=Image.Dither.NONE)
    if kept.exists():
        old = Image.open(kept)
        if old.size == image.size and ImageChops.difference(old.convert("RGB"), image.convert("RGB")).getbbox() is None:
            return
    kept.parent.mkdir(parents=True, exist_ok=True)
    image.save(kept, optimize=True)


if __name__ == "__main__":
    for page in [Path(name).resolve() for name in sys.argv[1:]] or all_pages():
        if lacking := missing(needs(page.read_text())):
            print(f"{page.relative_to(ROOT)}: left as it is, {', '.join(lacking)} is not installed")
            continue
        print(page.relative_to(ROOT), flush=True)
        rewrite(page)
        for block in blocks(page.read_text()):
            if lacking := missing(block.needs):
                print(f"  block at line {block.line}: left as it is, {', '.join(lacking)} is not installed")
