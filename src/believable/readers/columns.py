"""Find the columns of a table that hold the scores and the labels.

Columns are guessed by documented names only, and never if two could be meant. Columns of weights, clusters and
subgroups are never guessed: a patient's weight is not a sample weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TypeVar

from believable import _check
from believable._check import renamed
from believable._types import Kind
from believable.errors import InputError, Sentence
from believable.readers.formats.base import Table, width_of
from believable.stats.levels import CLUSTER_NAMES, plain_name

PROB_NAMES = (
    *("p", "prob", "proba", "probability", "score", "y_prob", "y_score", "y_pred", "pred", "prediction", "confidence"),
    *("probs", "probs64", "probabilities", "scores"),
)
LOGIT_NAMES = ("logit", "logits", "z")
LABEL_NAMES = (
    *("y", "label", "target", "actual", "outcome", "y_true", "truth", "correct"),
    *("labels", "targets", "actuals", "outcomes"),
)
ANSWER_LABELS = ("correct", "is_correct", "was_correct", "correctness", "is_right")  # of (confidence, correct) pairs
PROB_PREFIXES = ("p_", "prob_", "proba_")
LOGIT_PREFIXES = ("logit_", "logits_", "z_")
CALIBRATED_COLUMN = "p_calibrated"  # added by `believable apply`; for several classes, p_calibrated_CLASS
MAX_NAMES_LISTED = 20  # in a message

GivenName = TypeVar("GivenName", str, str | None)


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns that are read from a table.

    Attributes
    ----------
    prob : tuple of str
        One column of P(y = 1), or one per class.
    label : str
        The column of labels.
    weight : str or None
        The column of sample weights.
    classes : tuple or None
        The class of each column of `prob`, if there are several: the end of its name.
    cluster : str or None
        The column of clusters: rows that belong together.
    by : tuple of str
        The columns of subgroups.
    """

    prob: tuple[str, ...]
    label: str
    weight: str | None = None
    classes: tuple[str | int, ...] | None = None
    cluster: str | None = None
    by: tuple[str, ...] = ()

    @property
    def group(self) -> str | None:
        """The column of clusters, under its former name."""
        return self.cluster

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns that are read, without duplicates."""
        others = (self.label, self.weight, self.cluster, *self.by)
        return tuple(dict.fromkeys([*self.prob, *(name for name in others if name is not None)]))

    def __str__(self) -> str:
        return self.words()

    def words(self, scale: str = "") -> str:
        """Describe which columns are read as what; `scale` says what scores are that are not probabilities."""
        scores = self.prob[0] if len(self.prob) == 1 else f"{self.prob[0]} … {self.prob[-1]} ({len(self.prob)} classes)"
        weight = "" if self.weight is None else f", weights {self.weight}"
        cluster = "" if self.cluster is None else f", clusters {self.cluster}"
        by = f", subgroups {', '.join(self.by)}" if self.by else ""
        scores += f" ({scale})" if scale else ""
        return f"scores {scores}, labels {self.label}{weight}{cluster}{by}"


@dataclass(frozen=True, slots=True)
class ColumnsAsked:
    """The arguments of `choose_columns`: columns that the caller names, or None."""

    prob: str | None = None
    prob_prefix: str | None = None
    label: str | None = None
    weight: str | None = None
    cluster: str | None = None
    by: str | Sequence[str] = ()
    logits: bool = False

    @property
    def subgroups(self) -> tuple[str, ...]:
        """The columns of subgroups, as a tuple."""
        return (self.by,) if isinstance(self.by, str) else tuple(self.by)


@renamed(group="cluster")
def choose_columns(
    names: Sequence[str],
    *,
    prob: str | None = None,
    prob_prefix: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    by: str | Sequence[str] = (),
    logits: bool = False,
) -> Columns:
    """Choose the columns that are named, and find scores and labels by their documented names otherwise.

    Upper and lower case are the same, and a space or hyphen counts as an underscore. With `logits`, names of logits
    (`logit`, `logits`, `z`; `logit_`, `logits_`, `z_`) are looked for first. Columns that `believable apply` added
    (`p_calibrated`, `p_calibrated_CLASS`) are used only if they are named, and never count as classes of the prefix
    `p_`.

    Examples
    --------
    >>> print(choose_columns(["id", "y", "p"]))
    scores p, labels y
    >>> print(choose_columns(["label", "p_cat", "p_dog", "p_owl"]))
    scores p_cat … p_owl (3 classes), labels label
    >>> print(choose_columns(["y", "p", "query", "country"], cluster="query", by="country"))
    scores p, labels y, clusters query, subgroups country
    """
    return columns_among(names, ColumnsAsked(prob, prob_prefix, label, weight, cluster, by, logits))


def columns_among(names: Sequence[str], asked: ColumnsAsked) -> Columns:
    """Choose columns like `choose_columns`."""
    if all(_is_number(name) for name in names):
        raise InputError(f"the first line must be a header with the names of the columns, got {listed(names)}")
    _refuse_absent((asked.prob, asked.label, asked.weight, asked.cluster, *asked.subgroups), names)
    if asked.prob is None and asked.prob_prefix is None and asked.label is None:
        _refuse_unknown(names, asked.logits)
    prob, label, weight, cluster = (
        as_spelt(one, names) for one in (asked.prob, asked.label, asked.weight, asked.cluster)
    )
    by = tuple(as_spelt(name, names) for name in asked.subgroups)
    prob_prefix = asked.prob_prefix
    if prob is not None and prob_prefix is not None:
        raise InputError(
            Sentence("name one column of scores ({prob}) or the prefix of several ({prob_prefix}), not both")
        )
    others = [name for name in names if name not in (weight, cluster, *by)]
    known = any(plain_name(name) in LABEL_NAMES for name in others)
    label = label or guess(others if known else names, LABEL_NAMES, "labels", "label", taken=prob)
    if prob is None and prob_prefix is None:
        prob_prefix, prob = _guess_scores([name for name in others if name != label], asked.logits)
    if prob_prefix is not None:
        return _matrix(names, prob_prefix, label, weight, cluster, by)
    assert prob is not None
    if len({prob, label, weight}) < 3:
        raise InputError(f"scores {prob!r}, labels {label!r} and weights {weight!r} must be different columns")
    for name in (cluster, *by):
        if name in (prob, label):
            what = "scores" if name == prob else "labels"
            raise InputError(
                "{column!r} holds the {what}: clusters ({cluster}) and subgroups ({by}) must be other columns",
                column=name,
                what=what,
            )
    return Columns((prob,), label, weight, None, cluster, by)


def as_spelt(asked: GivenName, names: Sequence[str]) -> GivenName:
    """Return the name as it is spelt in the table, spaces around it aside; the error suggests a similar one."""
    if asked is None or asked in names:
        return asked
    for name in names:
        if name.strip() == asked.strip():
            return name
    raise InputError(
        "there is no column {got!r}{suggestion}; there are {names}",
        got=asked,
        suggestion=_suggestion(asked, names),
        names=listed(names),
    )


def _refuse_absent(asked: Sequence[str | None], names: Sequence[str]) -> None:
    """Raise if several of the named columns are absent, with an error that names all of them."""
    there = [name.strip() for name in names]
    absent = [name for name in dict.fromkeys(asked) if name is not None and name.strip() not in there]
    if len(absent) > 1:
        each = [Sentence("{name!r}{suggestion}", name=name, suggestion=_suggestion(name, names)) for name in absent]
        raise InputError("there are no columns {each}; there are {names}", each=each, names=listed(names))


def _refuse_unknown(names: Sequence[str], logits: bool) -> None:
    """Raise if no column has a documented name, neither for scores nor for labels."""
    known, prefixes = known_scores(names, logits), (*(LOGIT_PREFIXES if logits else ()), *PROB_PREFIXES)
    plain = [plain_name(name) for name in names]
    if any(name in known or name in LABEL_NAMES or name.startswith(prefixes) for name in plain):
        return
    raise InputError(
        "no column has one of the usual names for scores ({scores}) or for labels ({labels}); choose two of {names} "
        "with {prob} and {label}",
        scores=", ".join(known),
        labels=", ".join(LABEL_NAMES),
        names=listed(names),
    )


def _suggestion(asked: str, names: Sequence[str]) -> str:
    plain = {plain_name(name): name for name in names}
    close = get_close_matches(plain_name(asked), plain, n=1, cutoff=0.7)
    if close:
        return f" (did you mean {plain[close[0]]!r}?)"
    several = [name for name in names if name.startswith(asked)]
    if not asked or len(several) < 2:
        return ""
    return Sentence(" ({n} begin with it: choose them with {prob_prefix})", n=len(several))


def listed(names: Sequence[str]) -> str:
    """Join names with commas: all of them, or the first of very many."""
    more = len(names) - MAX_NAMES_LISTED
    return ", ".join(names[:MAX_NAMES_LISTED]) + (f" and {more} more" if more > 0 else "")


def is_calibrated(name: str) -> bool:
    """Return whether a column has a name that `believable apply` gives to calibrated scores."""
    return name == CALIBRATED_COLUMN or name.startswith(f"{CALIBRATED_COLUMN}_")


def calibrated_too(names: Sequence[str], taken: Columns) -> list[str]:
    """Return a note about columns of calibrated scores in the file, if other scores are read."""
    if any(map(is_calibrated, taken.prob)):
        return []
    found = [name for name in names if is_calibrated(name) and name not in taken.names]
    if CALIBRATED_COLUMN in found:
        there = "there is also a column {name}: use it with {prob=}"
        return [Sentence(there, name=CALIBRATED_COLUMN, prob=CALIBRATED_COLUMN)]
    if len(found) > 1:
        prefix = f"{CALIBRATED_COLUMN}_"
        return [
            Sentence("there are also columns {name}*: use them with {prob_prefix=}", name=prefix, prob_prefix=prefix)
        ]
    return []


def guess(names: Sequence[str], known: Sequence[str], what: str, option: str, taken: str | None = None) -> str:
    """Return the one column with a documented name; raise if there is none, or several."""
    found = [name for name in names if plain_name(name) in known and name != taken]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            "several columns could be the {what}: {found}; choose one with {argument}",
            argument=option,
            what=what,
            found=", ".join(found),
        )
    raise InputError(
        "no column has one of the usual names for {what} ({known}); choose one of {names} with {argument}",
        argument=option,
        what=what,
        known=", ".join(known),
        names=listed(names),
    )


def known_scores(names: Sequence[str], logits: bool) -> tuple[str, ...]:
    """Return the documented names of scores; for logits, only those of logits if a column has one."""
    own = logits and any(plain_name(name) in LOGIT_NAMES for name in names)
    return LOGIT_NAMES if own else (*LOGIT_NAMES, *PROB_NAMES) if logits else PROB_NAMES


def are_pairs(columns: Columns, kind: Kind, asked: bool | None) -> bool:
    """Return whether scores are confidences in answers: as asked, or by the name of the column of labels."""
    _check.flag(asked, "pairs", or_none=True)
    if asked is None:
        return kind == "binary" and plain_name(columns.label) in ANSWER_LABELS
    return asked


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _guess_scores(names: Sequence[str], logits: bool) -> tuple[str | None, str | None]:
    """Return a documented prefix of at least two columns, or else a documented name; raise if several fit."""
    shown, names = names, [name for name in names if not is_calibrated(name)]
    for prefixes, known in ([(LOGIT_PREFIXES, LOGIT_NAMES)] if logits else []) + [(PROB_PREFIXES, PROB_NAMES)]:
        found = [p for p in prefixes if sum(name.startswith(p) for name in names) >= 2]
        single = [name for name in names if plain_name(name) in known]
        if len(found) + len(single) > 1 and found:
            meant = ", ".join([*(f"{prefix}*" for prefix in found), *single])
            raise InputError(
                "several columns could be the scores: {meant}; choose with {prob} or {prob_prefix}", meant=meant
            )
        if found:
            return found[0], None
        if single:
            break
    return None, guess(shown, known_scores(names, logits), "scores", "prob")


def _matrix(
    names: Sequence[str], prefix: str, label: str, weight: str | None, cluster: str | None, by: tuple[str, ...]
) -> Columns:
    own = is_calibrated(prefix)
    found = [name for name in names if name.startswith(prefix) and name not in (label, weight, cluster, *by)]
    found = [name for name in found if own or not is_calibrated(name)]
    if len(found) < 2:
        raise InputError(f"fewer than two columns begin with {prefix!r}; there are {listed(names)}")
    if len({label, weight}) < 2:
        raise InputError(f"labels {label!r} and weights {weight!r} must be different columns")
    ends = [name.removeprefix(prefix) for name in found]
    if not all(end.isdecimal() for end in ends):
        return Columns(tuple(found), label, weight, tuple(ends), cluster, by)
    numbered = sorted(zip(map(int, ends), found, strict=True))
    classes = tuple(number for number, _ in numbered)
    return Columns(tuple(name for _, name in numbered), label, weight, classes, cluster, by)


# --- columns that may be clusters, though nobody named them -----------------------------------------------------------


def telling_names(names: Sequence[str], taken: Columns) -> tuple[str, ...]:
    """Return the columns that have a name typical of clusters and are not read as anything else.

    These names are query, patient, subject, person, user, customer, client, account, household, session, visit,
    question, document, image, group and cluster, each also with _id at its end, and qid, uid and pid.
    """
    return tuple(name for name in names if plain_name(name) in CLUSTER_NAMES and name not in taken.names)


def clusters_ignored(table: Table, taken: Columns) -> list[str]:
    """Return a note about each column that may be clusters, because its values repeat, if none were named."""
    if taken.cluster is not None:
        return []
    notes: list[str] = []
    for name in telling_names(table.names, taken):
        try:
            column = table.read([name])[name].drop_nulls()
        except InputError:  # nobody asked for this column, so its errors do not matter
            continue
        n, distinct = len(column), column.n_unique()
        if 1 < distinct < n:
            notes.append(
                Sentence(
                    "column {name} repeats ({distinct:,} values in {n:,} rows): if rows with the same value belong "
                    "together, pass {cluster=}; the intervals here assume independent rows",
                    name=name,
                    distinct=distinct,
                    n=n,
                    cluster=name,
                )
            )
    return notes


# --- files of arrays --------------------------------------------------------------------------------------------------


def columns_of_table(table: Table, asked: ColumnsAsked) -> tuple[Columns, list[str]]:
    """Choose columns of a table, or of a file of arrays; return them with notes for the report."""
    return _among_arrays(table, asked) if table.arrays else (columns_among(table.names, asked), [])


def _among_arrays(table: Table, asked: ColumnsAsked) -> tuple[Columns, list[str]]:
    """Choose arrays by name. If only the scores or only the labels are named, exactly one array must fit them."""
    names = tuple(table.arrays)
    _refuse_absent((asked.prob, asked.label), names)
    if asked.prob is None and asked.prob_prefix is None and asked.label is None:
        _refuse_unknown(names, asked.logits)
    prob, label = as_spelt(asked.prob, names), as_spelt(asked.label, names)
    if asked.prob_prefix is None:
        known = known_scores(names, asked.logits)
        if prob is not None and label is None:
            label = _partner(table, prob, LABEL_NAMES, (*PROB_NAMES, *LOGIT_NAMES), "labels", "label")
        elif label is not None and prob is None:
            prob = _partner(table, label, known, LABEL_NAMES, "scores", "prob")
        label = label or guess(names, LABEL_NAMES, "labels", "label")
        prob = prob or guess(names, known, "scores", "prob", taken=label)
    columns = columns_among(names, replace(asked, prob=prob, label=label))
    _check_shapes(table, columns)
    others = [name for name in names if name not in columns.names and not is_calibrated(name)]
    notes = [f"other arrays in the file, not read: {listed(others)}"] if others else []
    scores = columns.prob[0]
    width = width_of(table.arrays[scores])
    if width == 1:
        return columns, notes
    twice = [name for name in table.columns_of(scores) if width_of(table.arrays.get(name, (0, 2))) == 1]
    if twice:
        raise InputError(
            f"{twice[0]!r} is the name of an array and also of column {twice[0].removeprefix(f'{scores}_')} of "
            f"{scores!r}: rename one of the arrays"
        )
    return replace(columns, prob=table.columns_of(scores), classes=tuple(range(width))), notes


def _partner(table: Table, of: str, known: Sequence[str], unlike: Sequence[str], what: str, option: str) -> str:
    """Return the array with a documented name that belongs to another; labels and labels_test both fit probs_test."""
    arrays = table.arrays
    if plain_name(of) in unlike:
        return guess(tuple(arrays), known, what, option, taken=of)
    found = [
        name
        for name in arrays
        if name != of and arrays[name][0] == arrays[of][0]
        if _begins(name, known) and (plain_name(name) in known or not _begins(name, unlike))
    ]
    end = _end(of, unlike)
    others = [name for name in found if end and _end(name, known) not in ("", end)]
    if len(found) == 1 and others:
        raise InputError(
            "{other} may not be the {what} of {array}: their names end differently; choose with {argument}",
            argument=option,
            other=others[0],
            what=what,
            array=of,
        )
    if len(found) > 1:
        raise InputError(
            "several arrays could be the {what} of {array}: {found}; choose one with {argument}",
            argument=option,
            what=what,
            array=of,
            found=found,
        )
    return found[0] if found else guess(tuple(arrays), known, what, option, taken=of)


def _check_shapes(table: Table, columns: Columns) -> None:
    several = len(columns.prob) > 1
    for name in columns.names:
        shape = table.arrays[name]
        if width_of(shape) > 1 and (several or name not in columns.prob):
            advice = (
                f"; for one-hot rows, save {name}.argmax(axis=1); for several labels per row, use "
                "Predictions(..., multilabel=True) in Python"
                if name == columns.label
                else ""
            )
            raise InputError(f"array {name!r} has shape {shape}: one entry per row is needed{advice}")
    lengths = {name: table.arrays[name][0] for name in columns.names}
    if len(set(lengths.values())) > 1:
        words = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"the arrays differ in length: {words}")


def _begins(name: str, known: Sequence[str]) -> bool:
    return any(plain_name(name) == word or plain_name(name).startswith(f"{word}_") for word in known)


def _end(name: str, known: Sequence[str]) -> str:
    """Return what follows a documented name, such as "test" in probs_test; "" if the name begins with none."""
    ends = [plain_name(name).removeprefix(f"{word}_") for word in known if plain_name(name).startswith(f"{word}_")]
    return min(ends, key=len, default="")
