"""The command `believable audit`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from believable.cli._common import (
    BAD_INPUT,
    GATE_FAILED,
    STANDARD_STREAM,
    called,
    new_console,
    said,
    say,
    sentences,
    warnings_as_notes,
)
from believable.cli._gates import FAIL_ON, answer_gate_of, gates_of
from believable.cli._inputs import names_in, read, read_other
from believable.cli._junit import Junit, junit_written
from believable.cli._large import Large, files_behind, is_large, read_large
from believable.cli._options import Measuring, Sectioned, shared_options
from believable.cli._outputs import NAMES_OF_OUTPUTS, check_outputs, write_outputs, write_plot
from believable.cli._segments import other_columns
from believable.cli._show import show_audit, show_gates, show_section, show_verdict, working
from believable.errors import BelievableError, InputError

if TYPE_CHECKING:
    from believable.auditing.gates import AnswerGate, Gate, Result
    from believable.readers import Loaded
    from believable.report import Audit

SECTIONS = {
    "Which columns": (
        *("prob", "prob_prefix", "logits", "scores", "percent", "label", "pos_label", "neg_label", "pairs"),
        *("weight", "cluster", "by", "drop_missing", "format"),
    ),
    "How to measure": ("bins", "strategy", "notion", "find_segments", "level", "fix", "seed"),
    "What to write": ("full", "html", "json", "markdown", "plot", "title", "quiet"),
    "Gates": ("fail_above", "fail_below", "fail_on", "junit"),
    "Large files": ("stream", "checkpoint", "checkpoint_every", "save_summary"),
    "Several files": ("each",),
    "Other models on the same rows": ("names", "compare", "compare_prob"),
    "Rerankers": ("run", "qrels", "rel", "graded", "unjudged", "map"),
    "Language models": ("samples", "normalise", "filter"),
}
MOST_COLUMNS_NAMED = 6
OUTPUTS = ("html", "json", "markdown", "plot")
OPTIONS_OF_FIT = (
    *("prob", "prob_prefix", "logits", "scores", "percent", "label", "pos_label", "neg_label", "weight", "cluster"),
    *("drop_missing", "format", "run", "qrels", "rel", "unjudged"),
)
OWN_SETTINGS = (
    *("notion", "find_segments", "fix", "title", "full", "quiet", "junit"),
    *("names", "compare", "compare_prob"),
)
WRITABLE = click.Path(path_type=Path, allow_dash=True)
READABLE = click.Path(path_type=Path)


@click.command(cls=Sectioned, sections=SECTIONS, short_help="Answer whether the scores in FILE can be trusted.")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@shared_options(*SECTIONS["Which columns"])
@shared_options("bins", "strategy", "level", "seed")
@click.option(
    "--notion",
    type=click.Choice(["confidence", "classwise", "top_label"]),
    help="With one column per class, what to judge: the predicted class (confidence), every class (classwise), or each "
    "predicted class by itself (top_label).  [default: confidence]",
)
@click.option(
    "--find-segments",
    is_flag=True,
    help="Search for segments whose calibration differs from that of the other rows: by the --by columns and their "
    "combinations or, without --by, by every column that is not read as anything else.",
)
@click.option(
    "--fix/--no-fix", default=True, help="Check whether recalibration would help, or skip this.  [default: fix]"
)
@click.option("--html", type=WRITABLE, help="Write the HTML report here; - for the standard output.")
@click.option("--json", type=WRITABLE, help="Write all numbers here, for Audit.from_json; - for the standard output.")
@click.option("--markdown", type=WRITABLE, help="Write Markdown here; - for the standard output.")
@click.option("--plot", type=click.Path(path_type=Path), help="Write the reliability diagram here: .png, .svg or .pdf.")
@click.option("--title", metavar="TEXT", help="Title of the report.  [default: the name of the file]")
@click.option("--full", is_flag=True, help="Print all tables.")
@click.option("--quiet", "-q", is_flag=True, help="Print only the answer and its evidence.")
@click.option(
    "--fail-above",
    metavar="NAME=LIMIT",
    multiple=True,
    help="Exit with 1 if the upper end of the metric's interval is above LIMIT, that is, unless the data show that the "
    "metric is small enough. NAME.low=LIMIT compares the lower end, so it fails only if the data show that the metric "
    "is too large; NAME.value=LIMIT compares the value. May be repeated: --fail-above ece=0.1 --fail-above mce.low=0.2",
)
@click.option(
    "--fail-below",
    metavar="NAME=LIMIT",
    multiple=True,
    help="For metrics where higher is better, such as auc and acc: exit with 1 if the lower end of the interval is "
    "below LIMIT. NAME.high=LIMIT compares the upper end, NAME.value=LIMIT the value.",
)
@click.option(
    "--fail-on",
    type=click.Choice(list(FAIL_ON)),
    multiple=True,
    help='Exit with 1 if the answer is "No, recalibrate first" (recalibrate); "Use with care" or worse (care); or "Not '
    'enough data" (not-enough-data). May be repeated: --fail-on care --fail-on not-enough-data',
)
@click.option(
    "--junit",
    type=WRITABLE,
    help="Write the results of the gates here, as JUnit XML for CI systems; - for the standard output.",
)
@click.option(
    "--stream",
    is_flag=True,
    help="Read Parquet files in one pass, in little memory; this is the default for more than 5 million rows.",
)
@click.option(
    "--checkpoint",
    type=READABLE,
    help="Save the state of the pass here. After an interruption, the same command continues from there.",
)
@click.option(
    "--checkpoint-every",
    metavar="ROWS",
    type=click.IntRange(1),
    help="Save the state after this many rows.  [default: every ten seconds]",
)
@click.option(
    "--save-summary", type=READABLE, help="Write the summary (all counts) here, to audit it later in place of FILE."
)
@click.option(
    "--each",
    is_flag=True,
    help="Audit each FILE by itself. Exit with 2 if any cannot be audited, otherwise with 1 if a gate failed for any.",
)
@click.option(
    "--names",
    metavar="A,B,...",
    help="Names of models, one per FILE, 2 to 8 with the same rows: audit each model, and rank them.",
)
@click.option("--compare", type=READABLE, help="Scores of another model: a file with the same rows and column names.")
@click.option(
    "--compare-prob", metavar="NAME", help="Column of the other model's scores, in the --compare file or else in FILE."
)
@shared_options("run", "qrels", "rel")
@click.option(
    "--graded", is_flag=True, help="Classes are the grades of relevance (at most ten), in place of relevant or not."
)
@shared_options("unjudged")
@click.option(
    "--map",
    metavar="METHOD",
    help="Recalibrator for raw scores, fitted to other queries (cross-fitting).  [default: platt]",
)
@click.option(
    "--samples", is_flag=True, help="FILE has answers of a language model: a log, or one JSON object per line."
)
@click.option(
    "--normalise",
    type=click.Choice(["none", "length", "bytes"]),
    help="First divide the log-likelihood of each choice by its number of characters (length) or of bytes (bytes).  "
    "[default: none]",
)
@click.option(
    "--filter",
    metavar="NAME",
    help="If lm-evaluation-harness logged several filters, the one to use.  [default: the first]",
)
@sentences
def audit(files: tuple[Path, ...], **given: Any) -> None:
    """Answer whether the scores in FILE can be taken at face value, with the evidence and what to do.

    FILE has one row per prediction: csv, tsv, parquet, jsonl or npz, or - for the standard input. Columns are found by
    name: scores called p, prob, proba, probability, score, y_prob, y_score, y_pred, pred, prediction, confidence,
    probs, probs64, probabilities or scores, or one column per class called p_CLASS, prob_CLASS or proba_CLASS; labels
    called y, label, target, actual, outcome, y_true, truth, correct, labels, targets, actuals or outcomes. The output
    says which columns were used. Weights, clusters and subgroups are never guessed.

    A --by column with more than 12 different numbers is divided into four ranges. If it has more than 50 different
    texts, the 50 most frequent are kept and the others combined.

    With --find-segments, single columns and intersections of two and three are searched for segments in which the same
    scores mean something else than in other rows. The false discovery rate is 5 %. Columns that identify rows, are
    constant or tell the outcome are left out and, unless --by names them, those with names of scores, labels or
    clusters; a note lists them.

    A Parquet file of more than 5 million rows, several Parquet files, a folder of them, or a pattern in quotes
    ('2026-*.parquet') is counted in one pass, in little memory. FILE may also be a saved summary. Options that need
    individual rows (--cluster, --compare) are not available for data counted in one pass, nor for a saved summary.

    With --names, each FILE is a model: `believable audit a.csv b.csv --names a,b` audits 2 to 8 models on the same rows
    and ranks them.

    With --each, every FILE is audited by itself, with the same options.

    To audit a reranker, use --run and --qrels in place of FILE. Raw scores in a FILE cannot be audited: first turn them
    into probabilities with `believable fit` and `believable apply`.

    Answers of language models are recognised automatically: logs of Inspect AI (.eval), logs of lm-evaluation-harness
    (--log_samples), and JSON lines with the fields confidence and correct. In a log of Inspect AI, --label names the
    scorer that marks the answers, and --prob the field with the confidence, such as a key of the scorer's metadata.

    Exit code: 0 if no gate failed, whatever the verdict, 1 if a gate failed, 2 for bad input, 130 if interrupted.
    """
    if given.pop("each"):
        raise SystemExit(_audit_each(files, given))
    junit = given["junit"]
    inputs = [*(files if junit is None else files_behind(files)), given["compare"], given["run"], given["qrels"]]
    with junit_written(junit, inputs, title=given["title"] or _name_of(files)) as report:
        kept = _audit(files, given, report)
    if junit not in (None, STANDARD_STREAM):
        say(new_console(stderr=STANDARD_STREAM in (given[name] for name in OUTPUTS)), f"Gates written to {junit}")
    if not kept:
        raise SystemExit(GATE_FAILED)


def _audit_each(files: Sequence[Path], given: Mapping[str, Any]) -> int:
    """Audit each file by itself, and return the worst exit code: a file that cannot be audited does not stop others."""
    for_one = (*OUTPUTS, "junit", "save_summary", "checkpoint", "title", "names", "compare", "run", "qrels")
    for name in for_one:
        if given[name] is not None:
            raise InputError(f"--{name.replace('_', '-')} is for a single audit and cannot be combined with --each")
    from believable.report.text import one_line

    if not files:
        raise InputError("name at least one FILE to audit with --each")
    worst = 0
    for i, file in enumerate(files):
        console = new_console()
        console.print() if i else None
        say(console, f"--- {one_line(called(file))}")
        try:
            kept = _audit((file,), given, Junit(""))
        except BrokenPipeError:
            raise
        except (BelievableError, OSError) as error:
            click.echo(f"Error: {said(error)}", err=True)
            worst = BAD_INPUT
        else:
            worst = worst or (0 if kept else GATE_FAILED)
    return worst


def _name_of(files: Sequence[Path]) -> str:
    return called(files[0]) if files else "audit"


def _audit(files: tuple[Path, ...], given: Mapping[str, Any], report: Junit) -> bool:
    """Audit what the options name, and print it; return whether no gate failed."""
    settings = Settings.taken_from(given)
    if settings.names is not None:
        _audit_models(files, names_in([settings.names]), settings)
        return True
    found_in = _read(files, settings)
    what: Any = found_in.summary if isinstance(found_in, Large) else found_in.predictions
    for gate in settings.gates:
        gate.refuse_kind(what.kind)
    other, other_name = None, ""
    if not isinstance(found_in, Large):
        other, other_name = _other(files[0] if files else None, settings, found_in)
    n = what.n if isinstance(found_in, Large) else len(what)
    with warnings_as_notes(), working(f"Auditing {n:,} rows"):
        found = _made(files, found_in, settings, other, other_name)
        results = settings.results(found)
        report.add(found.verdict, results)
        written = write_outputs(settings.outputs, found, what, _drawn(settings))
    if settings.columns["save_summary"] is not None:
        written.append(f"Summary written to {settings.columns['save_summary']}")
    console = new_console(stderr=STANDARD_STREAM in {**settings.outputs, "junit": settings.junit}.values())
    if settings.quiet:
        show_verdict(console, found.verdict)
    else:
        show_audit(console, found, full=settings.full)
        if others := _not_searched(files, found_in, settings):
            console.print()
            say(console, others)
    if results or written:
        console.print()
    show_gates(console, results)
    for sentence in written:
        say(console, sentence)
    return all(result.kept for result in results)


def _not_searched(files: Sequence[Path], found_in: Loaded | Large, settings: Settings) -> str:
    """Return a sentence on the columns that could be searched for segments; "" if there are none, or some are."""
    from believable.readers.formats import format_by_ending

    asked, (file, *others) = settings.columns, files or [STANDARD_STREAM]
    if settings.find_segments or asked["by"] or others or not file.is_file() or isinstance(found_in, Large):
        return ""
    format = format_by_ending(file)
    if asked["samples"] or format is None or format.name not in ("csv", "tsv", "parquet"):
        return ""
    names = other_columns(file, asked | {"compare_prob": settings.compare_prob})
    if not names:
        return ""
    shown = ", ".join(names[:MOST_COLUMNS_NAMED]) + (" and others" if len(names) > MOST_COLUMNS_NAMED else "")
    return f"All rows were judged together. To look for segments with wrong scores by {shown}, add --find-segments."


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of the command, by purpose.

    Attributes
    ----------
    how : Measuring
        How to measure.
    notion : str or None
        The notion of calibration to judge.
    find_segments : bool
        Whether to search for segments that differ from the other rows.
    fix : bool
        Whether to check if recalibration would help.
    outputs : dict of str to path or None
        Files to write, by option.
    title : str or None
        The title of the report.
    full, quiet : bool
        How much to print.
    gates : list of Gate
    answer_gate : AnswerGate or None
        The gate on the answer.
    junit : path or None
        The file for the results of the gates.
    names : str or None
        The names of the models, if each file is one.
    compare, compare_prob : path and str, or None
        The file and column of another model.
    columns : dict
        All other options, by name: the input and its columns.
    """

    how: Measuring
    notion: Any
    find_segments: bool
    fix: bool
    outputs: dict[str, Path | None]
    title: str | None
    full: bool
    quiet: bool
    gates: list[Gate]
    answer_gate: AnswerGate | None
    junit: Path | None
    names: str | None
    compare: Path | None
    compare_prob: str | None
    columns: dict[str, Any]

    @classmethod
    def taken_from(cls, given: Mapping[str, Any]) -> Settings:
        """Sort the options by purpose; raise if one is invalid by itself."""
        rest = dict(given)
        gates = gates_of(rest.pop("fail_above"), rest.pop("fail_below"))
        answer_gate = answer_gate_of(rest.pop("fail_on"))
        how = Measuring.taken_from(rest)
        outputs = {name: rest.pop(name) for name in OUTPUTS}
        own = {name: rest.pop(name) for name in OWN_SETTINGS}
        return cls(how=how, outputs=outputs, gates=gates, answer_gate=answer_gate, columns=rest, **own)

    def results(self, found: Audit) -> list[Result]:
        """Compare the audit with every gate."""
        on_answer = [] if self.answer_gate is None else [self.answer_gate.result(found.verdict)]
        return [*on_answer, *(gate.result(found.__getitem__, found.verdict.level) for gate in self.gates)]


