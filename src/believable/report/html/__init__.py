"""The page: a report as one HTML file that needs nothing else, and the short form that a notebook shows."""

from believable.report.html.page import as_cell, as_page
from believable.report.html.several import as_page_of_several

__all__ = ["as_cell", "as_page", "as_page_of_several"]
