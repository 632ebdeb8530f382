"""Averaged probabilities of ensembles and of dropout."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from believable.errors import InputError
from believable.torch import ensemble_predict, mc_dropout_predict
from tests.torch.logits import softmax


def seeded(seed=0):
    """A generator on the CPU."""
    return torch.Generator().manual_seed(seed)


def network(device, drop=0.5, outputs=3):
    """A small network with batch norm and dropout, its weights fixed."""
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(drop), nn.Linear(8, outputs))
    generator = seeded(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model.to(device)


def inputs(device, n=6):
    """Rows for the network."""
    return torch.randn(n, 4, generator=seeded(1)).to(device)


class Fixed(nn.Module):
    """Says the same of everything."""

    def __init__(self, output):
        super().__init__()
        self.output = torch.tensor(output)

    def forward(self, x):
        return self.output


LOGITS = [[[2.0, 0.0, -1.0], [0.5, 0.5, 3.0]], [[0.0, 4.0, 1.0], [1.0, 0.0, 0.0]], [[1.0, 1.0, 1.0], [9.0, -9.0, 0.0]]]


def test_ensemble_by_hand():
    """The mean over the models of the softmax of each, and the members one by one."""
    models = [Fixed(rows) for rows in LOGITS]
    members = [[softmax(row) for row in rows] for rows in LOGITS]
    mean = ensemble_predict(models, None)
    each = ensemble_predict(models, None, average=False)
    for i in range(2):
        for k in range(3):
            assert mean[i, k].item() == pytest.approx(sum(m[i][k] for m in members) / 3, abs=1e-7)
            assert [each[m, i, k].item() for m in range(3)] == pytest.approx([m[i][k] for m in members], abs=1e-7)


def test_ensemble_of_anything(device):
    """Lists, module lists and iterators of modules or functions; one model is itself."""
    models, x = [network(device).eval(), network(device, drop=0.1).eval()], inputs(device)
    expected = ensemble_predict(models, x)
    torch.testing.assert_close(ensemble_predict(nn.ModuleList(models), x), expected)
    torch.testing.assert_close(ensemble_predict((lambda z, model=model: model(z) for model in models), x), expected)
    torch.testing.assert_close(ensemble_predict(models[:1], x), models[0](x).detach().softmax(dim=1))
    torch.testing.assert_close(expected.sum(dim=1), torch.ones(6, device=device))


@pytest.mark.parametrize("shape", [(5,), (5, 1), (5, 4)])
def test_sigmoid(shape):
    """For one event, or independent labels, the sigmoid of every output is averaged."""
    a, b = torch.randn(shape, generator=seeded()), torch.randn(shape, generator=seeded(1))
    mean = ensemble_predict([lambda x: a, lambda x: b], None, activation="sigmoid")
    torch.testing.assert_close(mean, (1 / (1 + torch.exp(-a)) + 1 / (1 + torch.exp(-b))) / 2)


def test_outputs_that_are_probabilities():
    """With activation "none" outputs are averaged as they are, and logits are refused."""
    a, b = torch.tensor([0.2, 1.0]), torch.tensor([0.4, 0.0])
    torch.testing.assert_close(
        ensemble_predict([lambda x: a, lambda x: b], None, activation="none"), torch.tensor([0.3, 0.5])
    )
    with pytest.raises(InputError, match=r'activation="none" needs outputs in \[0, 1\]'):
        ensemble_predict([lambda x: 3 * b], None, activation="none")


def test_pixels():
    """Classes are in dimension 1."""
    logits = torch.randn(2, 3, 4, 4, generator=seeded())
    torch.testing.assert_close(ensemble_predict([lambda x: logits], None), logits.softmax(dim=1))


def test_short_floats_and_extremes():
    """bfloat16 outputs are averaged in float32, and logits of +-1e4 give no NaN."""
    rows = torch.tensor([[1e4, -1e4], [0.0, 1.0]]).bfloat16()
    mean = ensemble_predict([lambda x: rows] * 3, None)
    assert mean.dtype == torch.float32
    torch.testing.assert_close(mean, rows.float().softmax(dim=1))


@pytest.mark.slow
@pytest.mark.parametrize("predict", [lambda m, x, **k: ensemble_predict([m], x, **k), mc_dropout_predict])
def test_gradients_on_request(predict, device):
    """There is no graph unless it is asked for."""
    model, x = network(device), inputs(device)
    assert not predict(model, x).requires_grad
    value = predict(model, x, grad=True)
    assert value.requires_grad
    value[:, 0].sum().backward()
    assert model[0].weight.grad.isfinite().all()
    assert torch.is_grad_enabled()


def modes(model):
    """The mode of every module."""
    return [module.training for module in model.modules()]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("predict", [lambda m, x: ensemble_predict([m, m], x), mc_dropout_predict])
def test_modes_are_restored(predict, fails, device):
    """Every module, also one that differs from its parent, is afterwards in the mode it was in, after an error too."""
    model, x = network(device), inputs(device)
    model.train()
    model[1].eval()
    before, sums = modes(model), model[1].running_mean.clone()
    if fails:
        with pytest.raises(RuntimeError):
            predict(model, x[:, :2])
    else:
        predict(model, x)
    assert modes(model) == before
    assert torch.equal(model[1].running_mean, sums)


def test_shapes_that_differ_restore_modes_too(device):
    """An ensemble whose members disagree in shape is an error, and leaves no model in another mode."""
    models = [network(device), network(device, outputs=2)]
    with pytest.raises(InputError, match=r"the models give different shapes: \(6, 3\) and \(6, 2\)"):
        ensemble_predict(models, inputs(device))
    assert all(all(modes(model)) for model in models)


def test_ensemble_evaluates(device):
    """Models in training mode are evaluated: no dropout, and batch norm neither uses nor learns from the batch."""
    model, x = network(device), inputs(device)
    model.train()
    value = ensemble_predict([model], x)
    assert model[1].num_batches_tracked == 0
    torch.testing.assert_close(value, model.eval()(x).detach().softmax(dim=1))


def test_dropout_by_hand(device):
    """The mean of passes whose dropout alone is switched on, drawn from torch's own generator."""
    model, x = network(device).eval(), inputs(device)
    devices = [x.device.index] if device == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(3)
        value = mc_dropout_predict(model, x, 7)
        torch.manual_seed(3)
        model[3].train()
        total = torch.zeros(6, 3, device=device)
        for _ in range(7):
            total += model(x).detach().softmax(dim=1)
    torch.testing.assert_close(value, total / 7)


