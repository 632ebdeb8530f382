"""`python -m believable` is the command line."""

from believable.cli import main

main()
