"""Logs: what rerankers and language models leave behind, as predictions."""
