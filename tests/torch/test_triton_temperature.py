"""The compiled passes of a search for a temperature are those of plain torch."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

triton = pytest.importorskip("triton", reason="triton is not installed")
if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("triton needs a GPU, or TRITON_INTERPRET=1", allow_module_level=True)

from believable.torch.counting.rows import rows_of  # noqa: E402
from believable.torch.maps import logits, temperature, triton_temperature  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the interpreter, about NaN and infinity

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def data(n, n_classes, dtype=torch.float64):
    random = np.random.default_rng(0)
    z = 2 * random.normal(size=(n, n_classes))
    y = (z + random.gumbel(size=z.shape)).argmax(axis=1)
    return torch.tensor(2 * z).to(DEVICE, dtype), torch.tensor(y).to(DEVICE)


def seen(z, y, w=None):
    return logits.Seen.of(logits.pieces_of(rows_of(z, y, w, from_logits=True, ignore_index=-1), DEVICE), DEVICE)


def both(monkeypatch, compute):
    """What plain torch and the compiled passes give."""
    results = []
    for quick in (None, triton_temperature):
        monkeypatch.setattr(logits, "fused", lambda _, quick=quick: quick)
        results.append(compute())
    return results


@pytest.mark.parametrize(("n", "n_classes"), [(1, 2), (50, 3), (700, 10), (9, 1000), (3, 2500)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rough", [False, True])
def test_slopes(monkeypatch, n, n_classes, dtype, rough):
    """Three derivatives of the cost, for few classes and many, in float64 and float32."""
    z, y = data(n, n_classes, dtype)
    for b in (1e-3, 0.7, 30.0, 1e4):
        plain, quick = both(monkeypatch, lambda b=b: temperature.slopes(seen(z, y), b, rough))
        size = max(1e-3, *map(abs, plain))
        np.testing.assert_allclose(quick, plain, rtol=1e-4 if rough else 1e-11, atol=size * (1e-5 if rough else 1e-12))


@pytest.mark.parametrize("weighted", [False, True])
def test_pixels_weights_and_rows_left_out(monkeypatch, weighted):
    """Any layout; rows of weight zero or ignored may hold NaN."""
    z, y = data(240, 5)
    w = (torch.arange(240, device=DEVICE) % 3).double() if weighted else None
    z[:10], y[:10] = torch.nan, -1
    image, labels = z.reshape(4, 6, 10, 5).movedim(3, 1), y.reshape(4, 6, 10)
    w = None if w is None else w.reshape(4, 6, 10)
    plain, quick = both(monkeypatch, lambda: temperature.slopes(seen(image, labels, w), 0.7))
    np.testing.assert_allclose(quick, plain, rtol=1e-12)


def test_all_right(monkeypatch):
    """What labels that are all right cost above the infimum, with ties."""
    z, _ = data(200, 4)
    z = z.round()
    for b in (1e-3, 1.0, 20.0):
        plain, quick = both(monkeypatch, lambda b=b: temperature.shortfall(seen(z, z.argmax(dim=1)), b))
        np.testing.assert_allclose(quick, plain, rtol=1e-11)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_same_temperature(monkeypatch, dtype):
    """T is the same, with a sample and without, and at the limits."""
    for n, n_classes in [(300, 4)] + [(9000, 20)] * (DEVICE.type == "cuda"):  # the interpreter is slow
        z, y = data(n, n_classes, dtype)
        for labels in (y, z.argmax(dim=1), z.argmin(dim=1)):
            plain, quick = both(
                monkeypatch, lambda z=z, labels=labels: temperature.least_cost(seen(z, labels).pieces, DEVICE)
            )
            assert quick.limit == plain.limit
            assert quick.temperature == pytest.approx(plain.temperature, rel=1e-9)


def test_numbers_that_are_none(monkeypatch):
    """NaN and infinities are found."""
    from believable.errors import InputError

    for wrong in (torch.nan, torch.inf, -torch.inf):
        z, y = data(50, 3)
        z[17, 1] = wrong
        monkeypatch.setattr(logits, "fused", lambda _: triton_temperature)
        with pytest.raises(InputError, match="must be finite"):
            seen(z, y)
