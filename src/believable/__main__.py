"""`python -m believable` is the command line."""


def run() -> None:
    """The command line; Ctrl-C while it is being imported ends it as quietly as later."""
    try:
        from believable.cli import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    main()


if __name__ == "__main__":
    run()
