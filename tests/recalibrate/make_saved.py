"""Write a saved recalibrator of every kind, and what it gives: `python -m tests.recalibrate.make_saved`.

The files are of the version that the package writes, and go into a folder of that version. Files that are there already
stay as they are: what was once written must be read for ever, so only what is missing is added.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np

from believable.recalibrate import (
    RECALIBRATORS,
    AveragedCalibration,
    BetaCalibration,
    HistogramBinning,
    IsotonicCalibration,
    MatrixScaling,
    OneVsRest,
    PlattScaling,
    PriorShift,
    StructuredScaling,
    TemperatureScaling,
    VennAbers,
)
from believable.recalibrate.saved import MAP_VERSION

SAVED = Path(__file__).parent / "saved"
OUTPUTS = "outputs.json"


def models():
    """Name, fitted model, scores to try it with."""
    rng = np.random.default_rng(0)
    one = rng.integers(1, 20, 80) / 20  # twentieths: few distinct scores make small maps
    y = (rng.random(80) < one**2).astype(int)
    four = rng.multinomial(20, [0.4, 0.3, 0.2, 0.1], 120) / 20
    labels = (four.cumsum(axis=1) < rng.random((120, 1))).sum(axis=1)

    x = np.array([0, 1e-13, 1e-9, 0.05, 0.1, 0.33, 0.35, 0.5, 0.72, 0.95, 1 - 1e-13, 1])
    rows = np.array(
        [[0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25], [0.4, 0.3, 0.2, 0.1], [0.7, 0, 0.3, 0], [0.05, 0.9, 0, 0.05]]
    )
    z, logits = 8 * x - 4, 10 * rows - 2
    for cls in RECALIBRATORS.values():
        yield f"{cls.facts.alias}_2", cls().fit(one, y), x
        yield f"{cls.facts.alias}_4", cls().fit(four, labels), rows

    # Structured scaling once had neither temperature nor mixing: the files of its alias are of that time.
    yield "structured_mixed_2", StructuredScaling().fit(one, y), x
    yield "structured_mixed_4", StructuredScaling(input="logits").fit(10 * four - 2, labels), logits

    columns = np.column_stack([1 - one, one])
    names = np.array(["no", "yes"])
    seen = labels != 2
    happened = np.column_stack([labels < 2, labels == 3])
    yield "platt_columns_2", PlattScaling().fit(columns, y), np.column_stack([1 - x, x])
    yield "temperature_columns_2", TemperatureScaling(input="logits").fit(8 * columns, y), np.column_stack([-z, z])
    yield "platt_scores_2", PlattScaling(input="scores").fit(8 * one - 4, y), z
    yield "beta_logits_2", BetaCalibration(input="logits").fit(8 * one - 4, y), z
    yield "beta_logits_4", BetaCalibration(input="logits").fit(10 * four - 2, labels), logits
    yield "matrix_logits_4", MatrixScaling(input="logits").fit(10 * four - 2, labels), logits
    yield "platt_names_2", PlattScaling(targets="smoothed").fit(one, names[y]), x
    yield "platt_unseen_4", PlattScaling().fit(four[seen], labels[seen]), rows
    yield "isotonic_steps_2", IsotonicCalibration(between="steps").fit(one, y), x
    yield "isotonic_centred_2", IsotonicCalibration(centred=True).fit(one, y), x
    yield "histogram_empty_2", HistogramBinning(strategy="uniform", n_bins=30).fit(one, y), x
    yield "prior_shift_target_4", PriorShift(target=[0.7, 0.3, 0, 0]).fit(four, labels), rows
    yield "venn_abers_pairs_4", VennAbers(multi_class="ovo").fit(four[seen], labels[seen]), rows
    yield "one_vs_rest_venn_abers_4", OneVsRest(VennAbers(), normalise=False).fit(four, labels), rows
    both = AveragedCalibration(methods=["platt", "venn_abers"], weights=[0.5, 0.25], multilabel=True)
    yield "average_labels_2", both.fit(four[:, [0, 3]], happened), rows[:, :2]
    yield "average_scores_2", AveragedCalibration(input="scores").fit(8 * one - 4, y), z
    yield "one_vs_rest_labels_2", OneVsRest(multilabel=True).fit(four[:, [0, 3]], happened), rows[:, :2]


def main():
    folder = SAVED / f"v{MAP_VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / OUTPUTS
    outputs = json.loads(place.read_text()) if place.exists() else {}
    warnings.simplefilter("ignore")  # so few rows are warned about
    for name, model, scores in models():
        if name not in outputs:
            model.to_json(folder / f"{name}.json")
            outputs[name] = {"scores": scores.tolist(), "gives": model.transform(scores).tolist()}
    lines = (f"{json.dumps(name)}: {json.dumps(outputs[name])}" for name in sorted(outputs))
    place.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
