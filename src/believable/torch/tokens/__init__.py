"""Tokens: the next-token probabilities of language models."""
