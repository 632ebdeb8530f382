"""Calibration maps as ONNX graphs: alone, or appended to the graph of the model whose scores they read.

The graphs consist of standard operators of opset 13 and compute in float64. They follow the formulas of
`docs/portable.md`, so every recalibrator of the table there has a graph.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from believable import _check
from believable._types import Float64s
from believable.errors import InputError
from believable.recalibrate import Recalibrator, load_recalibrator

Dtype = Literal["float64", "float32"]
Map = dict[str, Any]

OLDEST_OPSET = 13
AXES_ARE_INPUTS = 18  # of ReduceMax; before that they are an attribute
ELEMENT_TYPES = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}
FLOAT_TYPES = frozenset(ELEMENT_TYPES.values())
SMALLEST = 1e-12  # probabilities are clipped to [1e-12, 1 - 1e-12] before logarithms
LARGEST_LOGIT = 27.631021115927547  # of 1 - 1e-12
LOWEST_LOG = -1e5
LARGEST_FLOAT = float(np.finfo(np.float64).max)
STEPS_OF_SHARES = 1e12  # shares of two classes are rounded to 12 decimals


def to_onnx(
    recalibrator: Recalibrator | str | os.PathLike[str],
    *,
    dtype: Dtype = "float64",
    opset: int = OLDEST_OPSET,
    input_name: str = "scores",
    output_name: str = "calibrated",
) -> Any:
    """Return the calibration map of a fitted recalibrator as an ONNX model.

    Parameters
    ----------
    recalibrator : Recalibrator, str or path
        A fitted recalibrator, or its JSON (text or file), as `load_recalibrator` reads it.
    dtype : {"float64", "float32"}
        Type of the scores that the graph reads and of the probabilities that it returns; it computes in float64.
    opset : int
        Version of the operators, at least 13.
    input_name, output_name : str
        Names of the scores and of the recalibrated probabilities.

    Returns
    -------
    onnx.ModelProto
        Scores of one event have the shape (n,), scores of several columns (n, K), as does the result. Save it with
        `onnx.save(model, "map.onnx")`.

    Notes
    -----
    The result equals `transform` to 1e-6, and mostly to 1e-12. Where Python raises an error, the graph gives NaN: for
    scores that are not finite, and for probabilities outside [0, 1]. It does not check that rows of probabilities sum
    to 1.

    Examples
    --------
    >>> from believable.recalibrate import PlattScaling
    >>> fitted = PlattScaling().fit([0.1, 0.4, 0.35, 0.8] * 20, [0, 0, 1, 1] * 20)
    >>> model = to_onnx(fitted)
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    >>> session.run(None, {"scores": np.array([0.1, 0.5, 0.9])})[0].round(4)
    array([0.0388, 0.7203, 0.9939])
    """
    saved = _saved(recalibrator)
    _check.choice(dtype, get_args(Dtype), "dtype")
    names = _checked_name(input_name, "input_name"), _checked_name(output_name, "output_name")
    if input_name == output_name:
        raise InputError("{argument} must differ from input_name, got {got!r}", argument="output_name", got=output_name)
    graph = _Graph(_checked_opset(opset), prefix=_free_prefix({*names}))
    kind, columns = ELEMENT_TYPES[dtype], saved["columns"]
    scores = graph.op("Cast", input_name, to=TensorProto.DOUBLE)
    graph.op("Cast", _applied(graph, saved, scores, dtype), to=kind, output=output_name)
    shape = ["n"] if columns == 1 else ["n", columns]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "calibration_map",
            [helper.make_tensor_value_info(input_name, kind, shape)],
            [helper.make_tensor_value_info(output_name, kind, shape)],
            graph.initializers,
        ),
        producer_name="believable",
        opset_imports=[helper.make_opsetid("", opset)],
    )
    model.ir_version = helper.find_min_ir_version_for(model.opset_import)
    _describe(model, saved)
    onnx.checker.check_model(model)
    return model


def append_to(
    model: Any,
    recalibrator: Recalibrator | str | os.PathLike[str],
    *,
    output: str | None = None,
    output_name: str = "calibrated",
) -> Any:
    """Return a copy of an ONNX model with one more output: its scores, recalibrated.

    Parameters
    ----------
    model : onnx.ModelProto, str or path
        The model, with opset 13 or newer, or its file.
    recalibrator : Recalibrator, str or path
        A recalibrator that was fitted on these scores, or its JSON. A map of one event reads the second of two columns
        (for logits and scores, their difference), and gives both columns again.
    output : str, optional
        The name of the output that holds the scores. By default the only output with floats. Where a classifier of
        skl2onnx gives dictionaries (`ZipMap`), the probabilities inside them are read.
    output_name : str
        Name of the new output.

    Returns
    -------
    onnx.ModelProto
        The outputs of the model, and the recalibrated probabilities in the type of its scores. A predicted label among
        its outputs is still that of the model.

    Notes
    -----
    Probabilities that are outside [0, 1] by rounding count as 0 and 1: those of a random forest may be 1.0000001.
    """
    joined = onnx.ModelProto()
    joined.CopyFrom(_loaded(model))
    _checked_name(output_name, "output_name")
    saved = _saved(recalibrator)
    tensor, kind, dims = _scores_of(joined, output)
    _refuse_other_order(joined, saved)
    taken = _names_in(joined.graph)
    if output_name in taken:
        raise InputError(
            "the model has something named {got!r} already: pass another {argument}",
            argument="output_name",
            got=output_name,
        )
    opset = next((one.version for one in joined.opset_import if one.domain in ("", "ai.onnx")), 0)
    graph = _Graph(_checked_opset(opset), prefix=_free_prefix(taken))
    dtype: Dtype = "float32" if kind == TensorProto.FLOAT else "float64"
    scores = graph.op("Cast", tensor, to=TensorProto.DOUBLE)
    if saved["input"] == "probabilities":
        scores = graph.rounded(scores)
    calibrated, shape = _joined(graph, saved, scores, dims, dtype)
    graph.op("Cast", calibrated, to=kind, output=output_name)
    joined.graph.node.extend(graph.nodes)
    joined.graph.initializer.extend(graph.initializers)
    joined.graph.output.append(helper.make_tensor_value_info(output_name, kind, shape))
    _describe(joined, saved)
    onnx.checker.check_model(joined)
    return joined


# --- what was passed --------------------------------------------------------------------------------------------------


def _saved(recalibrator: Any) -> Map:
    """Return a recalibrator in its JSON form."""
    if isinstance(recalibrator, (str, os.PathLike)):
        recalibrator = load_recalibrator(recalibrator)
    if not isinstance(recalibrator, Recalibrator):
        inside = "its map is .method_" if hasattr(recalibrator, "method_") else "fit one on the scores of the model"
        raise InputError(
            "{argument} must be a fitted recalibrator, or its JSON, got {got}: {inside}",
            argument="recalibrator",
            got=type(recalibrator).__name__,
            inside=inside,
        )
    saved: Map = json.loads(recalibrator.to_json())
    return saved


def _loaded(model: Any) -> Any:
    """Return a model, from its file if a path is given."""
    if isinstance(model, onnx.ModelProto):
        return model
    if not isinstance(model, (str, os.PathLike)):
        raise InputError(
            "{argument} must be an onnx.ModelProto or its file, got {got}", argument="model", got=type(model).__name__
        )
    try:
        return onnx.load(os.fspath(model))
    except Exception as error:  # protobuf has errors of its own for what it cannot parse
        raise InputError(
            "{argument}: {path} cannot be read as an ONNX model: {why}",
            argument="model",
            path=os.fspath(model),
            why=getattr(error, "strerror", None) or "it is something else, or incomplete",
        ) from error


def _checked_name(name: Any, argument: str) -> str:
    if not isinstance(name, str) or not name:
        raise InputError("{argument} must be a name, got {got!r}", argument=argument, got=name)
    return name


def _checked_opset(opset: Any) -> int:
    newest = onnx.defs.onnx_opset_version()
    if isinstance(opset, bool) or not isinstance(opset, int) or not OLDEST_OPSET <= opset <= newest:
        raise InputError(
            "{argument} must be from {oldest} to {newest}, got {got!r}: convert the model with such a target, or with "
            "onnx.version_converter",
            argument="opset",
            oldest=OLDEST_OPSET,
            newest=newest,
            got=opset,
        )
    return opset


def _describe(model: Any, saved: Map) -> None:
    """Note in the model which map it contains, and which class each column is."""
    told = {"believable.method": saved["method"], "believable.classes": json.dumps(saved["classes"])}
    for key, value in told.items():
        entry = next((one for one in model.metadata_props if one.key == key), None) or model.metadata_props.add()
        entry.key, entry.value = key, value


def _names_in(graph: Any) -> set[str]:
    values = [name for node in graph.node for name in (*node.input, *node.output, node.name)]
    return {*values, *(one.name for one in (*graph.input, *graph.output, *graph.initializer))}


def _refuse_other_order(model: Any, saved: Map) -> None:
    """Raise if a classifier in the model has the classes of the map in another order: columns would be mixed up."""
    ours = [str(one) for one in saved["classes"]]
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name not in ("classlabels_int64s", "classlabels_ints", "classlabels_strings"):
                continue
            theirs = [*map(str, attribute.ints), *(one.decode(errors="replace") for one in attribute.strings)]
            if theirs != ours and sorted(theirs) == sorted(ours):
                raise InputError(
                    "the columns of the model are the classes {theirs}, but the map was fitted on {ours}: fit the "
                    "recalibrator on the scores in the order of the model",
                    theirs=theirs,
                    ours=ours,
                    argument="recalibrator",
                )


def _free_prefix(taken: set[str]) -> str:
    prefix = "calibration_map"
    while any(name.startswith(f"{prefix}_") for name in taken):
        prefix += "_"
    return f"{prefix}_"


def _scores_of(model: Any, output: str | None) -> tuple[str, int, list[int | None]]:
    """Return the tensor that holds the scores, the type of its elements, and its shape (None: unknown)."""
    outputs = {one.name: one for one in model.graph.output}
    zipped = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == "ZipMap"}
    floats = [name for name, one in outputs.items() if name in zipped or one.type.tensor_type.elem_type in FLOAT_TYPES]
    if output is None and len(floats) != 1:
        raise InputError(
            "the model has {n} outputs with floats, {floats}: say which holds the scores with {argument}",
            n=len(floats),
            floats=floats,
            argument="output",
        )
    name = floats[0] if output is None else output
    if name not in floats:
        raise InputError(
            "{argument} must be an output with floats, one of {floats}, got {got!r}",
            argument="output",
            floats=floats,
            got=name,
        )
    if name in zipped:
        inferred = onnx.shape_inference.infer_shapes(model).graph.value_info
        known = next((one for one in inferred if one.name == zipped[name]), None)
        classes = next(node for node in model.graph.node if node.output[0] == name).attribute
        width = max(len(one.ints) + len(one.strings) for one in classes)
        kind = TensorProto.FLOAT if known is None else known.type.tensor_type.elem_type
        return zipped[name], kind, [None, width]
    tensor = outputs[name].type.tensor_type
    if not tensor.HasField("shape"):
        return name, tensor.elem_type, [None, None]
    dims = [one.dim_value if one.HasField("dim_value") else None for one in tensor.shape.dim]
    return name, tensor.elem_type, dims


def _joined(
    graph: _Graph, saved: Map, scores: str, dims: list[int | None], dtype: Dtype
) -> tuple[str, list[str | int]]:
    """Apply a map to the output of a model; return the result in the shape of that output, and the shape."""
    columns = saved["columns"]
    width = None if len(dims) == 2 else 1
    if len(dims) == 2:
        width = dims[1] or (columns if columns > 1 else None)
    if len(dims) not in (1, 2) or width is None or (columns, width) not in {(1, 1), (1, 2), (columns, columns)}:
        shape = "×".join("?" if one is None else str(one) for one in dims)
        raise InputError(
            "the map reads {columns} column(s), but the output of the model has the shape {shape}: fit the "
            "recalibrator on these scores",
            columns=columns,
            shape=shape,
            argument="output",
        )
    if width == 1:
        one = graph.op("Reshape", scores, graph.constant([-1], np.int64))
        result = _applied(graph, saved, one, dtype)
        if len(dims) == 1:
            return result, ["n"]
        return graph.op("Reshape", result, graph.constant([-1, 1], np.int64)), ["n", 1]
    two = {**saved, "columns": 2} if columns == 1 else saved
    return _applied(graph, two, scores, dtype), ["n", width]


# --- a graph under construction ---------------------------------------------------------------------------------------


class _Graph:
    """Nodes and constants; every operation returns the name of its result. Numbers are taken as constants."""

    def __init__(self, opset: int, prefix: str = "") -> None:
        self.opset, self.prefix = opset, prefix
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        array = np.asarray(value, dtype)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._constants:
            name = f"{self.prefix}c{len(self._constants)}"
            self._constants[key] = name
            self.initializers.append(numpy_helper.from_array(array, name))
        return self._constants[key]

    def op(self, kind: str, *inputs: Any, output: str = "", **attributes: Any) -> str:
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        result = output or f"{self.prefix}v{len(self.nodes)}"
        name = f"{self.prefix}n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [result], name=name, **attributes))
        return result

    def add(self, *terms: Any) -> str:
        total = terms[0]
        for term in terms[1:]:
            total = self.op("Add", total, term)
        return str(total)

    def subtract(self, one: Any, other: Any) -> str:
        return self.op("Sub", one, other)

    def multiply(self, one: Any, other: Any) -> str:
        return self.op("Mul", one, other)

    def divide(self, one: Any, other: Any) -> str:
        return self.op("Div", one, other)

    def where(self, condition: str, yes: Any, no: Any) -> str:
        return self.op("Where", condition, yes, no)

    def less(self, one: Any, other: Any) -> str:
        return self.op("Less", one, other)

    def smaller(self, one: Any, other: Any) -> str:
        """Return the smaller of two; NaN if the first is NaN."""
        return self.where(self.less(other, one), other, one)

    def larger(self, one: Any, other: Any) -> str:
        """Return the larger of two; NaN if the first is NaN."""
        return self.where(self.less(one, other), other, one)

    def clip(self, x: str, low: Any, high: Any) -> str:
        return self.smaller(self.larger(x, low), high)

    def rounded(self, p: str) -> str:
        """Return probabilities, with those that are outside [0, 1] by no more than rounding moved to the end."""
        low, high = -_check.ROW_SUM_TOLERANCE, 1 + _check.ROW_SUM_TOLERANCE
        close = self.op("And", self.op("LessOrEqual", low, p), self.op("LessOrEqual", p, high))
        return self.where(close, self.clip(p, 0.0, 1.0), p)

    def sigmoid(self, z: str) -> str:
        """Return 1 / (1 + exp(-z)), which the operator of ONNX Runtime rounds to 0 far out."""
        below = self.op("Exp", self.op("Neg", self.op("Abs", z)))
        return self.divide(self.where(self.less(z, 0.0), below, 1.0), self.add(below, 1.0))

    def softmax(self, z: str) -> str:
        return self.op("Softmax", z, axis=1)

    def column(self, rows: str, k: int | Sequence[int]) -> str:
        return self.op("Gather", rows, self.constant(k, np.int64), axis=1)

    def at(self, values: Any, index: str) -> str:
        return self.op("Gather", self.constant(values), index, axis=0)

    def side_by_side(self, columns: Sequence[str]) -> str:
        axis = self.constant([1], np.int64)
        return self.op("Concat", *(self.op("Unsqueeze", one, axis) for one in columns), axis=1)

    def row_sum(self, rows: str) -> str:
        return self.op("ReduceSum", rows, self.constant([1], np.int64), keepdims=1)

    def row_max(self, rows: str) -> str:
        if self.opset >= AXES_ARE_INPUTS:
            return self.op("ReduceMax", rows, self.constant([1], np.int64), keepdims=1)
        return self.op("ReduceMax", rows, axes=[1], keepdims=1)

    def before(self, entries: Any, x: str, *, equal: bool = False) -> str:
        """Return how many ascending entries are below x, or not above it if `equal`, by a binary search.

        They are padded with NaN, which is neither below nor equal to any score, infinity included.
        """
        entries = np.asarray(entries, np.float64)
        steps = 2 ** np.arange(len(entries).bit_length())[::-1]
        padded = np.concatenate([entries, np.full(2 * int(steps.max(initial=1)) - len(entries), np.nan)])
        if not len(entries):
            return self.op("Cast", self.less(x, x), to=TensorProto.INT64)
        found = None
        for step in steps.tolist():
            place = self.constant(step - 1, np.int64) if found is None else None
            place = place or self.op("Add", found, self.constant(step - 1, np.int64))
            below = self.op("LessOrEqual" if equal else "Less", self.at(padded, place), x)
            gained = self.op("Mul", self.op("Cast", below, to=TensorProto.INT64), self.constant(step, np.int64))
            found = gained if found is None else self.op("Add", found, gained)
        return str(found)

    def line(self, knots: Any, values: Any, x: str) -> str:
        """Return the linear interpolation of values at the knots, constant beyond the ends."""
        k, v = (np.asarray(one, np.float64) for one in (knots, values))
        inside = self.clip(x, k[0], k[-1])
        place = self.op("Sub", self.before(k, inside, equal=True), self.constant(1, np.int64))
        place = self.op("Max", place, self.constant(0, np.int64))  # NaN is not above any knot
        rise, width = np.append(np.diff(v), 0.0), np.append(np.diff(k), 1.0)
        width[width == 0] = 1.0  # two values at one knot: the last is used
        share = self.divide(self.subtract(inside, self.at(k, place)), self.at(width, place))
        return self.add(self.at(v, place), self.multiply(self.at(rise, place), share))


# --- maps of one event ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Score:
    """The scores of one event: what they are, and whether they are float32 numbers as they were given."""

    x: str
    input: str
    float32: bool = False

    def edges(self, values: Any) -> Float64s:
        """Return edges of bins, rounded as Python rounds them to compare them with scores in float32."""
        edges = np.asarray(values, np.float64)
        return edges.astype(np.float32).astype(np.float64) if self.float32 else edges


def _probability(g: _Graph, s: _Score) -> str:
    return g.sigmoid(s.x) if s.input == "logits" else s.x


def _logs(g: _Graph, s: _Score) -> tuple[str, str]:
    """Return log(1 - p) and log p."""
    if s.input == "logits":
        tail = g.op("Log", g.add(g.op("Exp", g.op("Neg", g.op("Abs", s.x))), 1.0))
        below = g.op("Neg", g.add(g.larger(s.x, 0.0), tail))
        return below, g.subtract(g.smaller(s.x, 0.0), tail)
    q = g.clip(s.x, SMALLEST, 1 - SMALLEST)
    below = g.where(g.less(s.x, 1 - SMALLEST), g.op("Log", g.subtract(1.0, q)), math.log(SMALLEST))
    return below, g.op("Log", q)


def _logit(g: _Graph, s: _Score) -> str:
    if s.input != "probabilities":
        return s.x
    below, above = _logs(g, s)
    return g.subtract(above, below)


def _mixed_logit(g: _Graph, s: _Score, mixing: float) -> str:
    mixed = g.add(g.multiply(_probability(g, s), 1 - mixing), mixing / 2)
    return _logit(g, _Score(mixed, "probabilities"))


def _platt(g: _Graph, m: Map, s: _Score) -> str:
    return g.sigmoid(g.add(g.multiply(_logit(g, s), m["slope"]), m["intercept"]))


def _beta(g: _Graph, m: Map, s: _Score) -> str:
    below, above = _logs(g, s)
    return g.sigmoid(g.add(g.subtract(g.multiply(above, m["a"]), g.multiply(below, m["b"])), m["c"]))


def _quadratic(g: _Graph, m: Map, s: _Score) -> str:
    u = _mixed_logit(g, s, m["mixing"])
    t = g.clip(u, m["low"], m["high"])
    inside = g.multiply(g.add(g.multiply(t, m["c"]), m["b"]), t)
    slope = g.add(g.multiply(t, 2 * m["c"]), m["b"])
    return g.sigmoid(g.add(inside, g.multiply(slope, g.subtract(u, t)), m["a"]))


def _beta_cdf(g: _Graph, m: Map, s: _Score) -> str:
    z = g.clip(_logit(g, s), -LARGEST_LOGIT, LARGEST_LOGIT)
    p, q, a, b = g.sigmoid(z), g.sigmoid(g.op("Neg", z)), m["a"], m["b"]
    upper = g.subtract(1.0, _incomplete_beta(g, q, p, b, a))
    return g.where(g.less((a + 1) / (a + b + 2), p), upper, _incomplete_beta(g, p, q, a, b))


def _incomplete_beta(g: _Graph, p: str, q: str, a: float, b: float) -> str:
    """Return the regularised incomplete beta function by its continued fraction (DLMF 8.17.22), unrolled."""
    f: Any = 1.0
    for m in range(math.ceil(20 + 3 * math.sqrt(a + b)), 0, -1):
        n = a + 2 * m
        f = g.add(g.divide(g.multiply(p, m * (b - m) / ((n - 1) * n)), f), 1.0)
        f = g.subtract(1.0, g.divide(g.multiply(p, (a + m - 1) * (a + b + m - 1) / ((n - 2) * (n - 1))), f))
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    logs = g.add(g.multiply(g.op("Log", p), a), g.multiply(g.op("Log", q), b), scale)
    return g.divide(g.op("Exp", logs), g.multiply(f, a))


def _isotonic(g: _Graph, m: Map, s: _Score) -> str:
    if m["between"] == "linear":
        return g.line(m["scores"], m["values"], s.x)
    return g.at([m["values"][0], *m["values"]], g.before(m["scores"], s.x, equal=True))


def _logit_spline(g: _Graph, m: Map, s: _Score) -> str:
    u = _mixed_logit(g, s, m["mixing"])
    knots, values, slopes = (np.asarray(m[name], np.float64) for name in ("knots", "values", "slopes"))
    bends = np.concatenate([[0.0], np.diff(slopes) / np.diff(knots) / 2, [0.0]])
    following = g.before(knots, u, equal=True)
    knot, value, slope = (g.at(np.append(one[:1], one), following) for one in (knots, values, slopes))
    away = g.subtract(u, knot)
    rise = g.multiply(g.add(slope, g.multiply(g.at(bends, following), away)), away)
    return g.sigmoid(g.add(value, rise))


def _spline(g: _Graph, m: Map, s: _Score) -> str:
    p = _probability(g, s)
    return g.clip(g.add(p, g.line(m["scores"], m["shifts"], p)), 0.0, 1.0)


def _histogram(g: _Graph, m: Map, s: _Score) -> str:
    x = _probability(g, s)
    place = g.before(s.edges(m["edges"]), x)
    occupied = g.less(0.5, g.at(m["occupied"], place))
    return g.where(occupied, g.at(m["rates"], place), x)


def _venn_abers(g: _Graph, m: Map, s: _Score) -> str:
    high = g.at(m["high"], g.before(m["high_after"], s.x))
    low = g.smaller(g.at(m["low"], g.before(m["low_from"], s.x, equal=True)), high)
    return g.divide(high, g.add(g.subtract(1.0, low), high))


OF_ONE_EVENT: dict[str, Callable[[_Graph, Map, _Score], str]] = {
    "Identity": lambda g, m, s: _probability(g, s),
    "PlattScaling": _platt,
    "BetaCalibration": _beta,
    "QuadraticScaling": _quadratic,
    "BetaCDFCalibration": _beta_cdf,
    "IsotonicCalibration": _isotonic,
    "LocalRegressionCalibration": lambda g, m, s: g.line(m["scores"], m["values"], _probability(g, s)),
    "LogitSplineCalibration": _logit_spline,
    "SplineCalibration": _spline,
    "BBQ": lambda g, m, s: g.at(m["values"], g.before(m["edges"], _probability(g, s))),
    "HistogramBinning": _histogram,
    "ScalingBinning": lambda g, m, s: g.at(m["means"], g.before(s.edges(m["edges"]), s.x)),
    "VennAbers": _venn_abers,
}


# --- maps of all classes ----------------------------------------------------------------------------------------------


def _linear(g: _Graph, m: Map, z: str) -> str:
    weights = g.constant(np.asarray(m["weights"], np.float64).T)
    return g.softmax(g.add(g.op("MatMul", z, weights), np.asarray(m["intercepts"])))


def _log_softmax(g: _Graph, z: str) -> str:
    return g.larger(g.op("LogSoftmax", z, axis=1), LOWEST_LOG)


def _ensemble_temperature(g: _Graph, m: Map, z: str) -> str:
    scaled = g.multiply(g.softmax(g.divide(z, m["temperature"])), m["scaled"])
    unscaled = g.multiply(g.softmax(z), m["unscaled"])
    uniform = g.multiply(g.softmax(g.multiply(z, 0.0)), m["uniform"])
    return g.add(scaled, unscaled, uniform)


def _structured(g: _Graph, m: Map, z: str, n_classes: int) -> str:
    temperature, mixing = m.get("temperature", 1.0), m.get("mixing", 0.0)
    if not mixing:
        return _linear(g, m, _log_softmax(g, g.divide(z, temperature)))
    below = g.larger(g.subtract(z, g.row_max(z)), LOWEST_LOG)
    tempered = g.multiply(g.softmax(g.divide(below, temperature)), 1 - mixing)
    return _linear(g, m, g.op("Log", g.add(tempered, mixing / n_classes)))


def _prior_shift(g: _Graph, m: Map, z: str) -> str:
    with np.errstate(divide="ignore"):
        shift = np.log(np.asarray(m["target"], np.float64)) - np.log(np.asarray(m["source"], np.float64))
    return g.softmax(g.add(z, shift))


OF_ALL_CLASSES: dict[str, Callable[[_Graph, Map, str, int], str]] = {
    "TemperatureScaling": lambda g, m, z, k: g.softmax(g.divide(z, m["temperature"])),
    "EnsembleTemperature": lambda g, m, z, k: _ensemble_temperature(g, m, z),
    "VectorScaling": lambda g, m, z, k: g.softmax(
        g.add(g.multiply(z, np.asarray(m["scales"])), np.asarray(m["intercepts"]))
    ),
    "MatrixScaling": lambda g, m, z, k: _linear(g, m, z),
    "DirichletCalibration": lambda g, m, z, k: _linear(g, m, _log_softmax(g, z)),
    "StructuredScaling": _structured,
    "PriorShift": lambda g, m, z, k: _prior_shift(g, m, z),
}


# --- a saved recalibrator ---------------------------------------------------------------------------------------------


def _applied(g: _Graph, saved: Map, x: str, dtype: Dtype) -> str:
    """Apply a saved recalibrator, a file or a member of an average, to scores of shape (n,) or (n, K)."""
    given, settings, columns = saved["input"], saved["settings"], saved["columns"]
    as_given = dtype == "float32"
    multilabel = settings.get("multilabel") is True
    if columns == 2 and not multilabel:
        second = g.column(x, 1)
        one = second if given == "probabilities" else _difference(g, second, g.column(x, 0))
        is_float32: Dtype = "float32" if as_given and given == "probabilities" else "float64"
        p = _applied(g, {**saved, "columns": 1}, one, is_float32)
        return g.side_by_side([g.subtract(1.0, p), p])
    if saved["method"] == "AveragedCalibration":
        return _averaged(g, saved["maps"][0], x, dtype, 2 if columns == 1 or multilabel else columns, columns)
    inner = settings.get("method") if saved["method"] == "OneVsRest" else None
    default = "PlattScaling" if saved["method"] == "OneVsRest" else saved["method"]
    method: str = inner["method"] if inner else default
    maps = saved["maps"]
    if columns == 1:
        score = _Score(x, given, as_given)
        if method in OF_ONE_EVENT:
            return _of_event(g, method, maps[0], score)
        half = g.divide(x, 2.0)
        both = [g.op("Neg", half), half] if given == "logits" else list(_logs(g, score))
        result = g.column(OF_ALL_CLASSES[method](g, maps[0], g.side_by_side(both), 2), 1)
        return _or_nan(g, result, x, given)
    if method in OF_ALL_CLASSES:
        z = x if given == "logits" else g.op("Log", g.larger(x, SMALLEST))
        whole = g.row_sum(_or_nan(g, g.multiply(x, 0.0), x, given))  # 0, or NaN for a row that Python refuses
        return g.add(OF_ALL_CLASSES[method](g, maps[0], z, columns), whole)
    if saved["method"] == "VennAbers" and settings.get("multi_class") == "ovo":
        return _by_pairs(g, maps, x, given, columns)
    results = []
    for k, own in enumerate(maps):
        odds = given == "logits" and not multilabel
        score = _Score(_log_odds(g, x, k, columns) if odds else g.column(x, k), given, as_given and not odds)
        results.append(_of_event(g, "Identity" if own is None else method, own or {}, score))
    rows = g.side_by_side(results)
    return rows if multilabel or settings.get("normalise") is False else _normalised(g, rows)


def _range(given: str) -> tuple[float, float]:
    """Return the smallest and the largest score that Python accepts."""
    return (0.0, 1.0) if given == "probabilities" else (-LARGEST_FLOAT, LARGEST_FLOAT)


def _or_nan(g: _Graph, result: str, x: str, given: str) -> str:
    """Return the result, or NaN where Python refuses the score."""
    low, high = _range(given)
    accepted = g.op("And", g.op("LessOrEqual", low, x), g.op("LessOrEqual", x, high))
    return g.where(accepted, result, math.nan)


def _difference(g: _Graph, one: str, other: str) -> str:
    """Return one - other, limited to the range of floats; NaN unless both are finite."""
    limited = g.clip(g.subtract(one, other), -LARGEST_FLOAT, LARGEST_FLOAT)
    return _or_nan(g, _or_nan(g, limited, one, "logits"), other, "logits")


def _of_event(g: _Graph, method: str, fitted: Map, score: _Score) -> str:
    return _or_nan(g, OF_ONE_EVENT[method](g, fitted, score), score.x, score.input)


def _log_odds(g: _Graph, z: str, k: int, n_classes: int) -> str:
    """Return the log-odds of class k against the rest."""
    others = g.column(z, [j for j in range(n_classes) if j != k])
    top = g.row_max(others)
    rest = g.add(top, g.op("Log", g.row_sum(g.op("Exp", g.subtract(others, top)))))
    return _difference(g, g.column(z, k), g.op("Squeeze", rest, g.constant([1], np.int64)))


def _normalised(g: _Graph, rows: str) -> str:
    """Divide rows by their sums; a row of zeros becomes the uniform distribution."""
    total = g.row_sum(rows)
    some = g.op("Not", g.op("Equal", total, 0.0))
    return g.where(some, g.divide(rows, total), g.softmax(g.multiply(rows, 0.0)))


def _averaged(g: _Graph, fitted: Map, x: str, dtype: Dtype, n_classes: int, columns: int) -> str:
    total: str = g.multiply(x, 0.0)
    for weight, member in zip(fitted["weights"], fitted["members"], strict=True):
        total = g.add(total, g.multiply(_applied(g, member, x, dtype), weight * (1 - fitted["mixing"])))
    return g.add(total, fitted["mixing"] / n_classes)


def _by_pairs(g: _Graph, maps: list[Map | None], x: str, given: str, n_classes: int) -> str:
    """Apply a map to each pair of classes, and combine the probabilities of pairs."""
    inverse: list[str] = [g.add(g.multiply(g.column(x, k), 0.0), 2.0 - n_classes) for k in range(n_classes)]
    column = [_or_nan(g, one, one, given) for one in (g.column(x, k) for k in range(n_classes))]
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    for (i, j), own in zip(pairs, maps, strict=True):
        if own is None:
            i_wins, j_wins = (
                _probability(g, _Score(_share(g, column[a], column[b], given), given)) for a, b in ((j, i), (i, j))
            )
        else:
            share = _share(g, column[i], column[j], given)
            if given == "probabilities":
                share = g.divide(g.op("Floor", g.add(g.multiply(share, STEPS_OF_SHARES), 0.5)), STEPS_OF_SHARES)
            j_wins = _of_event(g, "VennAbers", own, _Score(share, given))
            i_wins = g.subtract(1.0, j_wins)
        inverse[i] = g.add(inverse[i], g.divide(1.0, i_wins))
        inverse[j] = g.add(inverse[j], g.divide(1.0, j_wins))
    return _normalised(g, g.divide(1.0, g.side_by_side(inverse)))


def _share(g: _Graph, first: str, second: str, given: str) -> str:
    """Return the score of the second class against the first."""
    if given != "probabilities":
        return _difference(g, second, first)
    total = g.add(first, second)
    return g.where(g.op("Equal", total, 0.0), 0.5, g.divide(second, total))
