"""Make the small data set that ships with the package: `python scripts/make_demo_data.py [OUT]`.

Is a handwritten digit odd? Held-out predictions, by 5-fold cross-validation, of two models on the digits that are
bundled with scikit-learn: naive Bayes, which multiplies evidence as if pixels were independent and so is too sure of
itself, and logistic regression, which is not.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parent / "src" / "believable" / "data" / "odd_digits.csv"


def demo_csv() -> str:
    """The file's text: label, and the probability of "odd" by both models, to fifteen digits."""
    pixels, digit = load_digits(return_X_y=True)
    odd = digit % 2
    models = {
        "naive_bayes": GaussianNB(var_smoothing=0.1),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(C=0.3, solver="newton-cholesky", tol=1e-10)),
    }
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = [
        cross_val_predict(model, pixels, odd, cv=folds, method="predict_proba")[:, 1] for model in models.values()
    ]
    lines = [",".join(["odd", *models])]
    lines += [",".join([str(y), *(f"{p:.15g}" for p in row)]) for y, *row in zip(odd, *scores, strict=True)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else SHIPPED).write_text(demo_csv())
