"""What `benchmarks.tensors` measures: calls on tensors as a user types them, each beside the same call elsewhere.

A `Case` makes its tensors and yields its calls one by one, so that only one case is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

import believable
from believable import View
from believable.torch import (
    CalibrationMeter,
    TemperatureScaling,
    bin_stats,
    squared_kernel_calibration_error,
    summarize,
    token_calibration,
)
from benchmarks.turns import Side

try:
    import torchmetrics
    from torchmetrics.functional.classification import calibration_error
except ImportError:  # its column stays empty then
    torchmetrics = None

BINS = 15
AGREE = 1e-4  # how far two expected calibration errors may be apart without a note
ALL_NOTIONS = ("confidence", "classwise", "top_label")


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many rows each case has; the columns are the same everywhere."""

    scores: int
    ten: int  # rows of 10 logits
    thousand: int  # rows of 1000 logits
    doubles: int  # float64 scores
    few_ten: int  # rows of 10 logits in unusual types, weighted, or with unusual notions
    few_thousand: int
    words: int  # rows of 32,000 logits
    tokens: int  # rows of 128,256 logits, for the meter
    language: int  # and for `token_calibration`
    fit: int  # rows of 1000 logits for a temperature
    pairs: int  # rows of a sum over pairs
    batches: tuple[int, ...] = (32, 256, 4096, 65_536)
    epoch: int = 100

    def shrunk(self, by: int) -> Sizes:
        """Fewer rows and batches."""
        rows = {name: max(2, getattr(self, name) // by) for name in self.__slots__ if name not in ("batches", "epoch")}
        batches = tuple(n for n in self.batches if n <= self.batches[-1] // by) or self.batches[:1]
        return replace(self, **rows, batches=batches, epoch=max(2, self.epoch // by))


SIZES = {
    "cuda": Sizes(10**8, 10**7, 10**6, 10**7, 10**6, 10**5, 4096, 2048, 8192, 10**6, 10**5),
    "cpu": Sizes(10**7, 10**6, 10**5, 10**6, 10**5, 10**4, 128, 64, 64, 4000, 10**4),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A device and the sizes for it; random tensors there."""

    device: str
    sizes: Sizes

    def uniform(self, *shape: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return numbers between 0 and 1."""
        return torch.rand(*shape, device=self.device, dtype=dtype, generator=self._generator(seed))

    def scores(self, n: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
        """Return probabilities that are too large, and outcomes of one byte."""
        p = self.uniform(n, seed=0, dtype=dtype)
        return p, (self.uniform(n, seed=1) < p**1.3).to(torch.uint8)

    def classes(self, n: int, k: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
        """Return logits, and labels of eight bytes of which the largest logit names six in ten."""
        logits = torch.randn(n, k, device=self.device, dtype=dtype, generator=self._generator(0)).mul_(3)
        labels = torch.randint(k, (n,), device=self.device, generator=self._generator(1))
        return logits, torch.where(self.uniform(n, seed=2) < 0.6, logits.argmax(dim=1), labels)

    def overconfident(self, n: int, k: int) -> tuple[Tensor, Tensor]:
        """Return logits that are twice those of their labels."""
        logits = torch.randn(n, k, device=self.device, generator=self._generator(0)).mul_(3)
        gumbel = torch.empty_like(logits).exponential_(generator=self._generator(1)).log_().neg_()
        return logits, gumbel.add_(logits, alpha=0.5).argmax(dim=1)

    def _generator(self, seed: int) -> torch.Generator:
        return torch.Generator(self.device).manual_seed(seed)


# --- calls ------------------------------------------------------------------------------------------------------------


def agreement(ours: Any, theirs: Any) -> str:
    """Both expected calibration errors, where they differ."""
    if ours is None or theirs is None or abs(float(ours) - float(theirs)) <= AGREE:
        return ""
    return f"ECE {float(ours):.5f}, theirs {float(theirs):.5f}"


@dataclass(frozen=True, slots=True)
class Call:
    """What is typed, the same elsewhere, the tensors that have to be read, and what to note about the two results."""

    title: str
    ours: Side
    peer: Side | None = None
    reads: tuple[Tensor, ...] = ()
    note: Callable[[Any, Any], str] = agreement


@dataclass(frozen=True, slots=True)
class Case:
    """Calls on the same tensors, under a name to ask for them by."""

    name: str
    title: Callable[[Sizes], str]
    calls: Callable[[Place], Iterator[Call]]
    peer: str = "torchmetrics"
    unit: str = "ms"


def ece(counted: Any) -> float:
    """Read the expected calibration error from a statistic."""
    return believable.expected_calibration_error(counted, n_bins=BINS)


def meter_ece(meter: CalibrationMeter) -> float:
    """Read it from a meter."""
    return meter.compute(["ece"], n_bins=BINS)["ece"]


def metered(
    meter: CalibrationMeter, given: tuple[Tensor, ...], read: Callable[[CalibrationMeter], Any] = meter_ece
) -> Side:
    """Forget, count, and read."""

    def run() -> Any:
        meter.reset()
        meter.update(*given)
        return read(meter)

    return Side(run)


def torchmetrics_call(scores: Tensor, labels: Tensor) -> Side | None:
    """Its function, with its checks."""
    if torchmetrics is None:
        return None
    choices = task_of(scores)
    return Side(lambda: calibration_error(scores, labels, n_bins=BINS, **choices))


def torchmetrics_metric(scores: Tensor) -> Any:
    """Its class, with its checks, on the device of the scores."""
    return torchmetrics and torchmetrics.CalibrationError(n_bins=BINS, **task_of(scores)).to(scores.device)


def torchmetrics_metered(scores: Tensor, labels: Tensor) -> Side | None:
    """Forget, count, and read with its class."""
    metric = torchmetrics_metric(scores)
    return metric and counted_by_metric(metric, scores, labels)


def counted_by_metric(metric: Any, scores: Tensor, labels: Tensor) -> Side:
    """Forget, count, and read with a `torchmetrics.Metric`."""

    def run() -> Any:
        metric.reset()
        metric.update(scores, labels)
        return metric.compute()

    return Side(run)


def task_of(scores: Tensor) -> dict[str, Any]:
    """Return what torchmetrics has to be told about scores."""
    if scores.ndim == 1:
        return {"task": "binary"}
    return {"task": "multiclass", "num_classes": scores.shape[1]}


def meter_for(scores: Tensor, **choices: Any) -> CalibrationMeter:
    """Return a meter of one event or of classes, on the device of the scores."""
    settings = {} if scores.ndim == 1 else {"n_classes": scores.shape[1], "from_logits": True}
    return CalibrationMeter(**settings, **choices).to(scores.device)


def fifteen_bins(scores: Tensor) -> CalibrationMeter:
    """Return a meter that counts 15 bins alone."""
    return meter_for(scores, cells=BINS, spacing="uniform")


# --- cases ------------------------------------------------------------------------------------------------------------


def one_event(place: Place) -> Iterator[Call]:
    """Every way to the ECE of one event, and to more."""
    p, y = given = place.scores(place.sizes.scores)
    their_call, their_meter = torchmetrics_call(p, y), torchmetrics_metered(p, y)
    yield Call("`bin_stats(p, y, 15)`, ECE", Side(lambda: ece(bin_stats(p, y, BINS))), their_call, given)
    if torchmetrics is not None:
        ours = believable.torch.CalibrationError("ece", n_bins=BINS).to(p.device)
        yield Call('`CalibrationError("ece")`', counted_by_metric(ours, p, y), their_meter, given)
    yield Call("15 bins, ECE", metered(fifteen_bins(p), given), their_meter, given)
    yield from default_meter(given, their_meter)
    yield Call("`summarize`, ECE", Side(lambda: ece(summarize(p, y))), their_call, given)


def default_meter(given: tuple[Tensor, Tensor], peer: Side | None) -> Iterator[Call]:
    """A meter as it is made without choices: the ECE, all metrics, and the summary."""
    meter = meter_for(given[0])
    yield Call("default meter, ECE", metered(meter, given), peer, given)
    yield Call("default meter, all metrics", metered(meter, given, lambda one: one.compute()), None, given)
    yield Call("default meter, `summary`", metered(meter, given, lambda one: one.summary), None, given)


def classes(rows: str, k: int) -> Callable[[Place], Iterator[Call]]:
    """Meters and `bin_stats` of logits."""

    def calls(place: Place) -> Iterator[Call]:
        z, y = given = place.classes(getattr(place.sizes, rows), k)
        peer = torchmetrics_metered(z, y)
        binned = Side(lambda: ece(bin_stats(z, y, BINS, from_logits=True)))
        yield Call("`bin_stats(z, y, 15)`, ECE", binned, torchmetrics_call(z, y), given)
        yield Call("15 bins, ECE", metered(fifteen_bins(z), given), peer, given)
        yield from default_meter(given, peer)
        yield Call("three notions, ECE", metered(meter_for(z, notions=ALL_NOTIONS), given), peer, given)

    return calls


def doubles(place: Place) -> Iterator[Call]:
    """Scores in float64."""
    p, y = given = place.scores(place.sizes.doubles, torch.float64)
    peer = torchmetrics_call(p, y)
    yield Call("`bin_stats(p, y, 15)`, ECE", Side(lambda: ece(bin_stats(p, y, BINS))), peer, given)
    yield Call("`summarize`, ECE", Side(lambda: ece(summarize(p, y))), peer, given)


def weights(place: Place) -> Iterator[Call]:
    """Weighted rows of one event."""
    p, y = place.scores(place.sizes.scores)
    w = place.uniform(len(p), seed=3).add_(0.5)
    reads = (p, y, w)
    yield Call("`bin_stats`, ECE", Side(lambda: ece(bin_stats(p, y, BINS, sample_weight=w))), None, reads)
    yield Call("`summarize`, ECE", Side(lambda: ece(summarize(p, y, sample_weight=w))), None, reads)


def variants(rows: str, k: int) -> Callable[[Place], Iterator[Call]]:
    """Meters of classes in other types, with weights, and of other notions."""

    def calls(place: Place) -> Iterator[Call]:
        z, y = place.classes(getattr(place.sizes, rows), k)
        w = place.uniform(len(z), seed=3).add_(0.5)
        yield Call("weights", metered(meter_for(z), (z, y, w)), None, (z, y, w))
        for dtype in (torch.float64, torch.bfloat16):
            other = z.to(dtype)
            title = str(dtype).removeprefix("torch.")
            yield Call(title, metered(meter_for(other), (other, y)), torchmetrics_metered(other, y), (other, y))
        for view in (View("top_r", k, r=2), View("rth", k, r=2), View("within_top_r", k, r=2)):
            ours = metered(meter_for(z, notions=("confidence", view)), (z, y))
            yield Call(f'confidence and `View("{view.notion}", {k}, r=2)`', ours, None, (z, y))

    return calls


def many_classes(place: Place) -> Iterator[Call]:
    """A meter of the logits of language models."""
    for rows, k in ((place.sizes.words, 32_000), (place.sizes.tokens, 128_256)):
        z, y = given = place.classes(rows, k, torch.bfloat16)
        yield Call(f"{rows:,} x {k:,}", metered(meter_for(z), given), torchmetrics_metered(z, y), given)
        del z, y, given


def language(place: Place) -> Iterator[Call]:
    """`token_calibration`, with the ranks below the first too."""
    z, y = given = place.classes(place.sizes.language, 128_256, torch.bfloat16)
    yield Call("`token_calibration`", Side(lambda: token_calibration(z, y).ece), torchmetrics_call(z, y), given)
    yield Call("`token_calibration`, `top_r=5`", Side(lambda: token_calibration(z, y, top_r=5).ece), None, given)


def temperature(place: Place) -> Iterator[Call]:
    """`TemperatureScaling.fit`, beside the recipe that is copied most."""
    z, y = given = place.overconfident(place.sizes.fit, 1000)
    scaling = TemperatureScaling().to(z.device)
    yield Call(
        "`TemperatureScaling().fit`",
        Side(lambda: scaling.fit(z, y)),
        Side(lambda: copied_recipe(z, y)),
        given,
        note=lambda ours, theirs: f"T {ours:.6f}" + ("" if theirs is None else f", theirs {theirs:.6f}"),
    )


def copied_recipe(logits: Tensor, labels: Tensor) -> float:
    """Fit a temperature by 50 steps of LBFGS with a learning rate of 0.01."""
    temperature = nn.Parameter(torch.ones(1, device=logits.device) * 1.5)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.LBFGS([temperature], lr=0.01, max_iter=50)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = criterion(logits / temperature, labels)
        loss.backward()
        return loss

    optimizer.step(closure)
    return temperature.item()


def kernel_error(place: Place) -> Iterator[Call]:
    """A sum over all pairs of rows."""
    p = torch.softmax(place.classes(place.sizes.pairs, 10, torch.float64)[0] / 3, dim=1)
    y = (p.cumsum(dim=1) < place.uniform(len(p), 1, seed=3)).sum(dim=1).clamp_(max=9)
    yield Call("`squared_kernel_calibration_error`", Side(lambda: squared_kernel_calibration_error(p, y)), None, (p, y))


def updates(place: Place) -> Iterator[Call]:
    """One update, and one reading after it, for batches of every usual size."""
    for rows in place.sizes.batches:
        for k in (1, 2, 10, 1000, 128_256):
            if k > 1000 and rows > 256:
                continue
            given = place.scores(rows) if k == 1 else place.classes(rows, k)
            name = f"{rows:,} scores" if k == 1 else f"{rows:,} x {k:,}"
            theirs = torchmetrics_metric(given[0])
            meters = {"15 bins": fifteen_bins(given[0]), "default cells": meter_for(given[0])}
            for cells, meter in meters.items():
                yield Call(f"{name}, {cells}: update", update_of(meter, given), theirs and update_of(theirs, given))
            for cells, meter in meters.items():
                ours = reading_of(meter, given, meter_ece)
                peer = theirs and reading_of(theirs, given, lambda metric: metric.compute())
                yield Call(f"{name}, {cells}: compute", ours, peer)


def update_of(meter: Any, given: tuple[Tensor, ...]) -> Side:
    """One of many updates in a row."""
    return Side(lambda: meter.update(*given), before=meter.reset, looped=True)


def reading_of(meter: Any, given: tuple[Tensor, ...], read: Callable[[Any], Any]) -> Side:
    """One reading right after an update, so that nothing kept from an earlier one is returned."""

    def counted() -> None:
        meter.reset()
        meter.update(*given)

    return Side(lambda: read(meter), before=counted)


def epochs(place: Place) -> Iterator[Call]:
    """All updates of an epoch, and one reading."""
    n = place.sizes.epoch
    for rows, k in ((256, 10), (256, 1000), (65_536, 1)):
        scores, labels = place.scores(n * rows) if k == 1 else place.classes(n * rows, k)
        batches = list(zip(scores.split(rows), labels.split(rows), strict=True))
        metric = torchmetrics_metric(scores)
        peer = metric and epoch_of(metric, batches, lambda metric: metric.compute())
        name = f"{n} x {rows:,} scores" if k == 1 else f"{n} x {rows:,} x {k:,}"
        for cells, meter in (("15 bins", fifteen_bins(scores)), ("default cells", meter_for(scores))):
            yield Call(f"{name}, {cells}", epoch_of(meter, batches, meter_ece), peer)


def epoch_of(meter: Any, batches: list[tuple[Tensor, Tensor]], read: Callable[[Any], Any]) -> Side:
    """Forget, count every batch, and read once."""

    def run() -> Any:
        meter.reset()
        for scores, labels in batches:
            meter.update(scores, labels)
        return read(meter)

    return Side(run)


CASES = (
    Case("event", lambda n: f"One event: {n.scores:,} scores, float32 and one byte", one_event),
    Case("ten", lambda n: f"{n.ten:,} x 10 logits, float32", classes("ten", 10)),
    Case("thousand", lambda n: f"{n.thousand:,} x 1000 logits, float32", classes("thousand", 1000)),
    Case("float64", lambda n: f"One event: {n.doubles:,} scores, float64", doubles),
    Case("weights", lambda n: f"One event: {n.scores:,} weighted scores, float32", weights),
    Case("variants-ten", lambda n: f"Other meters: {n.few_ten:,} x 10 logits", variants("few_ten", 10)),
    Case(
        "variants-thousand",
        lambda n: f"Other meters: {n.few_thousand:,} x 1000 logits",
        variants("few_thousand", 1000),
    ),
    Case("many-classes", lambda n: "Default meter of more than 8,192 classes, bfloat16", many_classes),
    Case("tokens", lambda n: f"Tokens: {n.language:,} x 128,256 logits, bfloat16", language),
    Case("temperature", lambda n: f"Temperature of {n.fit:,} x 1000 logits", temperature, peer="LBFGS recipe"),
    Case("pairs", lambda n: f"Kernel error of {n.pairs:,} x 10 probabilities, float64", kernel_error),
    Case("updates", lambda n: "One batch: an update among many, and a reading after it", updates, unit="µs"),
    Case("epochs", lambda n: f"An epoch: {n.epoch} updates and one reading", epochs),
)
