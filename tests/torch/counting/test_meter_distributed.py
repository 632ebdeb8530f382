"""Meters of several processes: what each of them reads is what one process would have read.

This process is rank 0. The others wait for the name of a case, run it at the same time, and say how it went, so that a
case fails here whichever process it fails in.
"""

from __future__ import annotations

import traceback
import warnings
from datetime import timedelta

import pytest
import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel

import believable.torch
from believable.errors import InputError, MergeError, UndefinedError
from believable.torch import CalibrationMeter
from tests.needs import need
from tests.torch.counting.same import SUM_TOLERANCE, assert_same

BACKEND = "gloo"  # "nccl" would need a GPU for each process, and nothing else
PATIENCE = timedelta(seconds=30)  # how long a process waits for one that failed
N = 500
PARTS = (slice(0, 370), slice(370, N), slice(N, N))  # the rows of each process; the last has none
WORLD = len(PARTS)
ALL_NOTIONS = ("confidence", "classwise", "top_label")
CASES = {}


def case(function):
    """Make a function a case, which every process runs with its rank and device."""
    CASES[function.__name__] = function
    return function


def rows(device="cpu"):
    """Logits, labels and weights that every process can make; a label of -1 is ignored."""
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(N, 3, generator=generator, dtype=torch.float64)
    labels = torch.randint(-1, 3, (N,), generator=generator)
    return logits.to(device), labels.to(device), torch.rand(N, generator=generator).to(device)


def event(device="cpu"):
    """Scores and outcomes of one event."""
    logits, labels, _ = rows(device)
    return logits[:, 0].sigmoid(), (labels == 0).long()


def meter(device="cpu", **choices):
    """A meter of three classes."""
    return CalibrationMeter(3, from_logits=True, ignore_index=-1, **choices).to(device)


def whole(device, weights=None, **choices):
    """What one process counts that has all rows."""
    logits, labels, _ = rows(device)
    one = meter(device, sync_on_compute=False, **choices)
    one.update(logits, labels, weights)
    return one


def counted(one, rank, *tensors):
    """A meter after the rows of this process."""
    one.update(*(tensor[PARTS[rank]] for tensor in tensors))
    return one


# --- reading ----------------------------------------------------------------------------------------------------------


@case
def uneven_parts(rank, device):
    """Processes with many, few and no rows all read the whole, as often as they like, and keep their own counts."""
    logits, labels, _ = rows(device)
    one = counted(meter(device), rank, logits, labels)
    for _ in range(2):
        assert_same(one.summary, whole(device).summary)
    assert one.n == int((labels[PARTS[rank]] >= 0).sum())
    assert one.compute(["ece"])["ece"] == pytest.approx(whole(device).compute(["ece"])["ece"], abs=SUM_TOLERANCE)
    one.sync_on_compute = False
    if one.n:
        assert one.summary.n == one.n


@case
def weights_in_one_process_alone(rank, device):
    """Rows without weights count once beside weighted ones of another process, also after a reading."""
    logits, labels, weights = rows(device)
    some, mine = meter(device), PARTS[rank]
    middle = (mine.start + mine.stop) // 2
    for half in (slice(mine.start, middle), slice(middle, mine.stop)):
        some.update(logits[half], labels[half], *([weights[half]] if rank == 1 else []))
        read = some.summary
    unweighted = torch.arange(N, device=device) < PARTS[0].stop
    assert_same(read, whole(device, torch.where(unweighted, 1, weights)).summary)


@case
def ignored_rows_add_up(rank, device):
    """Ignored rows of all processes are counted together."""
    logits, labels, _ = rows(device)
    one = counted(meter(device), rank, logits, labels)
    assert one.summary.dropped == {"ignored label": int((labels == -1).sum())}


@case
def three_notions(rank, device):
    """Every notion that a meter counts is that of all rows."""
    logits, labels, _ = rows(device)
    one = counted(meter(device, notions=ALL_NOTIONS), rank, logits, labels)
    assert_same(one.summary, whole(device, notions=ALL_NOTIONS).summary)


@case
def one_event(rank, device):
    """The scores of one event add up on both grids."""
    p, y = event(device)
    together = CalibrationMeter(sync_on_compute=False).to(device)
    together.update(p, y)
    assert_same(counted(CalibrationMeter().to(device), rank, p, y).summary, together.summary)


