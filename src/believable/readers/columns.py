"""Which columns of a table are the scores and the labels.

Columns are guessed by documented names only, and never where two could be meant. A weight column is never guessed: a
patient's weight is not a sample weight. Nor are clusters and subgroups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TypeVar

from believable._check import renamed
from believable.errors import InputError, Sentence
from believable.readers.formats.base import Table, width_of

PROB_NAMES = (
    *("p", "prob", "proba", "probability", "score", "y_prob", "y_score", "y_pred", "pred", "prediction", "confidence"),
    *("probs", "probs64", "probabilities", "scores"),
)
LOGIT_NAMES = ("logit", "logits", "z")
LABEL_NAMES = (
    *("y", "label", "target", "actual", "outcome", "y_true", "truth", "correct"),
    *("labels", "targets", "actuals", "outcomes"),
)
PROB_PREFIXES = ("p_", "prob_", "proba_")
LOGIT_PREFIXES = ("logit_", "logits_", "z_")
CALIBRATED_COLUMN = "p_calibrated"  # what applying a map adds; for classes, with _CLASS at its end
MAX_NAMES_LISTED = 20  # in a sentence

GivenName = TypeVar("GivenName", str, str | None)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that are taken from a table, by what they hold.

    Attributes
    ----------
    prob : tuple of str
        One column of P(y = 1), or one per class.
    label : str
    weight : str or None
    classes : tuple or None
        What the columns of a matrix stand for: the ends of their names.
    cluster : str or None
        The column of clusters: rows that belong together.
    by : tuple of str
        Columns of subgroups.
    """

    prob: tuple[str, ...]
    label: str
    weight: str | None = None
    classes: tuple[str | int, ...] | None = None
    cluster: str | None = None
    by: tuple[str, ...] = ()

    @property
    def group(self) -> str | None:
        """The column of clusters, by the name that it had."""
        return self.cluster

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns taken, each once."""
        others = (self.label, self.weight, self.cluster, *self.by)
        return tuple(dict.fromkeys([*self.prob, *(name for name in others if name is not None)]))

    def __str__(self) -> str:
        return self.words()

    def words(self, scale: str = "") -> str:
        """What was read as what; `scale` says what the scores are, where they are not probabilities."""
        scores = self.prob[0] if len(self.prob) == 1 else f"{self.prob[0]} … {self.prob[-1]} ({len(self.prob)} classes)"
        weight = "" if self.weight is None else f", weights {self.weight}"
        cluster = "" if self.cluster is None else f", clusters {self.cluster}"
        by = f", subgroups {', '.join(self.by)}" if self.by else ""
        scores += f" ({scale})" if scale else ""
        return f"scores {scores}, labels {self.label}{weight}{cluster}{by}"


@dataclass(frozen=True, slots=True)
class ColumnsAsked:
    """The columns that a caller names; see `choose_columns`. None: found by its documented name, or absent."""

    prob: str | None = None
    prob_prefix: str | None = None
    label: str | None = None
    weight: str | None = None
    cluster: str | None = None
    by: str | Sequence[str] = ()
    logits: bool = False

    @property
    def subgroups(self) -> tuple[str, ...]:
        """The columns of subgroups."""
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
    """The columns asked for, the rest by their documented names.

    Capitals do not matter, and a space or hyphen counts as an underscore. With `logits`, names of those (`logit`,
    `logits`, `z`; `logit_`, `logits_`, `z_`) are looked for first. What applying a map added (`p_calibrated`,
    `p_calibrated_CLASS`) is taken where it is asked for, and is none of the classes of `p_`.

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
    """Choose as `choose_columns` does."""
    if all(_is_number(name) for name in names):
        raise InputError(f"the first line must hold the names of the columns, got {listed(names)}")
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
    """The name as the table has it (spaces around it do not matter); an error that suggests one like it."""
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
    """An error that names all columns that were asked for and are not there, where they are several."""
    there = [name.strip() for name in names]
    absent = [name for name in dict.fromkeys(asked) if name is not None and name.strip() not in there]
    if len(absent) > 1:
        each = [Sentence("{name!r}{suggestion}", name=name, suggestion=_suggestion(name, names)) for name in absent]
        raise InputError("there are no columns {each}; there are {names}", each=each, names=listed(names))


