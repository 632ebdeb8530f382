"""Temperature scaling in torch against the literal likelihood and the NumPy estimator."""

from __future__ import annotations

import copy
import math
import warnings

import numpy as np
import pytest
import torch

from believable.errors import InputError, LimitWarning
from believable.recalibrate import TemperatureScaling as NumpyTemperatureScaling
from believable.torch import TemperatureScaling
from believable.torch.counting.rows import rows_of
from believable.torch.maps import logits, temperature_search

pytestmark = pytest.mark.filterwarnings("ignore::believable.errors.SmallSampleWarning")


def data(n=300, n_classes=4, scale=2.0, seed=0):
    """Over-confident logits, and labels that follow the right ones."""
    random = np.random.default_rng(seed)
    z = 2 * random.normal(size=(n, n_classes))
    y = (z + random.gumbel(size=z.shape)).argmax(axis=1)
    return torch.tensor(scale * z), torch.tensor(y)


def numpy_temperature(z, y, w=None):
    fitted = NumpyTemperatureScaling(input="logits").fit(z.cpu().numpy(), y.cpu().numpy(), sample_weight=w)
    return fitted.temperature_


def same(z, y, device, w=None, rel=1e-9, **settings):
    """T in torch is that of NumPy, with the same warnings; T is returned."""
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        theirs = numpy_temperature(z, y, None if w is None else w.numpy())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        weights = None if w is None else w.to(device)
        ours = TemperatureScaling().fit(z.to(device), y.to(device), sample_weight=weights, **settings)
    assert ours == pytest.approx(theirs, rel=rel)
    assert [str(one.message) for one in said] == [str(one.message) for one in expected]
    return ours


def literal_loss(t, z, y, w):
    """The mean of -log softmax(z / t)[label], row by row."""
    total = 0.0
    for row, label, weight in zip(z, y, w, strict=True):
        scaled = [value / t for value in row]
        top = max(scaled)
        total += weight * (top + math.log(sum(math.exp(value - top) for value in scaled)) - scaled[label])
    return total / sum(w)


def literal_temperature(z, y, w):
    """A grid over T, then the golden section between the neighbours of the best."""
    grid = [0.1 * 1.3**step for step in range(24)]
    best = min(range(len(grid)), key=lambda i: literal_loss(grid[i], z, y, w))
    low, high = grid[best - 1], grid[best + 1]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(45):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if literal_loss(left, z, y, w) < literal_loss(right, z, y, w):
            high = right
        else:
            low = left
    return (low + high) / 2


# --- the definition ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_minimises_the_literal_loss(device, weighted):
    """T is that of a grid and the golden section, to the half of the digits that a minimum has."""
    z, y = data(60, 3)
    w = torch.arange(60) % 3 + 0.5 if weighted else torch.ones(60)
    expected = literal_temperature(z.tolist(), y.tolist(), w.tolist())
    found = TemperatureScaling().fit(z.to(device), y.to(device), sample_weight=w.to(device))
    assert found == pytest.approx(expected, rel=1e-6)


def test_it_starts_at_one_and_a_half_and_fit_sets_it(device):
    """The parameter is a tensor of one number, 1.5 before and T after fitting; T is a float."""
    z, y = data()
    scaling = TemperatureScaling(device=device)
    assert scaling.temperature.tolist() == [1.5]
    found = scaling.fit(z.to(device), y.to(device), 0.1, 10)
    assert isinstance(found, float)
    assert scaling.temperature.tolist() == [found]
    assert repr(scaling) == f"TemperatureScaling(temperature={found:.6g})"
    torch.testing.assert_close(scaling(z.to(device)), z.to(device) / found)


def test_slopes_are_the_literal_cumulants(device):
    """The derivatives that the search uses are cumulants of b z under softmax(b z), less the label's own."""
    z, y = data(20, 3)
    expected = [0.0, 0.0, 0.0]
    b = 0.7
    for row, label in zip(z.tolist(), y.tolist(), strict=True):
        x = [b * value for value in row]
        p = [math.exp(value) / sum(math.exp(other) for other in x) for value in x]
        mean = sum(q * value for q, value in zip(p, x, strict=True))
        expected[0] += mean - x[label]
        expected[1] += sum(q * (value - mean) ** 2 for q, value in zip(p, x, strict=True))
        expected[2] += sum(q * (value - mean) ** 3 for q, value in zip(p, x, strict=True))
    where = torch.device(device)
    rows = rows_of(z.to(device), y.to(device), from_logits=True)
    found = temperature_search.slopes(temperature_search.SeenLogits.of(logits.pieces_of(rows, where), where), b)
    assert found == pytest.approx(expected, rel=1e-12)


