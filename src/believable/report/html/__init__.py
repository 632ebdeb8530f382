"""The page: a report as one HTML file that needs nothing else, and the short form that a notebook shows."""

from believable.report.html.cell import as_cell
from believable.report.html.page import as_page

__all__ = ["as_cell", "as_page"]
