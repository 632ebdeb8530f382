"""What training does to calibration: a small network on real digits, trained in each way that `believable.torch` has.

    python -m benchmarks.training [--quick] [--markdown]

scikit-learn's 1,797 digits with noise on every pixel, a third each to train, to fit temperatures on, and to test. The
network learns its few training rows by heart, as large networks do with large data, so it has something to be too sure
of. The strength of every method is a usual one, or 2 for a loss that is added, chosen beforehand and not tuned.

Each method trains ten networks that differ in their seed alone. Their predictions of the test rows are pooled: what is
measured is a network of a seed drawn at random. The intervals draw test rows, with all ten predictions of each
(`clusters=`), so they tell what the choice of 599 test rows leaves open, not that of the training rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

import believable
from believable import torch as room
from benchmarks.table import Table

NOISE = 0.35  # standard deviation added to pixels in [0, 1]
SEEDS, EPOCHS, MEMBERS, PASSES = 10, 100, 5, 30
WIDTH, DROPOUT, BATCH, RATE = 128, 0.2, 64, 3e-3
AUXILIARY = 2.0  # weight of a loss that is added to the cross entropy
OPTIONS: dict[str, dict[str, Any]] = {"accuracy": {}, "nll": {}, "ece": {"n_bins": 15, "notion": "confidence"}}

Criterion = Callable[[Tensor, Tensor], Tensor]
CROSS_ENTROPY = nn.CrossEntropyLoss()


@dataclass(frozen=True)
class Rows:
    """Inputs and labels."""

    x: Tensor
    y: Tensor


@dataclass(frozen=True)
class Method:
    """How a network is trained (`alpha`: of mixup), and how several or one are asked."""

    name: str
    criterion: Criterion = CROSS_ENTROPY
    alpha: float = 0.0
    asked: str = "once"  # or "under dropout", "together"
    scaled: bool = False


def with_cross_entropy(loss: Criterion) -> Criterion:
    """The sum of both."""
    return lambda logits, labels: CROSS_ENTROPY(logits, labels) + AUXILIARY * loss(logits, labels)


PLAIN = Method("cross entropy")
METHODS = [
    PLAIN,
    Method("label smoothing 0.05", room.LabelSmoothingLoss(smoothing=0.05)),
    Method("label smoothing 0.1", room.LabelSmoothingLoss(smoothing=0.1)),
    Method("mixup, alpha 0.2", alpha=0.2),
    Method("focal, gamma 2", room.FocalLoss(gamma=2.0)),
    Method("focal, FLSD-53", room.FocalLoss(gamma="flsd53")),
    Method("confidence penalty 0.1", room.ConfidencePenalty(beta=0.1)),
    Method("cross entropy + 2 MMCE", with_cross_entropy(room.MMCELoss())),
    Method("cross entropy + 2 SoftECE", with_cross_entropy(room.SoftECE())),
    Method("cross entropy + 2 KCE", with_cross_entropy(room.KCELoss())),
    Method("cross entropy, then temperature", scaled=True),
    Method("cross entropy, MC dropout (30 passes)", asked="under dropout"),
    Method("cross entropy, ensemble of 5", asked="together"),
]


def digits() -> tuple[Rows, Rows, Rows]:
    """Training, validation and test rows, always the same."""
    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    images = images / 16 + rng.normal(0, NOISE, images.shape)
    x, y = torch.tensor(images, dtype=torch.float32), torch.tensor(labels)
    train, validation, test = (torch.tensor(part) for part in np.split(rng.permutation(len(y)), 3))
    return Rows(x[train], y[train]), Rows(x[validation], y[validation]), Rows(x[test], y[test])


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Layers and dropout draw from torch's own generator: it starts at the seed, and is as it was afterwards."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield


def trained(method: Method, rows: Rows, seed: int, epochs: int) -> nn.Module:
    """A network of two hidden layers, in float64 once it is trained, so that no probability is rounded to 0."""
    mixed_loss = room.MixupLoss(method.criterion)
    with seeded(seed):
        network = nn.Sequential(
            *(nn.Linear(rows.x.shape[1], WIDTH), nn.ReLU(), nn.Dropout(DROPOUT)),
            *(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(WIDTH, 10)),
        )
        optimizer = torch.optim.Adam(network.parameters(), lr=RATE, fused=True)
        for _ in range(epochs):
            for chosen in torch.randperm(len(rows.y)).split(BATCH):
                batch = room.mixup(rows.x[chosen], rows.y[chosen], method.alpha)
                optimizer.zero_grad()
                mixed_loss(network(batch.x), batch.y_a, batch.y_b, batch.lam).backward()
                optimizer.step()
    return network.double()


def log_probabilities(method: Method, networks: Sequence[nn.Module], x: Tensor, seed: int) -> Tensor:
    """What a method says about rows: log p is a logit, so that a temperature can be fitted to it."""
    x = x.double()
    if method.asked == "together":
        return room.ensemble_predict(networks, x).log()
    if method.asked == "under dropout":
        generator = torch.Generator().manual_seed(seed)
        return room.mc_dropout_predict(networks[0], x, PASSES, generator=generator).log()
    return room.ensemble_predict(networks[:1], x).log()


@dataclass(frozen=True)
class Outcome:
    """Test predictions of a method, one block of rows for each seed: as they are, and with a temperature."""

    method: Method
    p: list[np.ndarray[Any, Any]]
    scaled: list[np.ndarray[Any, Any]]
    temperatures: list[float]
    training_accuracy: float


def outcome(method: Method, parts: tuple[Rows, Rows, Rows], seeds: int, epochs: int, kept: dict[Any, Any]) -> Outcome:
    """Train, or take the networks of the same training that are there already, and predict."""
    train, validation, test = parts

    def network(seed: int) -> nn.Module:
        key = (id(method.criterion), method.alpha, seed)
        if key not in kept:
            kept[key] = trained(method, train, seed, epochs)
        return kept[key]

    p, scaled, temperatures, right = [], [], [], []
    for seed in range(0, seeds * MEMBERS, MEMBERS):
        networks = [network(seed + i) for i in range(MEMBERS if method.asked == "together" else 1)]
        scaling = room.TemperatureScaling()
        temperatures.append(scaling.fit(log_probabilities(method, networks, validation.x, seed), validation.y))
        logits = log_probabilities(method, networks, test.x, seed)
        with torch.no_grad():
            scaled.append(scaling(logits).softmax(dim=1).numpy())
        p.append(scaled[-1] if method.scaled else logits.exp().numpy())
        own = log_probabilities(method, networks, train.x, seed).argmax(dim=1)
        right.append((own == train.y).double().mean().item())
    return Outcome(method, p, scaled, temperatures, float(np.mean(right)))


def repeated(labels: np.ndarray[Any, Any], times: int) -> tuple[Any, Any]:
    """Labels and numbers of the test rows, for predictions of several seeds one after the other."""
    return np.tile(labels, times), np.tile(np.arange(len(labels)), times)


def row(found: Outcome, labels: np.ndarray[Any, Any]) -> tuple[str, ...]:
    """The cells of the table."""
    pooled, (y, rows) = np.concatenate(found.p), repeated(labels, len(found.p))

    def interval(metric: str, p: Any) -> Any:
        return believable.interval(metric, p, y, options=OPTIONS[metric], clusters=rows, random_state=0)

    accuracy, ece = interval("accuracy", pooled), interval("ece", pooled)
    alone = [believable.expected_calibration_error(p, labels, **OPTIONS["ece"]) for p in found.p]
    after = interval("ece", np.concatenate(found.scaled))
    return (
        found.method.name,
        f"{accuracy.value:.3f} ({accuracy.low:.3f} … {accuracy.high:.3f})",
        f"{ece.value:.3f} ({ece.low:.3f} … {ece.high:.3f})",
        f"{pooled.max(axis=1).mean() - accuracy.value:+.3f}",
        f"{min(alone):.3f} … {max(alone):.3f}",
        f"{believable.negative_log_likelihood(pooled, y):.3f}",
        f"{believable.brier_score(pooled, y):.3f}",
        f"{np.mean(found.temperatures):.2f}",
        f"{after.value:.3f} ({after.low:.3f} … {after.high:.3f})",
    )


def told_apart(metric: str, found: Sequence[Outcome], labels: np.ndarray[Any, Any]) -> str:
    """Which methods differ from the first, row by row, by more than the choice of test rows explains."""
    first, *others = found
    y, rows = repeated(labels, len(first.p))
    listed = []
    for other in others:
        pair = np.concatenate(other.p), np.concatenate(first.p)
        one = believable.compare(*pair, y, metric, options=OPTIONS[metric], clusters=rows, random_state=0)
        if one.low > 0 or one.high < 0:
            listed.append(f"{other.method.name} {one.difference:+.3f} ({one.low:+.3f} … {one.high:+.3f})")
    return f"{metric} told apart from {first.method.name}, in pairs: {', '.join(listed) or 'none'}."


def table(methods: Sequence[Method] = METHODS, seeds: int = SEEDS, epochs: int = EPOCHS) -> Table:
    """Every method, trained and measured."""
    start = time.perf_counter()
    parts = digits()
    kept: dict[Any, Any] = {}
    found = [outcome(method, parts, seeds, epochs, kept) for method in methods]
    rows = [row(one, parts[2].y.numpy()) for one in found]
    head = ("trained with", "accuracy", "ECE", "conf. − acc.", "ECE by seed", "log loss", "Brier", "T", "ECE with T")
    notes = [
        f"{seeds} seeds, {epochs} epochs, {len(parts[0].y)} training, {len(parts[1].y)} validation and "
        f"{len(parts[2].y)} test rows; 95 % intervals, by test row; ECE of the confidence in 15 bins of equal width.",
        f"Accuracy on the training rows: at least {min(one.training_accuracy for one in found):.3f}.",
        *(told_apart(metric, found, parts[2].y.numpy()) for metric in OPTIONS),
        f"{time.perf_counter() - start:.0f} s, torch {torch.__version__}, {torch.get_num_threads()} thread(s).",
    ]
    return Table("Ways to train, and what they do to calibration", head, rows, notes)


if __name__ == "__main__":
    torch.set_num_threads(1)  # of so small a network, threads only wait for each other
    made = table(seeds=2, epochs=20) if "--quick" in sys.argv else table()
    print(made.markdown() if "--markdown" in sys.argv else made.plain())
