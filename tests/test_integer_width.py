"""Counts and sums have 64 bits: on 32-bit processors and in WebAssembly, NumPy's default integer has 32.

Positions (`np.argsort`, `np.flatnonzero`, `np.intp`) are default integers, and must be: NumPy indexes with nothing else.
What is multiplied or added must not be one. `tests/narrow_integers.py` has NumPy behave as it does there.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.values_of_metrics import values

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "believable"
FILES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))

# Functions and methods of NumPy that return default integers, and those that return booleans.
POSITIONS = set(
    "argmax argmin argpartition argsort argwhere digitize flatnonzero lexsort nonzero permutation searchsorted".split()
)
TESTS = {"isfinite", "isin", "isinf", "isnan", "logical_and", "logical_not", "logical_or", "logical_xor", "signbit"}
# Those that return what they are given.
KEEPERS = set(
    "abs append ascontiguousarray asarray clip concatenate copy diff flatten flip maximum minimum ravel repeat reshape "
    "reversed roll sort squeeze stack take tile transpose union1d".split()
)
MAKERS = {"array", "asarray", "astype", "empty", "full", "ones", "zeros"}  # which are given a type
SUMS = {"accumulate", "cumprod", "cumsum", "dot", "einsum", "inner", "prod", "reduce", "reduceat", "sum"}
UFUNCS = ("np", "np.add", "np.maximum", "np.minimum", "np.multiply")  # whose first argument is the array
PRODUCTS = (ast.Mult, ast.Pow, ast.LShift, ast.MatMult)
NARROW = {
    "intc",
    "intp",
    "int8",
    "int16",
    "int32",
    "uint8",
    "uint16",
    "uint32",
}  # types of arrays that are not to be added
VAGUE = {"int", "int_", "long", "uint", "uintc", "uintp", "ulong"}  # of 32 or 64 bits: not to be used at all

MASK, WHOLE = "booleans", "integers"  # what an expression may be known to hold

# What is found and right as it is: tensors and columns of polars add in 64 bits whatever the machine.
ALLOWED = {
    "readers/logs/trec.py: (rows['grade'] < 0).sum()": "a column of polars",
    "torch/counting/tally.py: np.arange(strata, dtype=np.int32)[:, None] * np.int32(len(grid))": "no more than there are codes, which are int32",
    "torch/counting/state.py: (rows.labels == rows.ignore_index).sum()": "a tensor",
    "torch/maps/logits.py: (labels == digit).sum(dim=1)": "a tensor",
    "torch/maps/temperature_search.py: (piece.logits == top.unsqueeze(1)).sum(dim=1)": "a tensor",
}


class Widths(ast.NodeVisitor):
    """Follow default integers through a function, from assignment to assignment, and note where they are added."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}  # of the names that hold booleans or default integers
        self.found: list[str] = []

    def kind(self, node: ast.expr) -> str:
        """Return what an array surely holds: booleans, or integers that may have 32 bits; "" if neither is sure."""
        match node:
            case ast.Name(name):
                return self.kinds.get(name, "")
            case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
                return MASK
            case ast.UnaryOp(op=ast.Invert() | ast.USub(), operand=operand) | ast.Subscript(value=operand):
                return self.kind(operand)
            case ast.BinOp(left, ast.Div(), right):
                return ""
            case ast.BinOp(left, _, right):
                return self.of_both(left, right)
            case ast.IfExp(body=body, orelse=other):
                return self.kind(body) if self.kind(body) == self.kind(other) else ""
            case ast.Call(func=ast.Attribute() as function):
                return self.of_call(node, function)
        return ""

    def of_both(self, left: ast.expr, right: ast.expr) -> str:
        kinds = {self.kind(left), self.kind(right)}
        if kinds == {MASK}:
            return MASK
        sure = all(self.kind(side) or is_python_integer(side) for side in (left, right))
        return WHOLE if sure and WHOLE in kinds else ""

    def of_call(self, call: ast.Call, function: ast.Attribute) -> str:
        name, options = function.attr, {option.arg: option.value for option in call.keywords}
        of_numpy = ast.unparse(function.value) in UFUNCS
        if "dtype" in options:
            return of_type(options["dtype"])
        if name == "arange" and of_numpy:
            return WHOLE if all(is_python_integer(value) for value in call.args[:3]) and len(call.args) < 4 else ""
        if name == "bincount":
            return WHOLE if len(call.args) == 1 and "weights" not in options else ""
        if name == "count_nonzero":
            return WHOLE if "axis" in options else ""
        if name in MAKERS and len(call.args) > (name != "astype"):
            return of_type(call.args[-1])
        if name in POSITIONS | TESTS:
            return MASK if name in TESTS else WHOLE
        given = call.args[:1] if of_numpy else [function.value]
        if name in SUMS:
            return WHOLE if given and self.kind(given[0]) else ""
        if name not in KEEPERS or not given:
            return ""
        if isinstance(given[0], ast.List | ast.Tuple):
            given = [item for item in given[0].elts if not isinstance(item, ast.List)]
        kinds = {self.kind(value) for value in given}
        return kinds.pop() if len(kinds) == 1 else ""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outside, self.kinds = self.kinds, dict(self.kinds)
        for argument in [*node.args.args, *node.args.kwonlyargs]:
            kind = "" if argument.annotation is None else ast.unparse(argument.annotation)
            self.kinds[argument.arg] = WHOLE if kind.startswith("Ints") else ""
        self.generic_visit(node)
        self.kinds = outside

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.kinds[target.id] = self.kind(node.value)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for name, value in zip(target.elts, node.value.elts, strict=False):
                    if isinstance(name, ast.Name):
                        self.kinds[name.id] = self.kind(value)
            elif isinstance(target, ast.Tuple):
                called = node.value.func if isinstance(node.value, ast.Call) else None
                unique = isinstance(called, ast.Attribute) and called.attr == "unique"
                for i, name in enumerate(target.elts):
                    if isinstance(name, ast.Name):
                        self.kinds[name.id] = WHOLE if unique and i else ""

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        kinds = self.kind(node.left), self.kind(node.right)
        if isinstance(node.op, PRODUCTS) and WHOLE in kinds and not (is_float(node.left) or is_float(node.right)):
            self.found.append(ast.unparse(node))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit_BinOp(ast.BinOp(node.target, node.op, node.value))

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in SUMS:
            return
        if any(option.arg == "dtype" for option in node.keywords):
            return
        of_numpy = ast.unparse(node.func.value) in UFUNCS
        given = node.args[:1] if of_numpy else [node.func.value]
        if any(map(self.kind, given)):
            self.found.append(ast.unparse(node))