@case
def one_process_has_all_rows(rank, device):
    """Where two processes have counted nothing, the type of the scores is that of the third."""
    single = CalibrationMeter().to(device)
    if rank == 1:
        single.update(torch.tensor([0.3], device=device), torch.tensor([1], device=device))
    assert single.summary.layout.dtype == "float32"
    assert single.summary.n == 1


@case
def some_processes(rank, device):
    """Meters of a group of processes read the rows of that group; a process outside of it reads its own."""
    logits, labels, _ = rows(device)
    group, members = distributed.new_group([0, 2]), (0, 2)
    one = meter(device, process_group=group)
    part = slice(0, 300) if rank == 0 else slice(300, 400)
    one.update(logits[part], labels[part])
    both = meter(device, sync_on_compute=False)
    upto = slice(0, 400) if rank in members else part
    both.update(logits[upto], labels[upto])
    assert_same(one.summary, both.summary)


@case
def groups_of_one(rank, device):
    """A process in a group of its own reads its own rows."""
    logits, labels, _ = rows(device)
    alone = meter(device, process_group=[distributed.new_group([r]) for r in range(WORLD)][rank])
    alone.update(logits[: 100 + rank], labels[: 100 + rank])
    assert alone.summary.n == alone.n == int((labels[: 100 + rank] >= 0).sum())


class Counting(nn.Module):
    """A model that counts what it predicts."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones((), dtype=torch.float64))
        self.norm = nn.BatchNorm1d(3, affine=False, dtype=torch.float64)  # has buffers, which are broadcast
        self.meter = meter()

    def forward(self, logits, labels):
        self.meter.update(logits, labels)
        return self.scale * self.norm(logits).sum()


@case
def a_wrapped_model(rank, device):
    """DistributedDataParallel, which overwrites the buffers of every process, leaves their counts alone."""
    logits, labels, _ = rows(device)
    model = DistributedDataParallel(Counting().to(device))
    mine = (slice(0, 350), slice(350, 450), slice(450, N))[rank]
    for some in zip(logits[mine].chunk(5), labels[mine].chunk(5), strict=True):  # as many calls in every process
        model(*some)
    assert_same(model.module.meter.summary, whole(device).summary)


# --- errors: every process raises, and none waits for another ---------------------------------------------------------


@case
def nobody_has_rows(rank, device):
    """Every process says that nothing was counted."""
    with pytest.raises(UndefinedError, match="no rows have been counted"):
        meter(device).compute()


@case
def a_batch_refused_by_one_process(rank, device):
    """On the CPU a bad batch raises where it is, and the others read what was counted; on a GPU every reading raises."""
    logits, labels, _ = rows(device)
    one = counted(meter(device), rank, logits, labels)
    bad = logits[:2], torch.full((2,), 7, device=device)
    if device.type == "cpu":
        if rank == 1:
            with pytest.raises(InputError, match="none of it was counted: targets must be integers"):
                one.update(*bad)
        assert_same(one.summary, whole(device).summary)
        return
    if rank == 1:
        one.update(*bad)
    with pytest.raises(InputError, match="cannot be counted: 2 have a target that is no class"):
        one.compute()


@case
def invalid_rows_in_one_process(rank, device):
    """Invalid rows that an update did not look for, as on a GPU, make every process raise when it reads."""
    logits, labels, _ = rows(device)
    one = counted(meter(device), rank, logits, labels)
    if rank == 1:
        state = one.state_dict()
        state["invalid"][1] += 2
        one.load_state_dict(state)
    for read in (one.compute, lambda: one.summary):
        with pytest.raises(InputError, match="cannot be counted: 2 lie outside"):
            read()


@case
def types_that_differ(rank, device):
    """Scores of float32 in one process and float64 in another are an error in all three."""
    types = CalibrationMeter().to(device)
    if rank < 2:
        p = torch.tensor([0.3], dtype=[torch.float32, torch.float64][rank], device=device)
        types.update(p, torch.tensor([1], device=device))
    with pytest.raises(InputError, match="the scores of some processes are float32"):
        types.compute()


@case
def types_that_are_converted(rank, device):
    """With `dtype`, batches of both types add up."""
    types = CalibrationMeter(dtype="float64").to(device)
    p = torch.tensor([0.5], dtype=[torch.float32, torch.float64, torch.float16][rank], device=device)
    types.update(p, torch.tensor([1], device=device))
    assert types.summary.n == WORLD


@case
def settings_that_differ(rank, device):
    """Meters that count different things are an error in every process."""
    with pytest.raises(MergeError, match="the processes count different things"):
        CalibrationMeter(cells=[15, 20, 15][rank]).to(device).compute()


# --- torchmetrics -----------------------------------------------------------------------------------------------------


def metric(device, **choices):
    """A metric of three classes."""
    settings = {"n_bins": 15, "n_classes": 3, "from_logits": True, "ignore_index": -1}
    return believable.torch.CalibrationError("ece", **settings, **choices).to(device)


def value_of(one):
    """The value of a metric, which torchmetrics warns about where a process has no rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return one.compute().item()


