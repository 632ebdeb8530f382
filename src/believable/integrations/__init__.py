"""Calibration inside other tools: one file for each, named after it and imported by name.

Nothing is imported here, because each file needs the tool that it is about.
"""
