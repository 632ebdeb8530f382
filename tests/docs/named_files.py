"""The files that the commands of the README name, made of the demo's models, so that they can be run."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import polars as pl

from believable.readers import load_demo

ROWS = 300  # enough for a verdict, and quick


def write_named_files(folder: Path) -> None:
    """Write every one of them into a folder."""
    models = load_demo()
    scores, outcomes = models["naive_bayes"].scores[:ROWS], models["naive_bayes"].labels[:ROWS].astype(int)
    better = models["logistic"].scores[:ROWS]
    plain = pl.DataFrame({"p": better, "y": outcomes})
    for name in ("predictions.csv", "new.csv", "calibration.csv"):
        plain.write_csv(folder / name)
    over_confident = pl.DataFrame({"p": scores, "y": outcomes})
    over_confident.write_csv(folder / "old.csv")
    over_confident.with_columns(patient_id=np.arange(ROWS) // 2).write_csv(folder / "visits.csv")
    columns = {"score": better, "clicked": outcomes, "w": np.linspace(0.5, 1.5, ROWS)}
    columns["region"] = np.where(np.arange(ROWS) % 3 == 0, "north", "south")
    pl.DataFrame(columns).write_parquet(folder / "predictions.parquet")
    words = np.where(outcomes == 1, "yes", "no")
    pl.DataFrame({"p": better, "correct": words}).write_csv(folder / "answers.tsv", separator="\t")
    logit = np.log(better / (1 - better))
    pl.DataFrame({"logit": logit, "y": outcomes}).write_csv(folder / "logits.csv")
    pets = np.where(outcomes == 1, "dog", "cat")
    pl.DataFrame({"q_cat": 1 - better, "q_dog": better, "label": pets}).write_csv(folder / "multiclass.csv")
    (folder / "clicks").mkdir()
    for month, half in enumerate((plain[: ROWS // 2], plain[ROWS // 2 :]), start=1):
        half.write_parquet(folder / "clicks" / f"2026-{month:02}.parquet")
    _write_run(folder, logit, outcomes)
    _write_samples(folder, better, outcomes)
    _write_eval_log(folder, better, outcomes)


def _write_run(folder: Path, logit, outcomes) -> None:
    ranking, judgements = [], []
    for row, (score, happened) in enumerate(zip(logit, outcomes, strict=True)):
        query, rank = divmod(row, 10)
        ranking.append(f"q{query} Q0 d{row} {rank + 1} {score:.6f} model\n")
        judgements.append(f"q{query} 0 d{row} {happened}\n")
    (folder / "run.trec").write_text("".join(ranking))
    (folder / "qrels.txt").write_text("".join(judgements))


def _write_samples(folder: Path, better, outcomes) -> None:
    """A log as lm-evaluation-harness writes it: two choices for each question."""
    lines = []
    for row, (p, happened) in enumerate(zip(better, outcomes, strict=True)):
        choices = {"text": ["no", "yes"], "label": ["A", "B"]}
        lls = [[f"{np.log(1 - p):.4f}", "False"], [f"{np.log(p):.4f}", "False"]]
        lines.append(
            {
                "doc_id": row,
                "doc": {"question": f"Number {row}?", "choices": choices, "answerKey": choices["label"][happened]},
                "target": str(happened),
                "arguments": [["Q:", " no"], ["Q:", " yes"]],
                "resps": [[ll] for ll in lls],
                "filtered_resps": lls,
                "filter": "none",
                "acc": float((p > 0.5) == happened),
            }
        )
    (folder / "samples_arc_easy.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _write_eval_log(folder: Path, better, outcomes) -> None:
    """A log as Inspect AI writes it, with a stated confidence for each answer."""
    with zipfile.ZipFile(folder / "run.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        for row, (p, happened) in enumerate(zip(better, outcomes, strict=True)):
            score = {"value": "CI"[1 - happened], "answer": "yes", "metadata": {"confidence": round(p, 2)}}
            sample = {"id": row, "epoch": 1, "input": "?", "target": "yes", "scores": {"match": score}}
            archive.writestr(f"samples/{row}_epoch_1.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {}}))