def test_dropout_converges(device):
    """Dropout of the only input: half of the passes see it, so the mean is near the average of the two answers."""
    model = nn.Sequential(nn.Dropout(0.5), nn.Identity()).to(device)
    value = mc_dropout_predict(model, torch.tensor([[0.0, 1.0]], device=device), 2000, generator=seeded())
    seen, unseen = softmax([0.0, 2.0])[1], 0.5
    assert value[0, 1].item() == pytest.approx((seen + unseen) / 2, abs=5 * 0.19 / 2000**0.5)


def test_generator_makes_it_repeatable(device):
    """The same generator gives the same passes, and torch's own is left as it was; passes differ from each other."""
    model, x = network(device), inputs(device)
    state = torch.get_rng_state()
    first = mc_dropout_predict(model, x, 4, average=False, generator=seeded())
    again = mc_dropout_predict(model, x, 4, average=False, generator=seeded())
    mean = mc_dropout_predict(model, x, 4, generator=seeded())
    assert torch.equal(torch.get_rng_state(), state)
    assert first.shape == (4, 6, 3)
    assert torch.equal(first, again)
    torch.testing.assert_close(first.mean(dim=0), mean)
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first, mc_dropout_predict(model, x, 4, average=False, generator=seeded(1)))


class Attention(nn.Module):
    """Attention whose dropout is inside."""

    def __init__(self, drop):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, dropout=drop, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0][:, 0]