def _refuse_unknown(names: Sequence[str], logits: bool) -> None:
    """An error where no column has a name that is known for scores, and none one for labels."""
    known, prefixes = known_scores(names, logits), (*(LOGIT_PREFIXES if logits else ()), *PROB_PREFIXES)
    plain = [plain_name(name) for name in names]
    if any(name in known or name in LABEL_NAMES or name.startswith(prefixes) for name in plain):
        return
    raise InputError(
        "no column has a name known for scores ({scores}) or for labels ({labels}); choose two of {names} with {prob} "
        "and {label}",
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
    """Names in a sentence, the first of very many."""
    more = len(names) - MAX_NAMES_LISTED
    return ", ".join(names[:MAX_NAMES_LISTED]) + (f" and {more} more" if more > 0 else "")


def is_calibrated(name: str) -> bool:
    """Whether a column is called as those that applying a map adds."""
    return name == CALIBRATED_COLUMN or name.startswith(f"{CALIBRATED_COLUMN}_")


def calibrated_too(names: Sequence[str], taken: Columns) -> list[str]:
    """A sentence on columns of calibrated scores, where others were taken."""
    if any(map(is_calibrated, taken.prob)):
        return []
    found = [name for name in names if is_calibrated(name) and name not in taken.names]
    if CALIBRATED_COLUMN in found:
        there = "there is a column {name} too: take it with {prob=}"
        return [Sentence(there, name=CALIBRATED_COLUMN, prob=CALIBRATED_COLUMN)]
    if len(found) > 1:
        prefix = f"{CALIBRATED_COLUMN}_"
        return [
            Sentence("there are columns {name}* too: take them with {prob_prefix=}", name=prefix, prob_prefix=prefix)
        ]
    return []


def guess(names: Sequence[str], known: Sequence[str], what: str, option: str, taken: str | None = None) -> str:
    """The one name that is known, or an error that says which could be meant."""
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
        "no column has a name known for {what} ({known}); choose one of {names} with {argument}",
        argument=option,
        what=what,
        known=", ".join(known),
        names=listed(names),
    )


def known_scores(names: Sequence[str], logits: bool) -> tuple[str, ...]:
    """The documented names to look for: those of logits first, where logits are meant."""
    own = logits and any(plain_name(name) in LOGIT_NAMES for name in names)
    return LOGIT_NAMES if own else (*LOGIT_NAMES, *PROB_NAMES) if logits else PROB_NAMES


def plain_name(name: str) -> str:
    """A name as names are compared: without capitals, a space or hyphen as an underscore."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _guess_scores(names: Sequence[str], logits: bool) -> tuple[str | None, str | None]:
    """A known prefix that at least two columns share, or else one known name; an error where another could be meant."""
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


# --- columns that look as if their rows belonged together, where nobody said so ---------------------------------------


_THINGS_OF_CLUSTERS = (
    *("query", "patient", "subject", "person", "user", "customer", "client", "account", "household", "session"),
    *("visit", "question", "document", "image", "group", "cluster"),
)
CLUSTER_NAMES = (*_THINGS_OF_CLUSTERS, *(f"{thing}_id" for thing in _THINGS_OF_CLUSTERS), "qid", "uid", "pid")


def telling_names(names: Sequence[str], taken: Columns) -> tuple[str, ...]:
    """The columns that are called as clusters are, and were taken as nothing else.

    Known are query, patient, subject, person, user, customer, client, account, household, session, visit, question,
    document, image, group and cluster, each also with _id at its end, and qid, uid and pid.
    """
    return tuple(name for name in names if plain_name(name) in CLUSTER_NAMES and name not in taken.names)


def clusters_ignored(table: Table, taken: Columns) -> list[str]:
    """A sentence on each column with such a name whose values repeat, where no clusters were named."""
    if taken.cluster is not None:
        return []
    notes: list[str] = []
    for name in telling_names(table.names, taken):
        try:
            column = table.read([name])[name].drop_nulls()
        except InputError:  # it is not wanted, so what is wrong with it is nobody's concern
            continue
        n, distinct = len(column), column.n_unique()
        if 1 < distinct < n:
            notes.append(
                Sentence(
                    "column {name} repeats ({distinct:,} values in {n:,} rows): if its rows belong together, pass "
                    "{cluster=}; the intervals here take rows as independent",
                    name=name,
                    distinct=distinct,
                    n=n,
                    cluster=name,
                )
            )
    return notes


# --- columns of a table, which may be arrays --------------------------------------------------------------------------


def columns_of_table(table: Table, asked: ColumnsAsked) -> tuple[Columns, list[str]]:
    """Choose columns of a table, or arrays where it holds arrays; return them, and what there is to say about it."""
    return _among_arrays(table, asked) if table.arrays else (columns_among(table.names, asked), [])


def _among_arrays(table: Table, asked: ColumnsAsked) -> tuple[Columns, list[str]]:
    """Arrays by name. Where one of scores and labels is named, the other must be the only one that fits it."""
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
    notes = [f"left unread in the file: {listed(others)}"] if others else []
    scores = columns.prob[0]
    width = width_of(table.arrays[scores])
    if width == 1:
        return columns, notes
    twice = [name for name in table.columns_of(scores) if width_of(table.arrays.get(name, (0, 2))) == 1]
    if twice:
        raise InputError(
            f"{twice[0]!r} is an array, and column {twice[0].removeprefix(f'{scores}_')} of {scores!r} too: rename one"
        )
    return replace(columns, prob=table.columns_of(scores), classes=tuple(range(width))), notes


def _partner(table: Table, of: str, known: Sequence[str], unlike: Sequence[str], what: str, option: str) -> str:
    """The array of a known name that goes with another; labels and labels_test could both go with probs_test."""
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
                f"; for one-hot rows, save {name}.argmax(axis=1); several labels of one row are for Python: "
                "Predictions(..., multilabel=True)"
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
    """What follows a known word: test, of probs_test; nothing, where none begins the name."""
    ends = [plain_name(name).removeprefix(f"{word}_") for word in known if plain_name(name).startswith(f"{word}_")]
    return min(ends, key=len, default="")
