"""The recording scripts import the peers and run outside the test-suite; nothing here is collected but the inputs."""

collect_ignore_glob = ["record*.py", "compare.py", "verify_rules.py"]
