"""The pass with Triton over rows of a vocabulary is `row_terms` in plain torch; without a GPU in its interpreter."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from believable.torch.tokens import row_terms, token_calibration
from believable.torch.tokens.row_terms import plain_row_terms, table_names
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


def table_of(compiled, logits, labels, r=1, ignored=-1):
    """What the pass writes, by name."""
    names = table_names(r)
    table = torch.full((len(names), len(logits)), 7.0, dtype=torch.float64, device=logits.device)
    compiled.write_row_terms(table, logits, labels.contiguous(), r, ignored)
    return dict(zip(names, table, strict=True))


def assert_same(compiled, logits, labels, r=1, tolerance=2e-6):
    """What both say of each row."""
    wanted = plain_row_terms(logits.double(), labels, r)
    found = table_of(compiled, logits, labels, r)
    terms = {name: getattr(wanted, name) for name in ("nll", "brier", "entropy")} | {"p 0": wanted.confidence}
    columns = {"column 0": wanted.top}
    if r > 1:
        terms |= {f"p {i}": wanted.ranked[:, i] for i in range(r)}
        columns |= {f"column {i}": wanted.ranked_columns[:, i] for i in range(r)}
    for name, values in terms.items():
        torch.testing.assert_close(
            found[name],
            values,
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
            msg=lambda m, n=name: f"{n}: {m}",
        )
    counted = ~wanted.confidence.isnan()
    for name, values in columns.items():
        assert torch.equal(found[name][counted].long(), values[counted]), name
        assert (found[name][~counted] == -1).all(), name


@pytest.mark.parametrize("columns", [2, 3, 1023, 1024, 2600, 5000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_rows_of_any_length(compiled, columns, dtype):
    """Shorter than a block, as long, and longer by a part."""
    assert_same(compiled, *drawn(12, columns, dtype=dtype))


def test_far_apart(compiled):
    """The largest logit may lie far above those that the row begins with: then the row is read again."""
    logits, labels = drawn(9, 1300, scale=1.0)
    logits[:, 1200] += torch.tensor([0.0, 20.0, 60.0, 100.0, 1e4, 1e30, -1e30, 88.0, 3e38], device=DEVICE)
    assert_same(compiled, logits, labels)
    logits[:, 0] = logits[:, 1200]  # now in the first block
    assert_same(compiled, logits, labels, 2)


def test_a_sure_row_has_no_loss(compiled):
    """Where one logit is far above the others, nothing is lost to rounding: the loss is 0, or as good as."""
    logits = torch.tensor([[1e4, -1e4, 3.0], [-7.3, 88.1, -7.3]], device=DEVICE)
    found = table_of(compiled, logits, torch.tensor([0, 1], device=DEVICE), 2)
    for name in ("nll", "brier", "entropy"):
        assert found[name].tolist() == pytest.approx([0, 0], abs=1e-30), name
    assert found["p 0"].tolist() == [1, 1]


def test_ties_go_to_the_lowest(compiled):
    """Within a block and across blocks."""
    logits, labels = drawn(4, 2100)
    logits[0], logits[1, [700, 30, 1050]], logits[2, [5, 1029]] = 0.0, 50.0, 50.0
    assert_same(compiled, logits, labels)


def test_tokens_that_cannot_come(compiled):
    """-inf is a probability of 0, and an infinite log loss where it is the label's."""
    logits, labels = drawn(5, 1200)
    logits[0, ::2], logits[1, 1:], logits[2, :1024] = -INF, -INF, -INF
    labels[1], labels[2] = 7, 1199
    assert_same(compiled, logits, labels)


def test_rows_without_probabilities(compiled):
    """NaN, +inf and -inf throughout say so; a label that is no column leaves its row out."""
    logits, labels = drawn(8, 1200)
    logits[0, 3], logits[1, 1199], logits[2], logits[3, 0] = torch.nan, INF, -INF, torch.nan
    labels[4], labels[5] = -100, 1200
    assert_same(compiled, logits, labels)
    assert table_of(compiled, logits, labels)["p 0"].isnan().tolist() == [True] * 6 + [False] * 2
    assert_same(compiled, logits, labels, 3)


def test_strided_rows_and_none(compiled):
    """Rows may lie apart, but not the columns of one; there may be no rows."""
    logits, labels = drawn(10, 90)
    assert_same(compiled, logits[::3, 20:], labels[::3] % 70)
    assert compiled.suits(logits[::3, 20:])
    assert not compiled.suits(logits[:, ::2])
    assert not compiled.suits(logits.double())
    assert [len(part) for part in table_of(compiled, logits[:0], labels[:0]).values()] == [0] * 5
    one = table_of(compiled, logits[:1], labels[:1], 2)  # strides of 1, which Triton compiles apart
    assert one["column 0"].item() == logits[0].argmax().item()


def test_ignored_labels_leave_rows_out(compiled):
    """A label to ignore is like one that is no column, for every term and rank."""
    logits, labels = drawn(6, 40)
    labels[:] = torch.tensor([3, 1, 3, 0, 2, 3], device=DEVICE)
    found, plain = table_of(compiled, logits, labels, 3, ignored=3), table_of(compiled, logits, labels, 3)
    ignored = labels == 3
    for name, values in found.items():
        assert torch.equal(values[~ignored], plain[name][~ignored]), name
        assert (values[ignored] == -1).all() if name.startswith("column") else values[ignored].isnan().all(), name


