"""Run the command line: `python -m believable`."""


def run() -> None:
    """Run the command line; Ctrl-C during the imports ends it as quietly as it does later."""
    try:
        from believable.cli import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    main()


if __name__ == "__main__":
    run()
