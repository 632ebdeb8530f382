"""NumPy as it is on 32-bit processors and in WebAssembly, on any machine: its default integer has 32 bits.

There, positions (`np.argsort`), counts (`np.bincount`) and ranges (`np.arange`) are int32, and a sum of booleans or of
int32 is int32, too. Products and sums of such numbers overflow without a warning. On import, this module rewrites the
source of `believable`: each call of such a function then returns what it would return there. Import it before
`believable`, or run tests on it: `python -m pytest -p tests.narrow_integers tests/metrics`.
"""

from __future__ import annotations

import ast
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader

import numpy as np

# These return the default integer, except where they are given a dtype or numbers of another type.
POSITIONS = set(
    "append arange argmax argmin argpartition argsort argwhere array asarray bincount concatenate count_nonzero diff "
    "digitize flatnonzero full indices lexsort nonzero permutation searchsorted unique unique_counts unique_inverse where".split()
)
# These add or multiply small integers in the default integer.
SUMS = set("accumulate cumprod cumsum einsum prod reduce reduceat sum trace".split())
TAKES_POSITIONS = {"reduceat", "repeat", "put", "choose"}  # and refuses integers of more bits than a position
NARROWER = {"i": np.dtype(np.int32), "u": np.dtype(np.uint32)}
LIKE_INPUT = {
    "append",
    "diff",
    "array",
    "asarray",
    "concatenate",
    "where",
}  # whose result has the type of an array that it is given


def _narrowed(name, owner, *args, **options):
    """Call a function, and return its result with 32 bits if it would have no more there."""
    if name in TAKES_POSITIONS and any(isinstance(value, np.ndarray) and _is_wide(value) for value in args[-1:]):
        raise TypeError("Cannot cast array data from dtype('int64') to dtype('int32') according to the rule 'safe'")
    result = getattr(owner, name)(*args, **options)
    typed = (name in ("array", "asarray") and len(args) > 1) or (name == "full" and len(args) > 2)
    if typed or options.get("dtype") is not None:
        return result
    if name in TAKES_POSITIONS - SUMS:
        return result
    parts = [part for value in args for part in (value if isinstance(value, list | tuple) else [value])]
    given = [value for value in (owner, *parts) if isinstance(value, np.ndarray | np.generic)]
    if name in SUMS:
        return _narrow(result) if given and all(_is_narrow(value) for value in given[:1]) else result
    if name in LIKE_INPUT and given and not all(_is_narrow(value) for value in given):
        return result
    if name == "arange" and any(isinstance(value, np.int64) for value in args):
        return result
    if name == "full" and isinstance(args[1], np.int64):
        return result
    if name == "permutation" and given[:1]:
        return result
    if name.startswith("unique") and isinstance(result, tuple):
        return (result[0], *map(_narrow, result[1:]))
    if name.startswith("unique"):
        return result
    return tuple(map(_narrow, result)) if isinstance(result, tuple) else _narrow(result)


def _is_narrow(value):
    return value.dtype.kind == "b" or (value.dtype.kind in "iu" and value.dtype.itemsize <= 4)


def _is_wide(value):
    return value.dtype.kind in "iu" and value.dtype.itemsize == 8


def _narrow(value):
    """Keep 32 bits of a 64-bit integer; what does not fit is lost."""
    if isinstance(value, np.ndarray | np.generic) and _is_wide(value):
        return value.astype(NARROWER[value.dtype.kind])
    return value


class _Rewriter(ast.NodeTransformer):
    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr == "intp" and isinstance(node.value, ast.Name) and node.value.id == "np":
            node.attr = "int32"
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in POSITIONS | SUMS | TAKES_POSITIONS:
            return node
        name = ast.Constant(node.func.attr)
        call = ast.Call(ast.Name("_narrowed", ast.Load()), [name, node.func.value, *node.args], node.keywords)
        return ast.fix_missing_locations(ast.copy_location(call, node))


class _Loader(SourceFileLoader):
    def get_code(self, fullname):
        path = self.get_filename(fullname)
        tree = _Rewriter().visit(ast.parse(self.get_data(path), path))
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module):
        module._narrowed = _narrowed
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname.partition(".")[0] != "believable":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


if any(name.partition(".")[0] == "believable" for name in sys.modules):
    raise ImportError("import tests.narrow_integers before believable")
sys.meta_path.insert(0, _Finder())
