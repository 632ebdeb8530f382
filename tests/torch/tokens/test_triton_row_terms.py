"""The pass with Triton over rows of a vocabulary is `row_terms` in plain torch; without a GPU in its interpreter."""

from __future__ import annotations

import pytest
import torch

from believable.torch.tokens.row_terms import plain_row_terms
from tests.needs import need

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the interpreter, about NaN and infinity

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
INF = float("inf")


@pytest.fixture
def compiled():
    """The module with the pass."""
    need("triton")
    from believable.torch.tokens import triton_row_terms

    return triton_row_terms


def drawn(n, columns, scale=3.0, dtype=torch.float32):
    """Random logits and labels, half of which are the largest logit's."""
    generator = torch.Generator().manual_seed(0)
    logits = (scale * torch.randn(n, columns, generator=generator)).to(dtype)
    labels = torch.randint(0, columns, (n,), generator=generator)
    labels[::2] = logits[::2].argmax(dim=1)
    return logits.to(DEVICE), labels.to(DEVICE)


def assert_same(compiled, logits, labels, tolerance=2e-6):
    """What both say of each row."""
    wanted = plain_row_terms(logits.double(), labels)
    confidence, nll, brier, entropy, top = compiled.row_terms(logits, labels)
    for name, found in {"confidence": confidence, "nll": nll, "brier": brier, "entropy": entropy}.items():
        torch.testing.assert_close(
            found,
            getattr(wanted, name),
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
            msg=lambda m, n=name: f"{n}: {m}",
        )
    counted = ~wanted.confidence.isnan()
    assert torch.equal(top[counted], wanted.top[counted])
    assert (top[~counted] == -1).all()


@pytest.mark.parametrize("columns", [2, 3, 511, 512, 1300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_rows_of_any_length(compiled, columns, dtype):
    """Shorter than a block, as long, and longer by a part."""
    assert_same(compiled, *drawn(12, columns, dtype=dtype))


def test_far_apart(compiled):
    """The largest logit may lie far above those that the row begins with: then the row is read again."""
    logits, labels = drawn(9, 700, scale=1.0)
    logits[:, 600] += torch.tensor([0.0, 20.0, 60.0, 100.0, 1e4, 1e30, -1e30, 88.0, 3e38], device=DEVICE)
    assert_same(compiled, logits, labels)


def test_ties_go_to_the_lowest(compiled):
    """Within a block and across blocks."""
    logits, labels = drawn(4, 1100)
    logits[0], logits[1, [700, 30, 1050]], logits[2, [5, 517]] = 0.0, 50.0, 50.0
    assert_same(compiled, logits, labels)


def test_tokens_that_cannot_come(compiled):
    """-inf is a probability of 0, and an infinite log loss where it is the label's."""
    logits, labels = drawn(5, 600)
    logits[0, ::2], logits[1, 1:], logits[2, :512] = -INF, -INF, -INF
    labels[1], labels[2] = 7, 599
    assert_same(compiled, logits, labels)


def test_rows_without_probabilities(compiled):
    """NaN, +inf and -inf throughout say so; a label that is no column leaves its row out."""
    logits, labels = drawn(8, 600)
    logits[0, 3], logits[1, 599], logits[2], logits[3, 0] = torch.nan, INF, -INF, torch.nan
    labels[4], labels[5] = -100, 600
    assert_same(compiled, logits, labels)
    assert compiled.row_terms(logits, labels)[0].isnan().tolist() == [True] * 6 + [False] * 2


def test_strided_rows_and_none(compiled):
    """Rows may lie apart, but not the columns of one; there may be no rows."""
    logits, labels = drawn(10, 90)
    assert_same(compiled, logits[::3, 20:], labels[::3] % 70)
    assert compiled.suits(logits[::3, 20:])
    assert not compiled.suits(logits[:, ::2])
    assert not compiled.suits(logits.double())
    assert [len(part) for part in compiled.row_terms(logits[:0], labels[:0])] == [0] * 5
