"""`Predictions`: scores and outcomes, checked once.

It is read-only, so it can cache what was counted from it. The pairs of a view are yielded block by block, so that no
second array of the size of the data is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple, TypeVar, get_args

import numpy as np

from believable import _check, _kernels
from believable._check import ROW_SUM_TOLERANCE
from believable._types import Array, Floats, Ints, Kind, Needs, Notion
from believable.errors import InputError, Sentence, UndefinedError
from believable.predictions.view import Pairs, View

COLUMNS_AT_ONCE, ROWS_AT_ONCE = 1 << 22, 1 << 15  # entries copied at once; entries of a block of rows, to fit the cache
NEEDS_ONE_LABEL_PER_ROW = (
    "this needs one label per row, but the outcomes are distributions over classes, which only sums over rows can use "
    "(Brier score, log loss, skill, accuracy, sharpness): pass the most frequent class of each row, or a row for each "
    "annotator"
)

Counted = TypeVar("Counted", _kernels.Moments, _kernels.PassSums, _kernels.MatrixSums)
Remembered = TypeVar("Remembered")


class Meaning(NamedTuple):
    """The arguments of `Predictions` that say what predictions and labels mean."""

    from_logits: bool = False
    pos_label: Any = None
    classes: Sequence[Any] | None = None
    soft_labels: bool = False
    ignore_label: Any = None
    multilabel: bool = False
    neg_label: Any = None
    one_hot: bool = False


PLAIN_MEANING = Meaning()


class Predictions:
    """Scores and outcomes, checked once; every function accepts it in place of its two arrays.

    Parameters
    ----------
    predictions : array-like of shape (n,) or (n, K)
        P(y = 1), or one column of probabilities per class. (Confidence, correct) pairs are 1-D input too.
    actuals : array-like of shape (n,)
        Labels: 0/1, booleans, or class numbers 0..K-1.
    sample_weight : array-like of shape (n,), optional
        Importance weights. Rows of weight 0 are dropped.
    from_logits : bool
        The predictions are logits: the sigmoid (1-D, multilabel) or softmax (2-D) is taken in float64. This is never
        guessed.
    pos_label : optional
        The label that counts as 1, for 1-D predictions. All other rows must share one label.
    neg_label : optional
        The label that counts as 0, next to `pos_label`. Rows with any other label are an error.
    classes : sequence, optional
        The labels in the order of the columns.
    soft_labels : bool
        Outcomes are shares in [0, 1], for example of annotators. A share s counts as a row with outcome 1 and weight s
        and a row with outcome 0 and weight 1 - s. For one column per class, actuals is an (n, K) matrix whose rows are
        distributions; metrics that are sums over rows (Brier score, log loss, accuracy, …) then take the expectation
        over each row's distribution, and all others raise an error.
    ignore_label : optional
        Rows with this label are dropped and counted in `n_ignored`; NaN stands for missing labels.
    multilabel : bool
        The columns are independent: actuals is an (n, K) matrix of 0/1, and rows need not sum to 1.
    one_hot : bool
        For one column per class: actuals is an (n, K) matrix with a single 1 in each row, in the column of the label.

    Attributes
    ----------
    scores, labels, weights : ndarray, read-only
        The data without ignored rows and rows of weight 0; `weights` is None if all are 1. They are copies, so later
        changes to your arrays have no effect here.
    kind : {"binary", "multiclass", "multilabel"}
    n_classes : int
    classes : tuple or None
        The names of the classes, if they were given.
    n_ignored : int
        Number of rows dropped because of `ignore_label`.

    Examples
    --------
    >>> import believable
    >>> believable.Predictions([0.1, 0.8, 0.7], [0, 1, 0])
    Predictions(n=3, kind='binary')
    >>> believable.expected_calibration_error(believable.Predictions([-2.2, 0.0], ["no", "yes"],
    ...     from_logits=True, pos_label="yes"))
    0.299...
    """

    __slots__ = (
        "_counted",
        "_labels",
        "_scores",
        "_unseen",
        "borrowed",
        "classes",
        "given_index",
        "kind",
        "n_classes",
        "n_ignored",
        "weights",
    )

    gives: ClassVar[frozenset[Needs]] = frozenset(get_args(Needs))  # what metrics may need: rows have all of it
    weights: Array | None
    kind: Kind
    n_classes: int
    classes: tuple[Any, ...] | None
    n_ignored: int
    borrowed: bool
    given_index: Any  # of the pandas objects that were passed; clusters and subgroups must have the same one
    _counted: dict[Any, Any]
    _scores: Floats
    _labels: Array
    _unseen: bool

    def __init__(
        self,
        predictions: Any,
        actuals: Any,
        *,
        sample_weight: Any = None,
        from_logits: bool = False,
        pos_label: Any = None,
        classes: Sequence[Any] | None = None,
        soft_labels: bool = False,
        ignore_label: Any = None,
        multilabel: bool = False,
        neg_label: Any = None,
        one_hot: bool = False,
    ) -> None:
        meaning = Meaning(from_logits, pos_label, classes, soft_labels, ignore_label, multilabel, neg_label, one_hot)
        given = self._fill(predictions, actuals, sample_weight, meaning)
        self._set(_scores=_own(self.scores, given), _labels=_own(self.targets, given), borrowed=False)
        if self.weights is not None:
            self._set(weights=_own(self.weights, given))

    def _fill(
        self,
        predictions: Any,
        actuals: Any,
        sample_weight: Any,
        meaning: Meaning,
        *,
        look: bool = True,
    ) -> list[Array]:
        """Check the arguments and keep them; return the arrays that may share memory with the caller's.

        With `look=False`, the values of plain arrays are not checked until they are first read.
        """
        from_logits, pos_label, classes, soft_labels, ignore_label, multilabel, neg_label, one_hot = meaning
        index = _check.same_index(predictions=predictions, actuals=actuals, sample_weight=sample_weight)
        object.__setattr__(self, "given_index", index)
        scores = _check.numeric(predictions, "predictions")
        actuals = _check.labels_as_array(actuals)
        given = [scores, actuals]
        _check.shape_of_predictions(scores, multilabel)
        _check.shape_of_labels(actuals, scores, multilabel, by_class=one_hot or (soft_labels and scores.ndim == 2))
        n_classes = scores.shape[1] if scores.ndim == 2 else 2
        whole = actuals.dtype.kind in "bi" or actuals.dtype == np.uint8
        plain = not look and whole and not _check.is_brief(predictions)
        if not plain:
            _check.refuse_contradictions(
                scores.ndim, n_classes, pos_label, classes, soft_labels, ignore_label, multilabel, neg_label, one_hot
            )

        weights = None if sample_weight is None else _check.weights(sample_weight, len(scores))
        if plain and (weights is None or weights.all()):
            labels = actuals.view(np.uint8) if actuals.dtype.kind == "b" else actuals
            kind: Kind = "binary" if scores.ndim == 1 else "multiclass"
            self._keep(scores, labels, weights, n_classes, 0, kind, unseen=True)
            return given
        given += [] if weights is None else [weights]
        rows: Ints | None = None
        n_ignored = 0
        if ignore_label is not None:
            ignored = _check.is_label(actuals, ignore_label, "ignore_label")
            n_ignored = int(np.count_nonzero(ignored))
            if n_ignored == len(scores):
                raise InputError(
                    "every label is {ignore_label=}: there is nothing to measure",
                    argument="ignore_label",
                    ignore_label=ignore_label,
                )
            if n_ignored:
                rows = np.flatnonzero(~ignored)
                scores, actuals = scores[rows], actuals[rows]
                weights = None if weights is None else weights[rows]
        if from_logits:
            _check.finite(scores, "predictions", rows)
            scores = _kernels.softmax(scores) if scores.ndim == 2 and not multilabel else _kernels.sigmoid(scores)
        else:
            _check.probabilities(scores, "predictions", rows)
            if scores.ndim == 2 and not multilabel:
                _check.row_sums(scores, predictions, rows)

        if one_hot:
            labels = _check.one_hot_labels(actuals)
        elif soft_labels:
            labels = _check.distributions(actuals) if scores.ndim == 2 else _check.soft_labels(actuals, rows)
        elif pos_label is not None:
            labels = _check.positive_label(actuals, pos_label, rows, neg_label)
        elif classes is not None and not multilabel:
            labels = _check.named_labels(actuals, classes, rows)
        else:
            labels = _check.class_labels(actuals, 2 if multilabel else n_classes, scores, rows)

        if weights is not None and not weights.all():
            kept = np.flatnonzero(weights)
            if not len(kept):
                raise InputError(
                    "{argument} is zero in every row that is left: there is nothing to measure",
                    argument="sample_weight",
                )
            scores, labels, weights = scores[kept], labels[kept], weights[kept]
        kind = "multilabel" if multilabel else "multiclass" if scores.ndim == 2 else "binary"
        self._keep(scores, labels, weights, n_classes, n_ignored, kind, None if classes is None else tuple(classes))
        return given

    def _keep(
        self,
        scores: Floats,
        labels: Array,
        weights: Array | None,
        n_classes: int,
        n_ignored: int,
        kind: Kind,
        classes: tuple[Any, ...] | None = None,
        unseen: bool = False,
    ) -> None:
        keep = partial(object.__setattr__, self)
        keep("_scores", scores)
        keep("_labels", labels)
        keep("_unseen", unseen)
        keep("_counted", {})
        keep("weights", weights)
        keep("n_classes", n_classes)
        keep("n_ignored", n_ignored)
        keep("kind", kind)
        keep("classes", classes)
        keep("borrowed", True)

    @property
    def scores(self) -> Floats:
        """The scores, checked."""
        if self._unseen:
            self._look()
        return self._scores

    @property
    def labels(self) -> Array:
        """The labels, checked; an error if they are distributions."""
        if self.has_distributions:
            raise UndefinedError(NEEDS_ONE_LABEL_PER_ROW)
        return self.targets

    @property
    def targets(self) -> Array:
        """The labels, checked, or the matrix of distributions that takes their place."""
        if self._unseen:
            self._look()
        return self._labels

    @property
    def has_distributions(self) -> bool:
        """Whether the outcome of each row is a distribution over classes, not a label."""
        return self.kind == "multiclass" and self._labels.ndim == 2

    @property
    def score_type(self) -> np.dtype[Any]:
        """The type of the scores."""
        return self._scores.dtype

    @property
    def label_kind(self) -> str:
        """The kind of the labels' type: "i" or "u", or "f" for shares."""
        return self._labels.dtype.kind

    def _look(self) -> None:
        """Check the values that have not been checked yet."""
        _check.probabilities(self._scores, "predictions", None)
        if self._scores.ndim == 2:
            _check.row_sums(self._scores, self._scores, None)
        _check.class_labels(self._labels, self.n_classes, self._scores, None)
        self._set(_unseen=False)

    def moments(self, count: Callable[[Floats, Array, Array | None], Counted]) -> Counted | None:
        """Return what a kernel counts that also checks the rows, which saves reading the data twice.

        If it finds an invalid value, the usual checks raise the error. If they find none, because kernels are stricter,
        the result is None.
        """
        if self.has_distributions:
            raise UndefinedError(NEEDS_ONE_LABEL_PER_ROW)
        found = count(self._scores, self._labels, self.weights)
        if self._unseen:
            if found.valid:
                self._set(_unseen=False)
            else:
                self._look()
        return found if found.valid else None

    def row_moments(self, count: Callable[..., Counted]) -> Counted | None:
        """Do the same as `moments` for a matrix, with a kernel that takes a tolerance for the sums of rows.

        The kernel may sum in single precision. If it reports a row that is fine in double precision, it counts again
        without a tolerance.
        """
        found = self.moments(partial(count, tolerance=ROW_SUM_TOLERANCE if self._unseen else np.inf))
        return self.moments(partial(count, tolerance=np.inf)) if found is None else found

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Predictions is read-only: make a new one instead of setting {name}")

    def __getstate__(self) -> dict[str, Any]:
        self.scores  # noqa: B018 - reading them checks them
        return {name: getattr(self, name) for name in self.__slots__} | {"_counted": {}, "given_index": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)
        for array in (self._scores, self._labels, self.weights):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def borrowing(cls, predictions: Any, actuals: Any, sample_weight: Any) -> Predictions:
        """Return predictions that use the caller's arrays without a copy, for the duration of one call."""
        value = cls.__new__(cls)
        value._fill(predictions, actuals, sample_weight, PLAIN_MEANING, look=False)
        return value

    def trusting(self, **changed: Any) -> Predictions:
        """Return a copy with other labels or rows, which are not checked, and an empty cache."""
        value = Predictions.__new__(Predictions)
        changed = {f"_{name}" if name in ("scores", "labels") else name: array for name, array in changed.items()}
        value._set(**self.__getstate__() | changed)
        return value

    def remembered(self, key: Any, count: Callable[[], Remembered]) -> Remembered:
        """Return what is cached under this key; call `count` the first time."""
        if key not in self._counted:
            return self.remember(key, count())
        found: Remembered = self._counted[key]
        return found

    def remember(self, key: Any, counted: Remembered) -> Remembered:
        """Keep what was counted under a key."""
        self._counted[key] = counted
        return counted

    def remembering(self) -> Predictions:
        """Return predictions that may cache what is counted; the caller must not change borrowed memory meanwhile."""
        return self.trusting(borrowed=False) if self.borrowed else self

    def relabelled(self, labels: Array) -> Predictions:
        """Return the same scores with other labels, for the duration of one call."""
        return self.trusting(labels=labels, borrowed=True)

    def take(self, rows: Ints) -> Predictions:
        """Return some of the rows, in the order given; a row may be repeated."""
        weights = None if self.weights is None else self.weights[rows]
        return self.trusting(scores=self.scores[rows], labels=self.targets[rows], weights=weights, borrowed=False)

    def __len__(self) -> int:
        return len(self._scores)

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        classes = "" if self.kind == "binary" else f", n_classes={self.n_classes}"
        return f"Predictions(n={len(self)}, kind={self.kind!r}{classes}{weighted})"

    @property
    def default_notion(self) -> Notion:
        """The default notion: binary for 1-D predictions, confidence for a matrix, classwise for multilabel."""
        if self.kind == "multilabel":
            return "classwise"
        return "binary" if self.kind == "binary" else "confidence"

    @property
    def problem(self) -> Kind:
        """The kind of problem; for a `Predictions`, the same as `kind`."""
        return self.kind

    @property
    def is_binary(self) -> bool:
        """Whether the scores are P(y = 1)."""
        return self.kind == "binary"

    def class_name(self, k: int) -> str:
        """Return the name of class k for tables and plots."""
        return str(self.classes[k]) if self.classes is not None else str(k)

    def view(
        self,
        notion: Notion | None = None,
        *,
        r: int | None = None,
        threshold: float | None = None,
        pooled: bool = False,
    ) -> View:
        """Return the view for a notion (None: the default); raise if it does not apply to these predictions."""
        if notion is None and r is None and threshold is None and pooled is False:
            return _plain_view(self.kind, self.n_classes, self.default_notion)
        notion = self.default_notion if notion is None else notion
        _check.choice(notion, get_args(Notion), "notion")
        _check.notion_fits(notion, self.kind, self.n_classes)
        return View(notion, self.n_classes, r, threshold, pooled, self.kind == "multilabel")

    def check_view(self, view: View | None) -> View:
        """Return the view, or the default for None; raise if it was made for predictions of another kind."""
        if view is None:
            return self.view()
        if not isinstance(view, View) or view != self.view(
            view.notion, r=view.r, threshold=view.threshold, pooled=view.pooled
        ):
            raise InputError(f"{view!r} does not fit {self!r}: make it with predictions.view(...)")
        return view

    def pairs(self, view: View, at_least: int = 0, *, numbered: bool = False) -> Iterator[Pairs]:
        """Yield the pairs of a view, in blocks of rows with at least `at_least` pairs each, except for the last.

        With `numbered=True`, the pairs say which row they come from.
        """
        if self.scores.ndim == 1:
            yield from self._blocks(view, at_least, numbered)
            return
        waiting: list[Pairs] = []
        for block in self._blocks(view, numbered=numbered):
            waiting.append(block)
            if sum(len(part.score) for part in waiting) >= at_least:
                yield _joined(waiting)
                waiting = []
        if waiting:
            yield _joined(waiting)

    def n_pairs(self, view: View) -> int:
        """Return the number of pairs in a view, ignoring its threshold."""
        return len(self) * {"classwise": self.n_classes, "top_r": view.r or 1}.get(view.notion, 1)

    def all_pairs(self, view: View) -> Pairs:
        """Return all pairs of a view at once."""
        (pairs,) = self.pairs(view, at_least=self.scores.size)
        return pairs

    def columns(self, view: View) -> Iterator[Pairs]:
        """Yield the pairs of each class of a classwise view, with all rows at once.

        Several columns are copied together, because reading a single one touches the memory of the whole matrix.
        """
        step = max(1, COLUMNS_AT_ONCE // len(self))
        for start in range(0, self.n_classes, step):
            some = self.scores[:, start : start + step]
            turned = np.empty(some.shape[::-1], some.dtype)
            rows = max(256, ROWS_AT_ONCE // some.shape[1])
            for row in range(0, len(self), rows):
                turned[:, row : row + rows] = some[row : row + rows].T
            for k, score in enumerate(turned, start):
                yield self._column(view, k, score)

    def column(self, view: View, k: int) -> Pairs:
        """Return the pairs of one class of a classwise view, with all rows at once."""
        return self._column(view, k, np.ascontiguousarray(self.scores[:, k]))

    def _column(self, view: View, k: int, score: Floats) -> Pairs:
        outcome = self.labels[:, k] != 0 if self.kind == "multilabel" else self.labels == k
        pairs = Pairs(score, outcome, self.weights, None)
        return pairs if view.threshold is None else _above(pairs, view.threshold)

    def _blocks(self, view: View, at_least: int = 0, numbered: bool = False) -> Iterator[Pairs]:
        width = self.scores.shape[1] if self.scores.ndim == 2 else 1
        for rows in _kernels.row_blocks(len(self), width, at_least):
            weight = None if self.weights is None else self.weights[rows]
            block = self._block(view, self.scores[rows], self.labels[rows], weight)
            if view.pooled:
                block = block._replace(stratum=None)
            if numbered:  # every row has the same number of pairs, and they are adjacent
                row = np.arange(rows.start, rows.stop)
                block = block._replace(row=np.repeat(row, len(block.score) // len(row)))
            yield block if view.threshold is None else _above(block, view.threshold)

    def _block(self, view: View, scores: Floats, labels: Array, weight: Array | None) -> Pairs:
        if view.notion == "binary":
            return Pairs(scores if scores.ndim == 1 else scores[:, 1], labels, weight, None)
        if view.notion == "confidence":
            top, hit = _kernels.top_hit(scores, labels)
            return Pairs(top, hit, weight, None)
        if view.notion == "top_label":
            top, column = _kernels.top_one(scores)
            return Pairs(top, column == labels, weight, column)
        if view.notion == "classwise":
            n, n_classes = scores.shape
            outcome = labels != 0 if self.kind == "multilabel" else labels[:, None] == np.arange(n_classes)
            stratum = np.tile(np.arange(n_classes), n)
            return Pairs(scores.ravel(), outcome.ravel(), _repeat(weight, n_classes), stratum)

        r = view.r or 1
        ranked, columns = _kernels.top_ranked(scores, r)
        hits = columns == labels[:, None]
        if view.notion == "rth":
            return Pairs(ranked[:, -1], hits[:, -1], weight, None)
        if view.notion == "within_top_r":
            together = np.minimum(ranked.sum(axis=1, dtype=np.float64), 1).astype(scores.dtype)
            return Pairs(together, hits.any(axis=1), weight, None)
        stratum = np.tile(np.arange(r), len(scores))
        return Pairs(ranked.ravel(), hits.ravel(), _repeat(weight, r), stratum)


@lru_cache(maxsize=64)
def _plain_view(kind: Kind, n_classes: int, notion: Notion) -> View:
    return View(notion, n_classes, multilabel=kind == "multilabel")


def _own(array: Array, given: list[Array]) -> Array:
    """Make an array read-only; copy it first if it may share memory with an array of the caller."""
    if any(np.may_share_memory(array, other) for other in given):
        array = array.copy()
    array.flags.writeable = False
    return array


def _above(pairs: Pairs, threshold: float) -> Pairs:
    keep = pairs.score > pairs.score.dtype.type(threshold)  # rounded to the type of the scores, like bin edges
    return Pairs(*(None if part is None else part[keep] for part in pairs))  # type: ignore[arg-type]


def _joined(blocks: list[Pairs]) -> Pairs:
    if len(blocks) == 1:
        return blocks[0]
    parts = zip(*blocks, strict=True)
    return Pairs(*(None if part[0] is None else np.concatenate(part) for part in parts))  # type: ignore[arg-type]


def _repeat(weight: Array | None, times: int) -> Array | None:
    return None if weight is None else np.repeat(weight, times)


def as_predictions(predictions: Any, actuals: Any = None, sample_weight: Any = None) -> Predictions:
    """Return checked predictions, whether a function was called with two arrays or with one `Predictions`."""
    if not isinstance(predictions, Predictions):
        if type(predictions).__module__.startswith("believable.stats"):
            raise InputError(f"this function needs the rows of predictions, not a {type(predictions).__name__}")
        return Predictions.borrowing(predictions, actuals, sample_weight)
    if actuals is not None:
        raise InputError("a Predictions already holds its actuals: leave {argument} out", argument="actuals")
    if sample_weight is not None:
        raise InputError(
            Sentence("a Predictions already holds its weights: pass {Predictions}(..., sample_weight=...)")
        )
    return predictions


def average_predictions(predictions: Sequence[Any], weights: Sequence[float] | None = None) -> Floats:
    """Average the probabilities of several models for the same rows (an ensemble).

    Parameters
    ----------
    predictions : sequence of array-likes, all of the same shape
        The probabilities of each model.
    weights : sequence of float, optional
        One non-negative weight per model; equal weights by default.

    Returns
    -------
    ndarray of float64
        The weighted mean.

    Examples
    --------
    >>> average_predictions([[0.2, 0.8], [0.4, 1.0]])
    array([0.3, 0.9])
    >>> average_predictions([[0.2, 0.8], [0.4, 1.0]], weights=[3, 1])
    array([0.25, 0.85])
    """
    if not hasattr(predictions, "__len__"):
        raise InputError("pass a list of predictions, one entry per model")
    arrays = [_check.numeric(member, f"predictions of model {i}") for i, member in enumerate(predictions)]
    if not arrays:
        raise InputError("there are no predictions to average")
    shares = np.ones(len(arrays)) if weights is None else _check.weights(weights, len(arrays), "weights", "model")
    total = np.zeros(arrays[0].shape)
    for i, (array, share) in enumerate(zip(arrays, shares, strict=True)):
        if array.shape != total.shape:
            raise InputError(
                "{argument} of model {i} have shape {shape}, but those of model 0 have shape {first}",
                argument="predictions",
                i=i,
                shape=array.shape,
                first=total.shape,
            )
        _check.shape_of_predictions(array, multilabel=False)
        _check.probabilities(array, f"predictions of model {i}", None)
        total += share * array.astype(np.float64)
    return np.asarray(total / shares.sum())