@case
def a_metric_of_torchmetrics(rank, device):
    """Every process computes the value of all rows; its own states come back, and counting goes on from them."""
    logits, labels, _ = rows(device)
    one, mine = metric(device), PARTS[rank]
    wanted = whole(device).compute(["ece"], n_bins=15)["ece"]
    if mine.stop > mine.start:
        one.update(logits[mine], labels[mine])
    assert value_of(one) == pytest.approx(wanted, abs=SUM_TOLERANCE)
    twice = meter(device, sync_on_compute=False)
    for part in PARTS[:2] * 2:
        twice.update(logits[part], labels[part])
    one.update(logits[mine], labels[mine])
    assert value_of(one) == pytest.approx(twice.compute(["ece"], n_bins=15)["ece"], abs=SUM_TOLERANCE)


@case
def a_metric_with_types_that_differ(rank, device):
    """A metric that was given float32 in one process and float64 in another raises in all of them."""
    one = believable.torch.CalibrationError("ece").to(device)
    p = torch.tensor([0.3], dtype=[torch.float32, torch.float64, torch.float32][rank], device=device)
    one.update(p, torch.tensor([1], device=device))
    with pytest.raises(InputError, match="some scores were float32, others float64"):
        one.compute()


@case
def a_metric_of_some_processes(rank, device):
    """A metric of a group of processes computes the value of their rows."""
    logits, labels, _ = rows(device)
    group = distributed.new_group([0, 1])
    one = metric(device, process_group=group, sync_on_compute=rank < 2)
    part = (PARTS[0], PARTS[1], slice(0, N))[rank]
    one.update(logits[part], labels[part])
    assert value_of(one) == pytest.approx(whole(device).compute(["ece"], n_bins=15)["ece"], abs=SUM_TOLERANCE)


# --- the processes ----------------------------------------------------------------------------------------------------


def device_of(rank):
    """The device of a process."""
    return torch.device("cuda", rank) if BACKEND == "nccl" else torch.device("cpu")


def join(rank, folder):
    """Become one of the processes."""
    if BACKEND == "nccl":
        torch.cuda.set_device(rank)
    meet = f"file://{folder}/meet"
    distributed.init_process_group(BACKEND, init_method=meet, rank=rank, world_size=WORLD, timeout=PATIENCE)


def run_everywhere(name, rank):
    """Run a case here while the other processes run it, and return what failed in any of them."""
    try:
        CASES[name](rank, device_of(rank))
        failure = None
    except BaseException:  # pytest has failures that are no exceptions
        failure = f"in process {rank}:\n{traceback.format_exc()}"
    failures = [None] * WORLD
    distributed.all_gather_object(failures, failure)
    return [one for one in failures if one is not None]


def tell(name=None):
    """Return the name of the next case, which the first process knows; None is the end."""
    told = [name]
    distributed.broadcast_object_list(told, src=0)
    return told[0]


def follow(place, folder):
    """Be one of the other processes, with one thread each."""
    torch.set_num_threads(1)
    join(place + 1, folder)
    while (name := tell()) is not None:
        run_everywhere(name, place + 1)
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """The other processes, waiting for cases."""
    folder = str(tmp_path_factory.mktemp("processes"))
    others = multiprocessing.spawn(follow, args=(folder,), nprocs=WORLD - 1, join=False)
    try:
        join(0, folder)
        yield
        tell(None)
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()  # which ends the others, if they wait
        for other in others.processes:
            other.join()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES))
def test_processes_read_the_whole(processes, name):
    """What a case says holds in every process."""
    if name.startswith("a_metric"):
        need("torchmetrics")
    failures = run_everywhere(tell(name), 0)
    assert not failures, "\n".join(failures)
