"""Run the command line: `python -m believable`."""

import sys

from believable import _optional
from believable.errors import MissingDependencyError


def run() -> None:
    """Run the command line; Ctrl-C during the imports ends it as quietly as it does later."""
    _optional.do_without("sklearn")  # whose import would take longer than an audit
    try:
        for package in ("click", "rich"):
            _optional.load(package, "the command line needs")
        from believable.cli import main
    except MissingDependencyError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    main()


if __name__ == "__main__":
    run()
