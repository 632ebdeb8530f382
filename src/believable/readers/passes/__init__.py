"""Passes: many files counted in one go, which can be interrupted and taken up again."""
