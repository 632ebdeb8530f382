"""Read the predictions that the options name: a table, a run with judgements, or answers of a language model."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from believable.cli._common import STANDARD_STREAM
from believable.cli._options import scale_of
from believable.cli._segments import columns_to_search, only_with_segments
from believable.cli._wording import asks_for, in_options
from believable.errors import InputError

if TYPE_CHECKING:
    from believable.readers import Loaded

OPTIONS_OF_COLUMNS = (
    *("prob", "prob_prefix", "label", "pos_label", "neg_label", "pairs", "weight", "cluster", "by"),
    *("percent", "drop_missing", "format"),
)
OPTIONS_OF_RUNS = ("qrels", "rel", "graded", "unjudged", "map")
ENDINGS_OF_RUNS = ("run", "trec", "qrels", "qrel")
OPTIONS_OF_SAMPLES = ("normalise", "filter")
OPTIONS_OF_TABLES = ("prob_prefix", "pos_label", "neg_label", "weight", "format", "logits", "scores")


def read(file: Path | None, asked: Mapping[str, Any], *, unasked: Collection[str] = (), search: bool = False) -> Loaded:
    """Read what the options name, with few enough subgroups and with notes in the words of the command line.

    Notes that suggest an argument in `unasked` are left out. With `search`, columns that have no segments are left out,
    and a note says why; if no columns are named, those of subgroups are all that are not read as anything else.
    """
    from believable.readers.levels import as_subgroups

    left_out: dict[str, str] = {}
    if search and not names_in(asked.get("by", ())):
        if file is None or names_a_run(asked) or _is_samples(file, asked):
            raise InputError(
                "--find-segments searches the columns of a table by itself: name others with --by, if there are any"
            )
        names, left_out = columns_to_search(file, asked)
        asked = {**asked, "by": [_quoted(name) for name in names]}
    loaded = _read(file, asked)
    if search:
        loaded = only_with_segments(loaded, left_out, "not searched for segments")
    by, said = as_subgroups(loaded.by)
    notes = [note for note in (*loaded.notes, *said) if not asks_for(note, unasked)]
    return replace(loaded, by=by, notes=tuple(map(in_options, notes)))


def read_other(file: Path, asked: Mapping[str, Any], *, unasked: Collection[str] = (), **instead: Any) -> Loaded:
    """Read other predictions for the same rows; clusters and subgroups are taken from the first file."""
    if asked.get("cluster") is not None:
        unasked = {*unasked, "cluster"}
    return read(file, {**asked, **instead, "cluster": None, "by": ()}, unasked=unasked)


def _read(file: Path | None, asked: Mapping[str, Any]) -> Loaded:
    if names_a_run(asked):
        return read_run(file, asked)
    refuse(asked, OPTIONS_OF_RUNS, "is for a run and its judgements: name the run with --run")
    if file is None:
        raise InputError("name a FILE of predictions (- for the standard input), or a run with --run and --qrels")
    refuse_run(file, asked)
    scale = scale_of(asked.get("scores"), asked["logits"])
    if scale == "scores":
        raise InputError(
            "raw scores are not probabilities, so there is nothing to audit: fit a calibration map with `believable "
            "fit --scores raw`, apply it to other rows with `believable apply`, and audit the result"
        )
    if _is_samples(file, asked):
        return read_samples(file, asked)
    refuse(asked, OPTIONS_OF_SAMPLES, f"is for a sample log of a language model, but {file} is not one")
    from believable.readers import load

    return load(file, **columns_in(asked) | {"by": names_in(asked.get("by", ())), "from_logits": scale == "logits"})


def columns_in(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options on columns as arguments of `load`."""
    return {name: asked[name] for name in OPTIONS_OF_COLUMNS if name in asked}


def names_in(given: Iterable[str]) -> list[str]:
    """Return names that were given one by one or with commas between them; a name with a comma must be quoted.

    >>> names_in(["age,sex", '"a, b"'])
    ['age', 'sex', 'a, b']
    """
    return list(dict.fromkeys(name for text in given for name in _split(text) if name))


def _split(text: str) -> list[str]:
    """Split a text at its commas, except in quotes."""
    try:
        return [name for row in csv.reader([text], skipinitialspace=True) for name in row]
    except csv.Error:  # a line break outside of quotes
        return [name.lstrip(" ") for name in text.split(",")]


def _quoted(name: str) -> str:
    """Return a name in quotes, so that a comma in it does not divide it."""
    return '"' + name.replace('"', '""') + '"'


def names_a_run(asked: Mapping[str, Any]) -> bool:
    """Return whether a run or its judgements are named."""
    return asked.get("run") is not None or asked.get("qrels") is not None


