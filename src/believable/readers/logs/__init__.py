"""Read logs of rerankers and language models as predictions."""
