"""The command `believable fit`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from believable.cli._common import STANDARD_STREAM, called, new_console, note, say, sentences, warnings_as_notes
from believable.cli._inputs import (
    OPTIONS_OF_RUNS,
    columns_in,
    names_a_run,
    names_in,
    read_run,
    read_samples,
    refuse,
    refuse_run,
)
from believable.cli._options import Scale, scale_of, shared_options
from believable.cli._outputs import check_outputs
from believable.cli._segments import only_with_segments
from believable.cli._wording import in_options
from believable.errors import BelievableError, InputError

if TYPE_CHECKING:
    from rich.console import Console

    from believable.readers import Loaded
    from believable.recalibrate import Calibration, Recalibrator

EXAMPLE_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_ROWS_OF_EXAMPLES = 50_000  # whose segments are looked at


@click.command(short_help="Fit a calibration map: from scores to probabilities.")
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True))
@shared_options("prob", "prob_prefix", "logits", "scores", "percent", "label", "pos_label", "neg_label", "weight")
@shared_options("cluster", "drop_missing", "format", "run", "qrels", "rel", "unjudged")
@click.option(
    "--by",
    metavar="NAME",
    multiple=True,
    help="Column of segments that may need corrections of their own; for several, use commas or repeat the option.",
)
@click.option(
    "--method",
    default="auto",
    show_default=True,
    help="A recalibrator, such as temperature or isotonic; auto averages several. With --by: pooled or boosted, or "
    "auto, which compares both with one map for all rows.",
)
@click.option(
    "--rule",
    type=click.Choice(["average", "proven"]),
    default="average",
    show_default=True,
    help="What auto writes: an average of methods (with --by, the simplest map that is as good as the best), or the "
    "simplest one whose gain is proven.",
)
@click.option(
    "--score",
    type=click.Choice(["log_loss", "brier"]),
    default="log_loss",
    show_default=True,
    help="The proper scoring rule that compares the methods.",
)
@click.option(
    "--folds", type=click.IntRange(2), default=5, show_default=True, help="Number of folds for the comparison."
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Write the calibration map here, as JSON; - for the standard output.",
)
@sentences
def fit(
    file: Path | None,
    logits: bool,
    scores: str | None,
    method: str,
    rule: Any,
    score: Any,
    folds: int,
    output: Path | None,
    **columns: Any,
) -> None:
    """Fit a calibration map to the scores in FILE, which turns them into calibrated probabilities.

    FILE has scores with known outcomes, for rows that the model was not trained on: csv, tsv, parquet, jsonl or npz, a
    log of Inspect AI (.eval), or - for the standard input. Columns are found by name, as by `believable audit`. For a
    reranker, use --run for the scores and --qrels for the relevance in place of FILE; the rows of a query then stay in
    the same fold.

    With --method auto, several recalibrators are compared by cross-fitting: each row is recalibrated by a map that was
    fitted without it. The map that is written is their weighted average, with the unchanged scores as one of them: the
    fewer rows there are, the closer it stays to them. With --rule proven it is the simplest method that is as good as
    the best, and it changes nothing unless the gain is beyond noise. `believable apply` applies the map to new scores.

    With --by, segments may get corrections of their own, as far as their rows support them. Three maps are compared:
    one for all rows; "pooled", which corrects the values of each column; and "boosted", which also corrects
    combinations of two and three columns. A map by segment is written only if it predicts better on rows that it was
    not fitted to. Numbers with more than 12 different values are cut into ranges. New rows need the same columns.
    """
    from believable.recalibrate import calibrate

    console = new_console(stderr=output == STANDARD_STREAM)
    scale = scale_of(scores, logits)
    by = names_in(columns["by"])
    if method != "auto" and rule != "average":
        raise InputError("--rule is for --method auto: leave out one of them")
    _check_method(method, scale, by)  # before the file is read, which may take long
    check_outputs({"output": output}, [file, columns["run"], columns["qrels"]])
    loaded = _read(file, scale, columns | {"logits": logits, "scores": scores})
    where = called(file or columns["run"])
    loaded = only_with_segments(loaded, {}, "left out of --by") if by else loaded
    _say_what_was_taken(console, where, loaded, scale)
    with warnings_as_notes():
        try:
            result = calibrate(
                **_data(loaded, scale),
                method=method,
                rule=rule,
                cv=folds,
                clusters=loaded.clusters,
                by=loaded.by or None,
                score=score,
                input=scale,
            )
        except BelievableError as error:
            raise InputError("{where}: {error}", where=where, error=error) from error
    if output is not None and output != STANDARD_STREAM:
        result.to_json(output)  # before printing, which a reader such as `head` may end
    console.print()
    say(console, "\n".join(map(in_options, result.lines())))
    if result.recalibrator.n_features_in_ == 1 and result.method != "nothing":
        say(console, _examples(loaded, result.recalibrator))
    console.print()
    _write(console, result, output, by)


def _check_method(method: str, scale: Scale, by: Sequence[str]) -> None:
    from believable.recalibrate.facts import BY_SEGMENT, as_method
    from believable.recalibrate.select import check_method

    if method in BY_SEGMENT and not by:
        raise InputError(f"--method {method} corrects segments: name their columns with --by")
    if by and method not in ("auto", *BY_SEGMENT):
        raise InputError(
            f"--method {method} fits one map for all rows, so it does not read --by {','.join(by)}: use --method auto, "
            "pooled or boosted, or leave out --by"
        )
    if method != "auto":
        chosen = as_method(method)
        check_method(chosen, scale)
        chosen.set_params(input=scale)._check_settings()


def _read(file: Path | None, scale: Scale, asked: dict[str, Any]) -> Loaded:
    from believable.readers.load import load
    from believable.readers.logs.inspect_files import is_eval_log

    if names_a_run(asked):
        return read_run(file, asked, to_fit=True)
    if file is None:
        raise InputError("name a FILE of scores (- for the standard input), or a run with --run and --qrels")
    refuse_run(file, asked)
    refuse(asked, OPTIONS_OF_RUNS, "is for a run and its judgements: name the run with --run")
    if file != STANDARD_STREAM and asked.get("format") is None and is_eval_log(file):
        return read_samples(file, asked)
    by = names_in(asked["by"])
    return load(file, from_logits=scale != "probabilities", **columns_in(asked) | {"by": by})


def _say_what_was_taken(console: Console, where: str, loaded: Loaded, scale: Scale) -> None:
    taken = loaded.taken.replace("(logits)", "(raw scores)", 1) if scale == "scores" else loaded.taken
    taken = taken.replace(", subgroups ", ", segments by ", 1) if loaded.by else taken
    say(console, f"{where}: {len(loaded.predictions):,} rows; used {taken}")
    if loaded.dropped:
        left_out = ", ".join(f"{n:,} ({what})" for what, n in loaded.dropped.items())
        say(console, f"Rows left out: {left_out}")
    for text in loaded.notes:
        note(in_options(text))


def _data(loaded: Loaded, scale: Scale) -> dict[str, Any]:
    """Return the data to fit: checked probabilities, or logits and raw scores from the file with labels by name."""
    predictions = loaded.predictions
    if scale == "probabilities":
        return {"predictions": predictions}
    labels = predictions.labels.tolist()
    if predictions.classes is not None:
        labels = [predictions.classes[k] for k in labels]
    return {
        "predictions": loaded.raw,
        "actuals": labels,
        "classes": predictions.classes,
        "sample_weight": predictions.weights,
    }


def _examples(loaded: Loaded, recalibrator: Recalibrator) -> str:
    """Return a sentence that shows the calibrated values of a few scores."""
    if loaded.raw is None:
        shown = list(EXAMPLE_SHARES)
    else:
        ordered = sorted(loaded.raw.tolist())
        shown = [ordered[round(share * (len(ordered) - 1))] for share in EXAMPLE_SHARES]
    if _columns_of(recalibrator):
        becomes = [_by_segment(score, loaded, recalibrator) for score in shown]
    else:
        becomes = [f"{p:.4g}" for p in recalibrator.transform(shown).tolist()]
    pairs = ", ".join(f"{old:.4g} becomes {new}" for old, new in zip(shown, becomes, strict=True))
    return f"For example{', depending on the segment' if ' to ' in pairs else ''}: {pairs}"


def _by_segment(score: float, loaded: Loaded, recalibrator: Recalibrator) -> str:
    """Return the calibrated value of a score or, if segments differ, the range of its values."""
    n = len(loaded.predictions)
    rows = slice(None, None, -(-n // MOST_ROWS_OF_EXAMPLES))
    by: dict[str, Any] = {"by": {name: values[rows] for name, values in loaded.by.items()}}
    mapped = recalibrator.transform([score] * len(range(n)[rows]), **by)
    low, high = f"{mapped.min():.4g}", f"{mapped.max():.4g}"
    return low if low == high else f"{low} to {high}"


def _columns_of(recalibrator: Recalibrator) -> tuple[str, ...]:
    """Return the columns that a fitted recalibrator needs besides the scores."""
    from believable.recalibrate import GroupedRecalibrator

    return recalibrator.by_ if isinstance(recalibrator, GroupedRecalibrator) else ()


def _write(console: Console, result: Calibration, output: Path | None, by: Sequence[str]) -> None:
    if output == STANDARD_STREAM:
        click.echo(result.to_json())
        return
    if output is None:
        say(console, "The calibration map was not saved: to save it, name a file with -o.")
        return
    what = {"nothing": "it changes nothing", "base rate": "it replaces every score by the base rate"}
    needs = _what_it_needs(result.recalibrator) if by else ""
    say(console, f"Calibration map written to {output}: {what.get(result.method, result.method)}.{needs}")


def _what_it_needs(recalibrator: Recalibrator) -> str:
    from believable.writers.segment_columns import in_words

    columns = _columns_of(recalibrator)
    if not columns:
        return " It is the same for all segments: new rows need no columns but the scores."
    return f" New rows need the column{'' if len(columns) == 1 else 's'} {in_words(columns)} beside the scores."
