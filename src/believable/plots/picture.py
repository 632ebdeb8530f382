"""A figure that shows itself in a notebook; apart, because matplotlib is imported only where something is drawn."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class Picture(Figure):
    """A figure outside pyplot that a notebook can show.

    IPython shows a plain Figure only once pyplot has drawn one, or after `%matplotlib inline`; otherwise it would print
    `<Figure size 480x600 with 1 Axes>`. Where it does know how, it does not ask for this.
    """

    def _repr_png_(self) -> bytes:
        written = io.BytesIO()
        self.savefig(written, format="png", bbox_inches="tight")
        return written.getvalue()