def _read(files: Sequence[Path], settings: Settings) -> Loaded | Large:
    """Check the output files, then read the rows, or count them in one pass."""
    asked = settings.columns
    written = settings.outputs | {"save-summary": asked["save_summary"], "checkpoint": asked["checkpoint"]}
    written |= {"junit": settings.junit}
    inputs = files_behind(files) if any(written.values()) else files
    check_outputs(written, [*inputs, settings.compare, asked["run"], asked["qrels"]])
    rows = asked | {"compare": settings.compare, "compare_prob": settings.compare_prob}
    rows |= {"bins": settings.how.bins, "strategy": settings.how.strategy, "find_segments": settings.find_segments}
    if is_large(files, rows):
        return read_large(files, rows)
    return read(files[0] if files else None, asked | {"seed": settings.how.seed}, search=settings.find_segments)


def _audit_models(files: Sequence[Path], names: Sequence[str], settings: Settings) -> None:
    """Audit several models, one per file, and rank them."""
    from believable.auditing import audit_models
    from believable.readers.same_rows import refuse_other_ids, refuse_other_rows

    if len(names) != len(files) or len(set(names)) < len(names):
        raise InputError(
            f"--names has {len(set(names))} different names for {len(files)} files: name each file once, as in "
            "`believable audit a.csv b.csv --names a,b`"
        )
    asked, outputs = settings.columns, settings.outputs
    without = {"markdown": outputs["markdown"], "compare": settings.compare, "compare-prob": settings.compare_prob}
    without |= {"stream": asked.get("stream") or None, "checkpoint": asked.get("checkpoint")}
    without |= {"save-summary": asked["save_summary"], "run": asked["run"], "title": settings.title}
    without |= {"junit": settings.junit, "find-segments": "" if settings.find_segments else None}
    for option, value in without.items():
        if value is not None:
            raise InputError(f"--{option} is for a single model and cannot be combined with --names")
    if settings.gates or settings.answer_gate is not None:
        raise InputError(
            "--fail-above, --fail-below and --fail-on cannot be combined with --names: audit each model by itself"
        )
    check_outputs(outputs, list(files))
    models = {name: read(file, asked | {"seed": settings.how.seed}) for name, file in zip(names, files, strict=True)}
    (first, expected), *others = models.items()
    for (name, one), file in zip(others, files[1:], strict=True):
        refuse_other_rows(expected, one, first, name)
        refuse_other_ids(expected, one, files[0], file, first, name, asked.get("format"))
    how = settings.how
    with warnings_as_notes(), working(f"Auditing {len(models)} models"):
        found = audit_models(
            models,
            n_bins=how.bins,
            strategy=how.strategy,
            notion=settings.notion,
            fix=settings.fix,
            level=how.level,
            progress=False,
            random_state=how.seed,
            command="",
        )
        written = []
        for option, write in (("html", found.to_html), ("json", found.to_json)):
            path = outputs[option]
            if path == STANDARD_STREAM:
                click.echo(write())
            elif path is not None:
                write(path)
                written.append(f"{NAMES_OF_OUTPUTS[option]} written to {path}")
        if outputs["plot"] is not None:
            drawn = {name: one.predictions for name, one in models.items()}
            write_plot(outputs["plot"], drawn, **_drawn(settings))
            written.append(f"Picture written to {outputs['plot']}")
    console = new_console(stderr=STANDARD_STREAM in outputs.values())
    for i, section in enumerate(list(found.sections())[: 2 if settings.quiet else None]):
        console.print() if i else None
        show_section(console, section)
    if settings.full and not settings.quiet:
        for each in found:
            console.print()
            show_audit(console, each, full=True)
    console.print() if written else None
    for sentence in written:
        say(console, sentence)