# --- the same as NumPy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "n_classes"), [(2, 2), (7, 3), (300, 2), (300, 10), (40, 300), (9000, 20), (20_000, 10)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_numpy(device, n, n_classes, dtype):
    """For few and many rows, few and many classes."""
    z, y = data(n, n_classes)
    y[:2] = torch.tensor([0, 1])
    same(z.to(dtype), y, device)


@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1e-6, 1e4, 1e30, 1e300])
def test_extreme_scales(device, factor):
    """Logits times c give T times c, as far as floats reach."""
    z, y = data(200, 3)
    assert same(z * factor, y, device) == pytest.approx(factor * same(z, y, device), rel=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [200, 9000])
def test_limits(device, dtype, n):
    """Right in every row, wrong in every row, no better than chance, all equal: the limits of NumPy, and its words."""
    z, y = data(n, 20)
    z = z.to(dtype)
    with pytest.warns(LimitWarning, match="are right in every row"):
        TemperatureScaling().fit(z.to(device), z.argmax(dim=1).to(device))
    same(z, z.argmax(dim=1), device)
    same(z.round(), z.round().argmax(dim=1), device)  # with ties
    same(z, z.argmin(dim=1), device)
    same(z, y.roll(1), device, rel=1e-6)
    assert same(torch.ones_like(z), y, device) == 1


@pytest.mark.parametrize("mask", [-1e4, -1e9, -3e38])
def test_masked_logits(device, mask):
    """Classes that cannot be, of huge negative logits, change nothing but which classes there are."""
    z, y = data(500, 5)
    z = torch.cat([z, torch.full((500, 1), mask)], dim=1).float()
    assert same(z, y, device) == pytest.approx(numpy_temperature(z[:, :5], y), rel=1e-6)


def test_numbers_no_difference_of_which_is_a_float(device):
    """Logits of 1e308 and -1e308, whose difference is beyond the floats."""
    z, y = data(300, 5)
    z[:, 0] = -1e308
    z[0] = torch.tensor([1e308] * 4 + [-1e308], dtype=torch.float64)
    same(z, y, device)


def test_no_better_than_chance(device):
    """Where the likelihood is flat, cancellation does not spoil T: float32 logits give that of NumPy."""
    z, _ = data(20_000, 10)
    z = (1e-3 * z).float()
    y = torch.tensor(np.random.default_rng(1).integers(0, 10, len(z)))
    same(z, y, device, rel=1e-7)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types(device, dtype):
    """Half types give the T of the numbers that they hold, and come back in their own type."""
    z, y = data(9000, 20)
    z = z.to(dtype)
    scaling = TemperatureScaling(device=device)
    found = scaling.fit(z.to(device), y.to(device))
    assert found == pytest.approx(numpy_temperature(z.float(), y), rel=1e-9)
    scaled = scaling(z.to(device))
    assert scaled.dtype == dtype
    expected = (z.double() / found).to(dtype)
    assert ((scaled.cpu() - expected).abs() <= torch.finfo(dtype).eps * expected.abs()).all()


# --- shapes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["rows", "pixels", "channels last", "slice"])
def test_pixels_are_rows(device, layout):
    """Logits (N, K, H, W) give the T of their pixels, whatever their memory looks like."""
    z, y = data(2400, 5)
    image = z.reshape(10, 12, 20, 5).permute(0, 3, 1, 2)  # classes are last in memory
    if layout == "pixels":
        image = image.contiguous()
    elif layout == "channels last":
        image = image.contiguous(memory_format=torch.channels_last)
    elif layout == "slice":
        image = torch.cat([image, image], dim=3)[..., :20]
    found = TemperatureScaling().fit(image.to(device), y.reshape(10, 12, 20).to(device))
    assert found == pytest.approx(numpy_temperature(z, y), rel=1e-9)


def test_one_event(device):
    """Logits (N,) are those of a second class whose rival has 0."""
    random = np.random.default_rng(0)
    z = torch.tensor(2 * random.normal(size=500))
    y = torch.tensor((z.numpy() / 2 + random.logistic(size=500) > 0).astype(int))
    found = same(z, y, device)
    assert same(torch.stack([torch.zeros(500), z], dim=1), y, device) == pytest.approx(found, rel=1e-12)
    scaling = TemperatureScaling()
    assert scaling.fit(z.to(device), y.to(device).double()) == found
    np.testing.assert_allclose(
        scaling.to_numpy().transform(z.numpy()), torch.sigmoid(scaling(z)).detach().numpy(), atol=1e-15
    )