def is_python_integer(node: ast.expr) -> bool:
    """Whether an expression is surely an integer of Python: a literal, a length, or a count by its name."""
    match node:
        case ast.Constant(value):
            return isinstance(value, int)
        case ast.UnaryOp(operand=operand):
            return is_python_integer(operand)
        case ast.Call(func=ast.Name("len" | "int")):
            return True
        case ast.Name(name) | ast.Attribute(attr=name):
            return name in ("n", "size", "width") or name.startswith(("n_", "per_")) or name.isupper()
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv(), right):
            return is_python_integer(left) and is_python_integer(right)
    return False


def is_float(node: ast.expr) -> bool:
    """Whether an expression is surely a float: it has a decimal point, or divides."""
    match node:
        case ast.Constant(value):
            return isinstance(value, float)
        case ast.Call(func=ast.Name("float")) | ast.BinOp(op=ast.Div()):
            return True
        case ast.UnaryOp(operand=operand):
            return is_float(operand)
        case ast.BinOp(left, _, right):
            return is_float(left) or is_float(right)
    return False


def of_type(node: ast.expr) -> str:
    name = ast.unparse(node).removeprefix("np.")
    return MASK if name in ("bool", "bool_") else WHOLE if name in NARROW | VAGUE else ""


def sums_in(source: str) -> list[str]:
    """Return the products and sums of default integers in some source."""
    widths = Widths()
    widths.visit(ast.parse(source))
    return widths.found