def refuse_run(file: Path, asked: Mapping[str, Any]) -> None:
    """Raise if a file that was named as a table has the ending of a run or of judgements."""
    ending = file.name.lower().removesuffix(".gz").rpartition(".")[2]
    if ending in ENDINGS_OF_RUNS and asked.get("format") is None and not asked.get("samples"):
        raise InputError(
            f"{file} has the ending of a run or its judgements: name both files, with --run RUN --qrels QRELS; if it "
            "is a table, name its format with --format"
        )


def read_run(file: Path | None, asked: Mapping[str, Any], *, to_fit: bool = False) -> Loaded:
    """Read the judged documents of a run; with `to_fit`, raw scores stay as they are, without a fitted map."""
    from believable.readers import load_run

    run, qrels = asked.get("run"), asked.get("qrels")
    if run is None or qrels is None:
        missing, given = ("--run", "--qrels") if run is None else ("--qrels", "--run")
        raise InputError(f"{given} needs {missing}: a run has the scores, and judgements (qrels) say what is relevant")
    if file is not None:
        raise InputError(f"name either {file} or a run with --run and --qrels, not both")
    refuse(
        asked, (*OPTIONS_OF_COLUMNS, "samples", *OPTIONS_OF_SAMPLES), "is for a FILE, not for a run and its judgements"
    )
    scale = scale_of(asked.get("scores"), asked["logits"])
    if asked.get("map") is not None and scale != "scores" and not asked.get("graded"):
        raise InputError(f"--map is for --scores raw or --graded: {scale} are audited without a calibration map")
    chosen = {
        "rel": asked.get("rel"),
        "unjudged": None if asked.get("unjudged") is None else asked["unjudged"].replace("-", " "),
        "method": asked.get("map"),
    }
    loaded = load_run(
        run,
        qrels,
        scores=scale if scale != "scores" else "logits" if to_fit else "raw",
        graded=bool(asked.get("graded")),
        random_state=asked.get("seed", 0),
        **{name: value for name, value in chosen.items() if value is not None},
    )
    if scale != "scores" or asked.get("graded"):
        return loaded
    if to_fit:
        return replace(loaded, taken=loaded.taken.replace("logits (sigmoid)", "raw numbers", 1))
    return replace(loaded, notes=(*loaded.notes, _how_to_save(asked)))


def _how_to_save(asked: Mapping[str, Any]) -> str:
    """Return the command that fits the calibration map of raw scores again and saves it."""
    words = ["believable", "fit", "--run", str(asked["run"]), "--qrels", str(asked["qrels"]), "--scores", "raw"]
    for option in ("rel", "unjudged"):
        words += [] if asked.get(option) is None else [f"--{option}", str(asked[option])]
    words += ["--method", str(asked.get("map") or "platt"), "-o", "map.json"]
    return f"To save the calibration map for `believable apply`: {shlex.join(words)}"


def _is_samples(file: Path, asked: Mapping[str, Any]) -> bool:
    """Return whether the file has answers of a language model: with --samples, or if it looks like it.

    A log of Inspect AI is one by its name. Other files are, by the fields of their first objects, unless options that
    are only for tables say that they are tables.
    """
    from believable.readers.logs.inspect_files import is_eval_log

    if asked.get("samples"):
        return True
    if file != STANDARD_STREAM and asked.get("format") is None and is_eval_log(file):
        return True
    if any(asked.get(name) for name in OPTIONS_OF_TABLES) or file == STANDARD_STREAM or asked.get("pairs") is False:
        return False
    from believable.readers import is_lm_samples
    from believable.readers.logs.language_models import states_confidences

    prob, label = asked.get("prob"), asked.get("label")
    if prob is None and label is None and is_lm_samples(file):
        return True
    return states_confidences(file, prob, label)


def read_samples(file: Path, asked: Mapping[str, Any]) -> Loaded:
    """Read the answers of a language model."""
    from believable.readers import load_samples

    refuse(asked, OPTIONS_OF_TABLES, f"is for a table, but {file} is read as the answers of a language model")
    return load_samples(
        file,
        normalise=asked.get("normalise") or "none",
        filter=asked.get("filter"),
        confidence=asked.get("prob"),
        correct=asked.get("label"),
        cluster=asked.get("cluster"),
        by=names_in(asked.get("by", ())),
        percent=asked["percent"],
    )


def refuse(asked: Mapping[str, Any], names: Iterable[str], why: str) -> None:
    """Raise if one of these options was given."""
    for name in names:
        if asked.get(name) not in (None, False, ()):
            raise InputError(f"--{name.replace('_', '-')} {why}")