@pytest.mark.parametrize("labels", [torch.int32, torch.uint8, torch.int64])
def test_labels_of_any_whole_type(device, labels):
    """The type of the labels does not matter."""
    z, y = data()
    assert TemperatureScaling().fit(z.to(device), y.to(device, labels)) == pytest.approx(numpy_temperature(z, y))


# --- weights and rows left out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [300, 9000])
def test_weights_are_repetitions(device, n):
    """Weight 2 is the row twice, weight 0 no row, also where it holds the largest difference."""
    z, y = data(n, 20)
    w = torch.tensor(np.random.default_rng(0).integers(0, 4, n)).double()
    w[0] = 0
    z[0, 0] = 1e6
    found = same(z, y, device, w)
    twice = z.repeat_interleave(w.long(), dim=0), y.repeat_interleave(w.long())
    assert found == pytest.approx(same(*twice, device), rel=1e-9)


@pytest.mark.parametrize("n", [300, 9000])
def test_ignored_rows_may_hold_anything(device, n):
    """Rows with the label of `ignore_index` or of weight zero are left out, NaN or not."""
    z, y = data(n, 20)
    expected = numpy_temperature(z[100:], y[100:])
    z[:50], y[:100] = math.nan, -100
    z[50:100] = -math.inf
    assert TemperatureScaling().fit(z.to(device), y.to(device), ignore_index=-100) == pytest.approx(expected, rel=1e-9)
    w = (torch.arange(n) >= 100).double()
    y[:100] = 0
    assert TemperatureScaling().fit(z.to(device), y.to(device), sample_weight=w.to(device)) == pytest.approx(expected)


def test_rows_left_out_are_of_no_class(device):
    """Where one class is all that is left, that is said, and rows left out do not count as few."""
    z, y = data()
    y = torch.where(y == 1, 1, -100)
    with pytest.raises(InputError, match="y has only one class, 1"):
        TemperatureScaling().fit(z.to(device), y.to(device), ignore_index=-100)


# --- pieces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entries", [1, 50, 1000])
def test_pieces_change_nothing(device, monkeypatch, entries):
    """T does not depend on how many logits are read at once, nor on the order of rows."""
    z, y = data(300, 4)
    expected = numpy_temperature(z, y)
    monkeypatch.setattr(logits, "piece_entries", lambda _: entries)
    for images in ((z, y), (z.flip(0), y.flip(0)), (z.T[None], y[None])):
        found = TemperatureScaling().fit(images[0].to(device), images[1].to(device))
        assert found == pytest.approx(expected, rel=1e-12)


def test_the_sample_may_be_all_right_or_all_left_out(device):
    """A sample that says nothing, or the wrong thing, does not change T."""
    z, y = data(20_000, 10)
    stride = len(z) // 2000
    wrong = y.clone()
    wrong[::stride] = z[::stride].argmax(dim=1)
    same(z.float(), wrong, device, rel=1e-7)
    w = torch.ones(len(z), dtype=torch.float64)
    w[::stride] = 0
    same(z.float(), y, device, w, rel=1e-7)


# --- as a module ------------------------------------------------------------------------------------------------------


def test_gradients_flow(device):
    """The derivative of z / T with respect to both, and a step of training moves T."""
    scaling = TemperatureScaling(device=device)
    z, y = (each.to(device) for each in data(20, 3))

    def mapped(logits, temperature):
        return torch.func.functional_call(scaling, {"temperature": temperature}, logits)

    t = torch.tensor([1.7], dtype=torch.float64, device=device, requires_grad=True)
    assert torch.autograd.gradcheck(mapped, (z.requires_grad_(), t))
    torch.nn.functional.cross_entropy(scaling(z.float()), y).backward()
    assert scaling.temperature.grad.abs() > 0


def test_fit_leaves_everything_else_alone(device):
    """Neither logits nor labels are modified, no graph is kept, and gradients stay possible."""
    z, y = (each.to(device) for each in data())
    z.requires_grad_()
    before = z.detach().clone(), y.clone()
    scaling = TemperatureScaling()
    scaling.fit(z, y)
    assert torch.equal(z, before[0])
    assert torch.equal(y, before[1])
    assert z.grad is None
    assert scaling.temperature.requires_grad
    assert scaling.temperature.grad_fn is None


