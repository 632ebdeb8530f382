"""Turn the sources in examples/ into executed notebooks. For `make notebooks`.

A source is a Python file in percent format: `# %%` begins a cell of code, `# %% [markdown]` one of text, in comments.
What changes from run to run, or from one machine to another, is left out of a notebook: times, versions, random ids. A
cell that fails, warns or prints a path of this machine stops the making of it.
"""

from __future__ import annotations

import base64
import io
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
MARK = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)
MAGIC = re.compile(r"^# (?=%[a-z])", re.MULTILINE)  # in a source a magic is a comment, so that Python can read it
MOST_BYTES = 400_000
SECONDS = 300


def cells_of(source: str) -> list[tuple[str, str]]:
    """The kind ("code" or "markdown") and the text of each cell of a source."""
    _, *pieces = MARK.split(source)
    cells = []
    for is_text, body in zip(pieces[::2], pieces[1::2], strict=True):
        body = body.strip("\n")
        if is_text:
            cells.append(("markdown", re.sub(r"^# ?", "", body, flags=re.MULTILINE)))
        else:
            cells.append(("code", MAGIC.sub("", body)))
    return cells


def notebook_of(source: str) -> Any:
    """A notebook that was not run yet. The ids of its cells are their places."""
    from nbformat import v4

    make = {"code": v4.new_code_cell, "markdown": v4.new_markdown_cell}
    cells = [make[kind](text, id=f"cell-{i:02}") for i, (kind, text) in enumerate(cells_of(source), 1)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def execute(notebook: Any) -> None:
    """Run every cell, in a folder that is gone afterwards."""
    import matplotlib.font_manager  # noqa: F401  what it says when it is first loaded belongs in no notebook
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
        )
        client.execute()
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            picture = output.get("data", {}).get("image/png")
            if picture is not None:
                output["data"]["image/png"] = smaller(picture)


def smaller(picture: str) -> str:
    """A picture with 256 colours, which is plenty for a diagram, and without the version that drew it."""
    from PIL import Image

    kept = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB").quantize(256).save(kept, "png", optimize=True)
    return base64.b64encode(kept.getvalue()).decode()


def written(notebook: Any) -> str:
    """The notebook as it is kept, once it is fit to be."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    complaints = [
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output["output_type"] == "stream" and output["name"] == "stderr"
    ]
    if complaints:
        raise SystemExit(f"a cell warns: {complaints[0]}")
    for place in (str(ROOT), str(Path.home()), tempfile.gettempdir(), sys.prefix):
        if len(place) > 1 and f"{place}/" in text:
            raise SystemExit(f"a cell shows a path of this machine: {place}")
    if len(text.encode()) > MOST_BYTES:
        raise SystemExit(f"{len(text.encode()):,} bytes are too many: draw fewer pictures")
    return text


def main(names: list[str]) -> None:
    """Make the notebooks with these names, or all."""
    for source in sorted(EXAMPLES.glob("*.py")):
        if names and source.stem not in names:
            continue
        notebook = notebook_of(source.read_text(encoding="utf-8"))
        execute(notebook)
        text = written(notebook)
        source.with_suffix(".ipynb").write_text(text, encoding="utf-8")
        print(f"{source.stem}.ipynb: {len(notebook.cells)} cells, {len(text.encode()):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