def test_no_default_integers_are_added():
    """Sums and products have a dtype, or are of numbers with 64 bits; booleans are counted by `np.count_nonzero`."""
    found = {f"{name}: {what}" for name in FILES for what in sums_in((SOURCE / name).read_text(encoding="utf-8"))}
    assert found - ALLOWED.keys() == set()
    assert ALLOWED.keys() - found == set()  # an exception that is not needed any more goes


def test_types_of_integers_say_their_width():
    """`int` has 32 bits on some machines: np.int64 counts, np.intp is a position."""
    vague = []
    for name in FILES:
        for node in ast.walk(ast.parse((SOURCE / name).read_text(encoding="utf-8"))):
            types: list[ast.expr] = []
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np":
                types = [node]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                types = [option.value for option in node.keywords if option.arg == "dtype"]
                if node.func.attr in MAKERS:
                    types += node.args[node.func.attr != "astype" :]
            vague += [f"{name}: {ast.unparse(one)}" for one in types if ast.unparse(one).removeprefix("np.") in VAGUE]
    assert vague == []


@pytest.mark.parametrize(
    "source",
    [
        "won = np.searchsorted(a, b).sum()",
        "below = np.cumsum(np.bincount(code))",
        "n = (a > 0.5).sum(axis=1)",
        "n = np.sum(~np.isnan(a))",
        "order = np.argsort(a)\nranks = order[where] + 1\ntotal = ranks.sum()",
        "found, count = np.unique(a, return_counts=True)\npairs = count * (count - 1)",
        "def f(stratum: Ints, per: int):\n    return stratum * per",
        "at = np.arange(1, n_bins) * total",
        "labels = np.asarray(a, np.int8)\nevents = np.add.reduceat(labels, starts)",
        "n = np.diff(np.append(np.flatnonzero(a), len(a)))\nsquares = n**2",
        "count = np.bincount(a)\ncount *= n_bins",
    ],
)
def test_default_integers_are_found(source):
    assert len(sums_in(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "won = np.searchsorted(a, b).sum(dtype=np.int64)",
        "below = np.cumsum(np.bincount(code, weight))",
        "n = np.count_nonzero(a > 0.5)",
        "n = np.bincount(code).astype(np.int64)\npairs = n * (n - 1)",
        "share = np.arange(5) / 5 * total",
        "p = 0.5 * np.bincount(code)",
        "at = np.arange(1, n_bins, dtype=np.float64) * total",
        "w = weight * (a > 0.5)",
        "order = np.argsort(a)\norder = weight[order]\ntotal = weight.sum()",
    ],
)
def test_sums_of_other_numbers_are_not(source):
    assert sums_in(source) == []


# --- the values -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def usual():
    return values()


def close(found, expected):
    return found.keys() == expected.keys() and found == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("kernels", ["numpy", pytest.param("auto", marks=pytest.mark.slow)])
def test_values_are_those_of_32_bits(kernels, usual):
    """Every metric on 120,000 rows is the same where NumPy's default integer has 32 bits."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.values_of_metrics", "narrow"],
        cwd=ROOT,
        env=os.environ
        | {"BELIEVABLE_KERNELS": kernels, "PYTHONPATH": os.pathsep.join([str(SOURCE.parent), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert close(json.loads(done.stdout), usual)


@pytest.mark.parametrize(
    "label", ["int8", *(pytest.param(one, marks=pytest.mark.slow) for one in ("uint8", "int32", "uint32"))]
)
def test_values_do_not_depend_on_the_type_of_labels(label, usual):
    """Labels of a few bits are not added in as few."""
    assert close(values(label), usual)


@pytest.mark.slow
def test_values_of_float32_do_not_depend_on_the_type_of_labels():
    assert close(values("uint8", "float32"), values("int64", "float32"))