def _made(
    files: Sequence[Path], found_in: Loaded | Large, settings: Settings, other: Loaded | None, other_name: str
) -> Audit:
    from believable.auditing import audit as make

    return make(
        found_in.summary if isinstance(found_in, Large) else found_in,
        n_bins=settings.how.bins,
        strategy=settings.how.strategy,
        notion=settings.notion,
        find_segments=(isinstance(found_in, Large) and found_in.segments) or settings.find_segments,
        compare_with=None if other is None else other.predictions,
        other=other_name,
        fix=settings.fix,
        level=settings.how.level,
        progress=False,
        random_state=settings.how.seed,
        command=_command(files, settings.columns),
        **_words(found_in, settings.title),
    )


def _command(files: Sequence[Path], asked: Mapping[str, Any]) -> str:
    """Return the command that fits the recommended recalibrator to the same rows; "" if it needs another file."""
    if len(files) > 1 or (files and (files[0] == STANDARD_STREAM or files[0].is_dir())) or asked.get("samples"):
        return ""
    words = ["believable", "fit", *map(str, files)]
    for option in OPTIONS_OF_FIT:
        value = asked.get(option)
        name = f"--{option.replace('_', '-')}"
        words += [] if value in (None, False) else [name] if value is True else [name, str(value)]
    return f"{shlex.join(words)} --method {{method}}{{by}} -o map.json"


