"""Kernels in C, called like their NumPy twins: these files split rows among threads and allocate the results.

The C is in `c/`. Every function releases the interpreter lock while it works, so plain Python threads suffice.
"""

from __future__ import annotations
