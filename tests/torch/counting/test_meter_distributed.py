"""Meters of several processes: what they read is what one process would have read."""

from __future__ import annotations

from datetime import timedelta

import pytest
import torch
from torch import distributed, multiprocessing, nn
from torch.nn.parallel import DistributedDataParallel

from believable.errors import InputError, MergeError
from believable.torch import CalibrationMeter
from tests.torch.counting.same import assert_same

N, CUT = 500, 370  # the rows, and where they are split


def rows():
    """Logits, labels and weights that every process can make."""
    generator = torch.Generator().manual_seed(5)
    logits = torch.randn(N, 3, generator=generator, dtype=torch.float64)
    return logits, torch.randint(-1, 3, (N,), generator=generator), torch.rand(N, generator=generator)


def meter(**choices):
    """Of three classes; -1 is ignored."""
    return CalibrationMeter(3, from_logits=True, ignore_index=-1, **choices)


def whole(weights=None):
    """What one process counts."""
    logits, labels, _ = rows()
    one = meter(sync_on_compute=False)
    one.update(logits, labels, weights)
    return one


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


def work(rank, folder):
    """One of two processes; an assertion that fails here ends both."""
    meet, patience = f"file://{folder}/meet", timedelta(seconds=60)
    distributed.init_process_group("gloo", init_method=meet, rank=rank, world_size=2, timeout=patience)
    logits, labels, weights = rows()
    mine = slice(0, CUT) if rank == 0 else slice(CUT, N)

    one = meter()
    one.update(logits[mine], labels[mine])
    for _ in range(2):  # reading changes nothing
        assert_same(one.summary, whole().summary)
    assert one.n == int((labels[mine] >= 0).sum())
    assert one.compute(["ece"])["ece"] == pytest.approx(whole().compute(["ece"])["ece"], abs=1e-12)
    one.sync_on_compute = False
    assert one.summary.n == one.n

    some = meter()  # weights in the second process alone, and more rows after reading
    for half in (slice(mine.start, mine.start + 50), slice(mine.start + 50, mine.stop)):
        some.update(logits[half], labels[half], *([weights[half]] if rank else []))
        read = some.summary
    assert_same(read, whole(torch.where(torch.arange(N) < CUT, 1, weights)).summary)

    nothing = meter()  # all rows in the second process; the first refused a batch
    if rank:
        nothing.update(logits, labels)
    else:
        with pytest.raises(InputError, match="none of it was counted: targets must be integers"):
            nothing.update(logits, labels + 1)
    assert_same(nothing.summary, whole().summary)
    empty = meter()
    with pytest.raises(ValueError, match="no rows have been counted"):
        empty.compute()

    if rank:  # as on a GPU, where an update does not look
        one._state.tally.invalid[1] += 2
    one.sync_on_compute = True
    with pytest.raises(InputError, match="cannot be counted: 2 lie outside"):
        one.compute()

    types = CalibrationMeter()
    types.update(torch.tensor([0.3], dtype=[torch.float32, torch.float64][rank]), torch.tensor([1]))
    with pytest.raises(InputError, match="the scores of some processes are float32"):
        types.compute()
    single = CalibrationMeter()
    if rank:
        single.update(torch.tensor([0.3]), torch.tensor([1]))
    assert single.summary.layout.dtype == "float32"
    with pytest.raises(MergeError, match="the processes count different things"):
        CalibrationMeter(cells=[15, 20][rank]).compute()

    alone = meter(process_group=[distributed.new_group([r]) for r in (0, 1)][rank])
    alone.update(logits[mine], labels[mine])
    assert alone.summary.n == alone.n

    model = DistributedDataParallel(Counting())
    step = (CUT if rank == 0 else N - CUT) // 5
    for start in range(mine.start, mine.stop, step):
        model(logits[start : start + step], labels[start : start + step])
    assert_same(model.module.meter.summary, whole().summary)


def second(_, folder):
    """The other process, which has one core."""
    torch.set_num_threads(1)
    work(1, folder)
    distributed.destroy_process_group()


@pytest.mark.slow
def test_two_processes(tmp_path):
    """Uneven parts, no rows, weights or types in one process alone, and a wrapped model: the answer is the whole's."""
    other = multiprocessing.spawn(second, args=(str(tmp_path),), nprocs=1, join=False)
    try:
        work(0, str(tmp_path))
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()  # which ends the other, if it waits
        other.join()
