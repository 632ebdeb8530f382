"""A figure that notebooks display; in its own file, because matplotlib is imported only when something is drawn."""

from __future__ import annotations

import io
import sys
from typing import Any

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure that a notebook displays exactly once, whether or not pyplot knows it.

    IPython shows a plain Figure only once pyplot has drawn one, or after `%matplotlib inline`; otherwise it would print
    `<Figure size 480x600 with 1 Axes>`. Where it does know how, it does not ask for the PNG.
    """

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.savefig(written, format="png", bbox_inches="tight")
        return written.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Take the figure off pyplot's list, which a notebook would show once more at the end of the cell."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None and "inline" in pyplot.get_backend():
            pyplot.close(self)
        return {}