def _drawn(settings: Settings) -> dict[str, Any]:
    """Return the settings of the reliability diagram: the bins of the headline."""
    from believable.auditing.make import NOTIONS_POOLED_IN_HEADLINE

    how, notion = settings.how, settings.notion
    return {
        "n_bins": how.bins,
        "strategy": how.strategy,
        "notion": notion,
        "pooled": notion in NOTIONS_POOLED_IN_HEADLINE,
        "level": how.level,
    }


def _words(found_in: Loaded | Large, title: str | None) -> dict[str, Any]:
    """Return the title of the report and, for a summary, what `Loaded` would say itself."""
    if not isinstance(found_in, Large):
        return {"title": title or ""}
    return {
        "title": title or found_in.title,
        "taken": found_in.taken,
        "notes": found_in.notes,
        "by": found_in.by,
    }


def _other(file: Path | None, settings: Settings, loaded: Loaded) -> tuple[Loaded | None, str]:
    """Return the predictions of the other model, and their name."""
    compare, compare_prob, asked = settings.compare, settings.compare_prob, settings.columns
    if compare is None and compare_prob is None:
        return None, ""
    from believable.readers.same_rows import refuse_other_ids, refuse_other_rows

    if file is None:
        raise InputError("--compare is for a FILE, not for a run and its judgements")
    path = compare or file
    if path == STANDARD_STREAM:
        raise InputError(
            "the standard input can be read only once: for --compare-prob, name a FILE, or another file with --compare"
        )
    if compare_prob is not None and asked["prob_prefix"] is not None:
        raise InputError(
            "--compare-prob names one column, but --prob-prefix several: name the other model's file with --compare"
        )
    other = read_other(path, asked, **({"prob": compare_prob} if compare_prob is not None else {}))
    name = compare_prob if compare is None and compare_prob is not None else str(path)
    refuse_other_rows(loaded, other, called(file), name)
    refuse_other_ids(loaded, other, file, path, called(file), name, asked.get("format"))
    return other, name
