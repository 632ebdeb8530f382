"""The passes with Triton of a search for a temperature are those of plain torch; without a GPU in its interpreter."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from believable.errors import InputError
from believable.torch import TemperatureScaling
from believable.torch.counting.rows import rows_of
from believable.torch.maps import temperature, temperature_search
from believable.torch.maps.logits import pieces_of
from believable.torch.maps.temperature_search import SeenLogits, least_cost, shortfall, slopes
from tests.needs import need

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the interpreter, about NaN and infinity

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def data(n, n_classes, dtype=torch.float64):
    random = np.random.default_rng(0)
    z = 2 * random.normal(size=(n, n_classes))
    y = (z + random.gumbel(size=z.shape)).argmax(axis=1)
    return torch.tensor(2 * z).to(DEVICE, dtype), torch.tensor(y).to(DEVICE)


def seen(z, y, w=None):
    rows = rows_of(z, y, w, from_logits=True, ignore_index=-1)
    return SeenLogits.of(pieces_of(rows, DEVICE, whole=True), DEVICE)


@pytest.fixture
def passes(monkeypatch):
    """A function that chooses plain torch, or Triton."""
    need("triton")
    from believable.torch.maps import triton_temperature

    def choose(compiled):
        for module in (temperature_search, temperature):
            monkeypatch.setattr(module, "compiled_passes", lambda _: triton_temperature if compiled else None)

    return choose


@pytest.fixture
def both(passes):
    """What plain torch and Triton give."""

    def compute_twice(compute):
        results = []
        for compiled in (False, True):
            passes(compiled)
            results.append(compute())
        return results

    return compute_twice


@pytest.mark.parametrize(("n", "n_classes"), [(1, 2), (50, 3), (700, 10), (9, 1000), (3, 2500)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rough", [False, True])
def test_slopes(both, n, n_classes, dtype, rough):
    """Three derivatives of the cost, for few classes and many, in float64 and float32."""
    z, y = data(n if DEVICE.type == "cuda" else min(n, 250), n_classes, dtype)  # the interpreter is slow
    for b in (1e-3, 0.7, 30.0, 1e4) if DEVICE.type == "cuda" else (0.7, 1e4):
        plain, compiled = both(lambda b=b: slopes(seen(z, y), b, rough))
        size = max(1e-3, *map(abs, plain))
        tolerance = {"rtol": 1e-4, "atol": 1e-5 * size} if rough else {"rtol": 1e-11, "atol": 1e-12 * size}
        np.testing.assert_allclose(compiled, plain, **tolerance)


@pytest.mark.parametrize("weighted", [False, True])
def test_pixels_weights_and_rows_left_out(both, weighted):
    """Any layout; rows of weight zero or ignored may hold NaN."""
    z, y = data(240, 5)
    w = (torch.arange(240, device=DEVICE) % 3).double() if weighted else None
    z[:10], y[:10] = torch.nan, -1
    image, labels = z.reshape(4, 6, 10, 5).movedim(3, 1), y.reshape(4, 6, 10)
    w = None if w is None else w.reshape(4, 6, 10)
    plain, compiled = both(lambda: slopes(seen(image, labels, w), 0.7))
    np.testing.assert_allclose(compiled, plain, rtol=1e-12)


def test_all_right(both):
    """What labels that are all right cost above the infimum, with ties."""
    z, _ = data(200, 4)
    z = z.round()
    for b in (1e-3, 1.0, 20.0):
        plain, compiled = both(lambda b=b: shortfall(seen(z, z.argmax(dim=1)), b))
        np.testing.assert_allclose(compiled, plain, rtol=1e-11)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_same_temperature(both, dtype):
    """T is the same, with a sample and without, and at the limits."""
    for n, n_classes in [(300, 4)] + [(9000, 20)] * (DEVICE.type == "cuda"):  # the interpreter is slow
        z, y = data(n, n_classes, dtype)
        for labels in (y, z.argmax(dim=1), z.argmin(dim=1)):
            plain, compiled = both(lambda z=z, labels=labels: least_cost(seen(z, labels).pieces, DEVICE))
            assert compiled.limit == plain.limit
            assert compiled.temperature == pytest.approx(plain.temperature, rel=1e-9)


def test_a_module_is_fitted_so(both):
    """`TemperatureScaling.fit` uses the passes, on the logits as they are."""
    z, y = data(60, 3)
    plain, compiled = both(lambda: TemperatureScaling().fit(z, y))
    assert compiled == pytest.approx(plain, rel=1e-9)


def test_numbers_that_are_none(passes):
    """NaN and infinities are found."""
    passes(True)
    for wrong in (torch.nan, torch.inf, -torch.inf):
        z, y = data(50, 3)
        z[17, 1] = wrong
        with pytest.raises(InputError, match="must be finite"):
            seen(z, y)
