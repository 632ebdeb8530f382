"""The audit in a browser tab: one file that reads a table, audits it and shows the report, without any network."""

from believable.report.browser.page import audit_page

__all__ = ["audit_page"]
