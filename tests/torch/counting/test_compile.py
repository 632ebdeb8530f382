"""Meters in compiled functions and in CUDA graphs: updates stay in the graph and count as they do outside of it."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch import nn

from believable.errors import InputError
from believable.torch import CalibrationMeter
from tests.needs import need, need_gpu
from tests.torch.counting.same import assert_same

pytestmark = [
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),  # of torch's own modules, about other ways to compute
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),  # of torch's own modules, when they are imported
]
SIZES = (32, 32, 17, 50, 1)  # the third makes the number of rows a variable of the graph


@pytest.fixture(autouse=True)
def _nothing_compiled_before():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


INDUCTOR = pytest.param("inductor", marks=pytest.mark.slow)


@pytest.fixture(params=["eager", "aot_eager"])
def backend(request):
    """Who runs the graph: Python, or the same after autograd's tracing; some tests name the compiler, too."""
    if request.param == "inductor":
        need("compiler")
    return request.param


@pytest.fixture
def network(device):
    """Three classes from four numbers."""
    torch.manual_seed(0)
    return nn.Linear(4, 3).to(device)


def batch(n, device, seed=0):
    """Inputs, labels and weights."""
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(n, 4, generator=generator), torch.randint(3, (n,), generator=generator)
    return x.to(device), y.to(device), torch.rand(n, generator=generator).to(device)


def meter_on(device):
    """A meter of three classes."""
    return CalibrationMeter(3, from_logits=True).to(device)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", INDUCTOR], indirect=True)
@pytest.mark.parametrize("weighted", [False, True])
def test_updates_without_gradients(device, backend, network, weighted):
    """A model and an update are one graph, for batches of any size, with and without weights."""
    inside, outside = meter_on(device), meter_on(device)

    def evaluate(x, y, weights):
        logits = network(x)
        inside.update(logits, y, weights)
        return logits

    compiled = torch.compile(evaluate, fullgraph=True, backend=backend)
    with torch.no_grad():
        for seed, n in enumerate(SIZES):
            x, y, w = batch(n, device, seed)
            logits = compiled(x, y, w if weighted else None)
            outside.update(logits, y, w if weighted else None)
    assert_same(inside.summary, outside.summary)


def test_updates_beside_a_loss(device, backend, network):
    """An update between the logits and the loss changes no gradient, and counts each batch once."""
    inside, outside = meter_on(device), meter_on(device)

    def loss_of(x, y):
        logits = network(x)
        inside.update(logits, y)
        return nn.functional.cross_entropy(logits, y), logits.detach()

    compiled = torch.compile(loss_of, fullgraph=True, backend=backend)
    for seed, n in enumerate(SIZES):
        x, y, _ = batch(n, device, seed)
        loss, logits = compiled(x, y)
        (found,) = torch.autograd.grad(loss, network.weight)
        (wanted,) = torch.autograd.grad(nn.functional.cross_entropy(network(x), y), network.weight)
        torch.testing.assert_close(found, wanted)
        outside.update(logits, y)
    assert_same(inside.summary, outside.summary)


def test_a_whole_step_of_training(device, backend, network):
    """Around a call of `backward`, where torch itself ends the graph, updates count as outside."""
    inside, outside = meter_on(device), meter_on(device)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        logits = network(x)
        inside.update(logits, y)
        nn.functional.cross_entropy(logits, y).backward()
        return logits.detach()

    compiled = torch.compile(step, backend=backend)
    for seed in range(3):
        x, y, _ = batch(32, device, seed)
        outside.update(compiled(x, y), y)
        optimizer.step()
    assert_same(inside.summary, outside.summary)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", INDUCTOR], indirect=True)
def test_updates_keep_their_order(device, backend):
    """A reset between two updates forgets the first alone, and meters of one graph stay apart."""
    first, second = meter_on(device), CalibrationMeter().to(device)

    def count(logits, y):
        first.update(logits, y)
        second.update(logits[:, 0].sigmoid(), y == 0)
        first.reset()
        first.update(logits[:5], y[:5])

    compiled = torch.compile(count, fullgraph=True, backend=backend)
    x, y, _ = batch(20, device)
    for _ in range(2):
        compiled(x[:, :3], y)
    assert (first.n, second.n) == (5, 40)


def test_copies_count_for_themselves(device, backend):
    """A compiled function counts in the meter it is given, also in copies of one that it has seen."""
    meter = meter_on(device)
    compiled = torch.compile(lambda one, logits, y: one.update(logits, y), fullgraph=True, backend=backend)
    x, y, _ = batch(20, device)
    compiled(meter, x[:, :3], y)
    saved = io.BytesIO()
    torch.save(meter, saved)
    saved.seek(0)
    copies = [copy.deepcopy(meter), torch.load(saved, weights_only=False)]
    for one in copies:
        compiled(one, x[:7, :3], y[:7])
    assert [one.n for one in (meter, *copies)] == [20, 27, 27]


def test_a_refused_batch(backend):
    """On the CPU a batch with an invalid label raises from within the graph, and none of it is counted."""
    meter = meter_on("cpu")
    compiled = torch.compile(lambda logits, y: meter.update(logits, y), fullgraph=True, backend=backend)
    x, y, _ = batch(20, "cpu")
    compiled(x[:, :3], y)
    with pytest.raises(InputError, match="none of it was counted: targets must be integers"):
        compiled(x[:, :3], y + 3)
    assert meter.n == 20


def test_reading_ends_the_graph(device, backend, network):
    """What a compiled function reads from a meter is what it would read outside."""
    meter = meter_on(device)

    def read(x, y):
        logits = network(x)
        meter.update(logits, y)
        return meter.compute(["ece"])["ece"], meter.summary.n, meter.n

    compiled = torch.compile(read, backend=backend)
    x, y, _ = batch(20, device)
    with torch.no_grad():
        found, *counted = compiled(x, y)
    assert counted == [20, 20]
    assert found == meter.compute(["ece"])["ece"]


@pytest.mark.parametrize("n_classes", [None, 3])
def test_a_cuda_graph_counts_when_it_is_replayed(n_classes):
    """An update that was captured counts what its tensors hold at each replay, also after a reset."""
    need_gpu()
    inside = CalibrationMeter(n_classes, from_logits=True).to("cuda")
    outside = CalibrationMeter(n_classes, from_logits=True).to("cuda")
    x, y, _ = batch(64, "cuda")
    logits, labels = (x[:, :3].clone(), y.clone()) if n_classes else (x[:, 0].clone(), (y > 0).long())
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # what is compiled and allocated at first use happens outside the graph
        inside.update(logits, labels)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inside.update(logits, labels)
    inside.reset()
    for seed in range(3):
        logits.copy_(torch.randn(logits.shape, generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        outside.update(logits, labels)
    assert_same(inside.summary, outside.summary)


def test_compiled_with_cuda_graphs(network):
    """`mode="reduce-overhead"`, which replays CUDA graphs, counts each call once."""
    need_gpu()
    inside, outside = meter_on("cuda"), meter_on("cuda")
    network = network.to("cuda")

    def evaluate(x, y):
        logits = network(x)
        inside.update(logits, y)
        return logits

    compiled = torch.compile(evaluate, fullgraph=True, mode="reduce-overhead")
    with torch.no_grad():
        for seed in range(6):  # warming up, recording, replaying
            x, y, _ = batch(64, "cuda", seed)
            outside.update(compiled(x, y).clone(), y)
    assert_same(inside.summary, outside.summary)
