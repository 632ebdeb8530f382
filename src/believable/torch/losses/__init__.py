"""Losses: training with calibration in mind."""
