"""Speed and memory of believable, side by side with its peers: `python -m benchmarks --help`."""
