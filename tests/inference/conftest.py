"""How the problems of `literal` are put to the library: as the metrics do it."""

from tests.metrics.conftest import ask

__all__ = ["ask"]