# --- ranks ---


@pytest.mark.parametrize(("columns", "r"), [(2, 2), (3, 2), (40, 8), (1024, 5), (4200, 3), (2500, 16)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_ranks_of_rows_of_any_length(compiled, columns, r, dtype):
    """The largest in order, whether or not their columns are whole blocks apart."""
    assert_same(compiled, *drawn(5, columns, dtype=dtype), r)


@pytest.mark.parametrize("columns", [7, 33])
def test_all_columns_can_be_ranked(compiled, columns, monkeypatch):
    """r may be the vocabulary, in one block or several."""
    for block in (8, 1024):
        monkeypatch.setattr(compiled, "MAX_BLOCK_COLUMNS", block)
        assert_same(compiled, *drawn(4, columns), columns)


def test_equal_logits_are_ranked_by_column(compiled):
    """Ties everywhere, within a block and across blocks: the lowest column comes first."""
    logits, labels = drawn(5, 2100)
    logits[0] = 0.0
    logits[1] = torch.arange(2100, device=DEVICE) % 3
    logits[2, [5, 1029, 2053, 6, 1030]] = 50.0  # columns a block apart, and beside them
    logits[3, [2099, 2053, 1029, 5]] = torch.tensor([50.0, 50.0, 51.0, 50.0], device=DEVICE)
    assert_same(compiled, logits, labels, 6)


def test_impossible_tokens_are_ranked_last(compiled, monkeypatch):
    """-inf has probability 0, comes after all others by column, and no column comes twice."""
    monkeypatch.setattr(compiled, "MAX_BLOCK_COLUMNS", 8)
    logits, labels = drawn(4, 21)
    logits[0, 1:], logits[1, ::2], logits[2, :20], labels[2] = -INF, -INF, -INF, 20
    assert_same(compiled, logits, labels, 21)
    assert table_of(compiled, logits, labels, 21)["p 20"][0].item() == 0


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from([-INF, -3.0, 0.0, 1.0, 2.0]), min_size=2, max_size=40).filter(lambda z: max(z) > -INF),
    st.data(),
)
def test_any_ties(compiled, row, data):
    """Few different values, in blocks of 8: the ranks are those of a stable sort."""
    r = data.draw(st.integers(1, len(row)))
    logits = torch.tensor([row], device=DEVICE)
    before, compiled.MAX_BLOCK_COLUMNS = compiled.MAX_BLOCK_COLUMNS, 8
    try:
        found = table_of(compiled, logits, torch.zeros(1, dtype=torch.int64, device=DEVICE), r)
    finally:
        compiled.MAX_BLOCK_COLUMNS = before
    order = sorted(range(len(row)), key=lambda k: (-row[k], k))
    assert [int(found[f"column {i}"].item()) for i in range(r)] == order[:r]


# --- the call that uses the pass ---


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top_r": 3},
        {"top_r": 2, "shift": True, "position_buckets": 4},
        {"ignore_index": 3, "top_r": 2},
        {"ignore_index": None},
        {"shift": True, "sample_weight": torch.arange(30.0, device=DEVICE).reshape(3, 10) % 4, "top_r": 9},
        {"positions": torch.arange(30, device=DEVICE).reshape(3, 10), "position_buckets": 7},
    ],
)
@pytest.mark.parametrize("sliced", [False, True])
def test_tokens_are_counted_the_same(compiled, monkeypatch, options, sliced):
    """`token_calibration` says the same with the pass and with plain torch, also of logits that are a slice."""
    logits = 2 * torch.randn(3, 11, 9, generator=torch.Generator().manual_seed(1)).to(DEVICE)
    targets = torch.arange(30, device=DEVICE).reshape(3, 10) % 9
    targets[1, 6:] = 3 if "ignore_index" in options else -100
    logits = logits[:, :10] if sliced else logits[:, :10].contiguous()
    monkeypatch.setattr(row_terms, "_compiled_for", lambda logits: None)
    plain = token_calibration(logits.double(), targets, **options)
    monkeypatch.setattr(row_terms, "_compiled_for", lambda logits: compiled)
    assert_same_result(token_calibration(logits, targets, **options), plain)


def assert_same_result(found, plain):
    """The counts are equal, and the sums up to single precision."""
    assert (found.n, found.ignored, found.impossible) == (plain.n, plain.ignored, plain.impossible)
    for name in ("accuracy", "confidence", "nll", "brier", "entropy"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-5), name
    assert (set(found.rth), set(found.by_position)) == (set(plain.rth), set(plain.by_position))
    for r in found.rth:
        for mine, other in ((found.rth, plain.rth), (found.within_top_r, plain.within_top_r)):
            assert mine[r].wy.sum() == other[r].wy.sum()
            assert mine[r].wp.sum() == pytest.approx(other[r].wp.sum(), rel=1e-5)
    for name in found.by_position:
        assert_same_result(found.by_position[name], plain.by_position[name])
