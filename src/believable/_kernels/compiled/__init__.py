"""Kernels in C, called as their twins in NumPy are: these files split rows among threads and make room for results.

The C is in `c/`. Every function lets go of the interpreter's lock while it works, so plain Python threads are enough.
"""

from __future__ import annotations