class Recurrent(nn.Module):
    """A recurrent network whose dropout is inside."""

    def __init__(self, drop, layers=2):
        super().__init__()
        self.recurrent = nn.LSTM(4, 4, num_layers=layers, dropout=drop, batch_first=True)

    def forward(self, x):
        return self.recurrent(x)[0][:, -1]


class First(nn.Module):
    """The first token."""

    def forward(self, x):
        return x[:, 0]


INSIDE = [
    pytest.param(lambda: Attention(0.5), id="attention"),
    pytest.param(lambda: Recurrent(0.5), id="recurrent"),
    pytest.param(
        lambda: nn.Sequential(nn.TransformerEncoderLayer(4, 2, 8, 0.5, batch_first=True), First()), id="encoder"
    ),
    *(
        pytest.param(lambda kind=kind: nn.Sequential(kind(0.5), First()), id=kind.__name__)
        for kind in (nn.Dropout, nn.Dropout1d, nn.AlphaDropout, nn.FeatureAlphaDropout)
    ),
]


@pytest.mark.parametrize("make", INSIDE)
def test_dropout_of_every_kind(make, device):
    """Passes differ wherever the dropout is, also in layers whose fused form would skip it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = make().to(device).eval()
    x = torch.randn(3, 5, 4, generator=seeded()).to(device)
    passes = mc_dropout_predict(model, x, 6, average=False, generator=seeded())
    assert len({tuple(one.flatten().tolist()) for one in passes}) > 1
    assert not any(modes(model))


class Own(nn.Module):
    """Dropout that cannot be seen from outside."""

    def forward(self, x):
        return nn.functional.dropout(x, 0.5, training=self.training)


NONE = [lambda: nn.Linear(4, 3), lambda: network("cpu", drop=0.0), lambda: Attention(0.0), lambda: Recurrent(0.0), Own]


@pytest.mark.parametrize("make", NONE)
def test_no_dropout_is_an_error(make):
    """A model that drops nothing would give the same answer every time."""
    with pytest.raises(InputError, match="the model has no dropout layer with p > 0, so all samples would be the same"):
        mc_dropout_predict(make(), inputs("cpu"))


def test_layers_of_ones_own():
    """A class named in `also` is put into training mode."""
    passes = mc_dropout_predict(Own(), inputs("cpu"), 5, also=(Own,), average=False, generator=seeded())
    assert not torch.equal(passes[0], passes[1])


WRONG = [
    (lambda: ensemble_predict([], None), "there are no models to average"),
    (lambda: ensemble_predict(nn.Sequential(nn.Linear(4, 3)), inputs("cpu")), "got one Sequential: pass \\[model\\]"),
    (lambda: ensemble_predict([lambda x: (x, x)], inputs("cpu")), "a model must return a tensor, got a tuple"),
    (
        lambda: ensemble_predict([lambda x: x[:, 0]], inputs("cpu")),
        r'got \(6,\); pass activation="sigmoid" for one event',
    ),
    (lambda: ensemble_predict([lambda x: x[:, :1]], inputs("cpu")), r"softmax needs outputs of shape .* got \(6, 1\)"),
    (lambda: ensemble_predict([nn.Identity()], None, activation="relu"), "activation must be one of 'softmax'"),
    (lambda: mc_dropout_predict(nn.Dropout(), inputs("cpu"), 0), "samples must be an integer at least 1"),
    (lambda: mc_dropout_predict(lambda x: x, None), "model must be a torch.nn.Module, got a function"),
]


@pytest.mark.parametrize(("call", "words"), WRONG)
def test_wrong_input_is_named(call, words):
    """What does not fit is an error that says what to do."""
    with pytest.raises(InputError, match=words):
        call()