def test_states_copies_and_types(device):
    """`state_dict` holds the temperature alone; copies and other types of the parameter work."""
    z, y = data()
    scaling = TemperatureScaling()
    scaling.fit(z, y)
    assert list(scaling.state_dict()) == ["temperature"]
    other = TemperatureScaling().to(device)
    other.load_state_dict(scaling.state_dict())
    assert other.temperature.item() == scaling.temperature.item()
    assert copy.deepcopy(scaling).to_json() == scaling.to_json()
    assert scaling.float()(z).dtype == torch.float64
    assert scaling(z.float()).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_temperature_of_a_half_model_is_not_half(device, dtype):
    """`model.half()` and the like leave T float32: 1e-13 would be 0, and 1.4154 be 1.4141."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), TemperatureScaling())
    with torch.no_grad():
        model[1].temperature.fill_(1e-13)
    model.to(device, dtype)
    assert model[0].weight.dtype == dtype
    assert model[1].temperature.dtype == torch.float32
    assert model[1].temperature.device.type == device
    assert model[1].temperature.item() == pytest.approx(1e-13, rel=1e-7)
    with pytest.raises(InputError, match=r"dtype must be torch.float64 or torch.float32"):
        TemperatureScaling(dtype=dtype)


def test_default_devices_and_no_device_at_all():
    """A default device is no hindrance, and a module without numbers can be printed."""
    z, y = data()
    assert repr(TemperatureScaling(device="meta")) == "TemperatureScaling()"
    scaling, rows = TemperatureScaling(), rows_of(z, y, from_logits=True)
    pieces = logits.pieces_of(rows, torch.device("cpu"))
    with torch.device("meta"):
        found = scaling._fit_pieces(pieces, 4, torch.device("cpu"))
    assert scaling.temperature.item() == found == pytest.approx(numpy_temperature(z, y))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of TorchScript, which is still in use
def test_programs_are_plain(device):
    """The exported and the scripted program of forward give the same numbers."""
    z, _ = data(8, 3)
    scaling = TemperatureScaling(device=device)
    program = torch.export.export(scaling, (z.to(device),)).module()
    torch.testing.assert_close(program(z.to(device)), scaling(z.to(device)))
    torch.testing.assert_close(torch.jit.script(scaling)(z.to(device)), scaling(z.to(device)))


# --- what it refuses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda z, y: (z, y + 1), "labels must be whole numbers 0..3, got 4 at row"),
        (lambda z, y: (z, y + 0.5), "labels must be whole numbers 0..3, got a fraction or NaN at row 0"),
        (lambda z, y: (z, y[:-1]), "do not belong together"),
        (lambda z, y: (torch.where(z == z[3, 1], math.nan, z), y), "logits must be finite"),
        (lambda z, y: (torch.where(z == z[3, 1], -math.inf, z), y), "mask a class that cannot be with -1e9"),
        (lambda z, y: (z, torch.zeros_like(y)), "y has only one class"),
        (lambda z, y: (z[:0], y[:0]), "there are no rows"),
        (lambda z, y: (z, torch.full_like(y, -100)), "there are no rows to fit"),
    ],
)
def test_refuses(device, change, words):
    """What cannot be fitted is an error that says where and why; the temperature stays."""
    z, y = data()
    z, y = change(z, y)
    scaling = TemperatureScaling()
    with pytest.raises(InputError, match=words):
        scaling.fit(z.to(device), y.to(device), ignore_index=-100)
    assert scaling.temperature.tolist() == [1.5]


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_refuses_weights(device, weight):
    """Weights are finite and not negative."""
    z, y = data()
    w = torch.ones(len(y))
    w[7] = weight
    with pytest.raises(InputError, match=r"sample_weight must be finite and not negative, got .* at row 7"):
        TemperatureScaling().fit(z.to(device), y.to(device), sample_weight=w.to(device))
    with pytest.raises(InputError, match="no rows to fit"):
        TemperatureScaling().fit(z.to(device), y.to(device), sample_weight=torch.zeros(len(y), device=device))


@pytest.mark.parametrize("labels", [torch.int64, torch.float32])
def test_one_hot_labels_are_refused(device, labels):
    """Rows with one 1 would be fitted as K events each: they are refused, while events of their own are fitted."""
    z, y = data()
    hot = torch.nn.functional.one_hot(y).to(device, labels)
    with pytest.raises(InputError, match=r"pass labels.argmax\(dim=1\)"):
        TemperatureScaling().fit(z.to(device), hot)
    events = torch.cat([hot[:-1], 1 - hot[-1:]])
    found = TemperatureScaling().fit(z.to(device), events)
    assert found == pytest.approx(TemperatureScaling().fit(z.flatten().to(device), events.flatten()), rel=1e-9)


def test_whole_numbers_are_no_logits():
    """Integers are refused: in their own type the answer would lose its fractions."""
    with pytest.raises(InputError, match=r"logits must be a tensor of floats, got a tensor of torch.int64"):
        TemperatureScaling()(torch.tensor([[4, 1, 0]]))
