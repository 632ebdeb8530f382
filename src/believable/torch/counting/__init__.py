"""Counting: from tensors to the statistics of the core, where the tensors are."""
