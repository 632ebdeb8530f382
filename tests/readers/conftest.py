"""The program that writes the log of Inspect AI is not a test, and needs Inspect."""

collect_ignore = ["make_inspect_log.py"]
