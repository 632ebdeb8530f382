"""TensorBoard: what the writers of PyTorch and tensorboardX wrote, read by TensorBoard itself."""

from __future__ import annotations

import doctest
import importlib
import io
import math

import numpy as np
import pytest
from matplotlib import image

import believable
from believable.errors import InputError
from tests.needs import need

need("tensorboard")

from believable.integrations import tensorboard as ours  # noqa: E402
from believable.integrations.tensorboard import log_audit, log_calibration  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # those of TensorBoard and of what it uses

RNG = np.random.default_rng(0)
SCORES = RNG.random(400)
LABELS = (RNG.random(400) < SCORES**1.6).astype(int)


@pytest.fixture(params=["torch.utils.tensorboard", "tensorboardX"])
def writer(request, tmp_path):
    """A writer of events."""
    if request.param.startswith("torch"):
        need("torch")
    made = importlib.import_module(request.param).SummaryWriter(str(tmp_path))
    made.folder = tmp_path
    yield made
    made.close()


def read(writer):
    """Close the writer, and return what TensorBoard reads."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    writer.close()
    return EventAccumulator(str(writer.folder), size_guidance={"scalars": 0, "images": 0, "tensors": 0}).Reload()


def scalars(found):
    """The last value of every scalar."""
    return {tag: found.Scalars(tag)[-1].value for tag in found.Tags()["scalars"]}


def text(found, tag):
    """The last text under a tag, which TensorBoard keeps as a tensor."""
    return found.Tensors(f"{tag}/text_summary")[-1].tensor_proto.string_val[0].decode()


def test_an_audit_is_written(writer):
    """Numbers are those of the audit in single precision; answer and report are text; the diagram is a picture."""
    audit = believable.audit(SCORES, LABELS, title="a <b>title</b> / $x$ é")
    log_audit(audit, writer, 5)
    found = read(writer)
    kept = scalars(found)
    for one in audit.metrics:
        assert kept[f"calibration/{one.alias}"] == np.float32(one.value)
        for end, value in {"low": one.low, "high": one.high, "noise_floor": one.floor}.items():
            assert kept.get(f"calibration/{one.alias}_{end}") == (None if value is None else np.float32(value))
    assert text(found, "calibration/answer") == audit.verdict.answer
    assert text(found, "calibration/verdict") == audit.verdict.headline
    assert text(found, "calibration/report") == audit.to_markdown()
    (picture,) = found.Images("calibration/diagram")
    assert picture.step == 5
    assert (picture.width, picture.height) == (600, 825)
    drawn = image.imread(io.BytesIO(picture.encoded_image_string))
    assert drawn[..., :3].min() < 0.2 < 0.9 < drawn[..., :3].mean()


def test_steps_and_prefixes(writer):
    """Each step has its numbers under the prefix, and nothing that was not asked for."""
    options = {"prefix": "val/", "page": False, "picture": False, "fix": False, "sample_weight": RNG.random(400)}
    audits = [
        log_calibration(SCORES**power, LABELS, writer=writer, step=i, **options) for i, power in enumerate((1, 2))
    ]
    found = read(writer)
    steps = [(one.step, one.value) for one in found.Scalars("val/calibration/ece")]
    assert steps == [(i, np.float32(audit["ece"].value)) for i, audit in enumerate(audits)]
    assert all(audit.weighted for audit in audits)
    assert found.Tags()["images"] == []
    assert "val/calibration/report/text_summary" not in found.Tags()["tensors"]


def test_classes_and_subgroups_with_hostile_names(writer, caplog):
    """Every class and every subgroup has its numbers under a name of its own, which the writer did not have to change."""
    names = np.array(["a/b", "a_b", "..", "<i>é"])
    scores = RNG.dirichlet(np.ones(4), 400)
    labels = names[[RNG.choice(4, p=row) for row in scores]]
    groups = {"part $/<b>.": np.resize(["a/b", "a_b", "", "é ü", "0.5", "x" * 300], 400)}
    predictions = believable.Predictions(scores, labels, classes=names)
    audit = log_calibration(predictions, writer=writer, by=groups, fix=False, page=False, picture=False)
    assert "is illegal" not in caplog.text
    kept = scalars(read(writer))
    for folder, parts in (("classes", audit.parts), ("subgroups", audit.subgroups)):
        ece = [
            value for name, value in kept.items() if name.startswith(f"calibration/{folder}/") and name.endswith("/ece")
        ]
        assert sorted(ece) == sorted(np.float32(part.ece) for part in parts)
    assert len(audit.parts) == 4
    assert len(audit.subgroups) == 6


def test_an_infinite_log_loss(writer):
    """It stays infinite; undefined numbers are left out."""
    audit = log_calibration(
        [0.0, 1.0, 0.5, 0.4] * 30, [1, 1, 0, 1] * 30, writer=writer, fix=False, page=False, picture=False
    )
    kept = scalars(read(writer))
    assert audit["nll"].value == kept["calibration/nll"] == math.inf
    assert not any(math.isnan(value) for value in kept.values())
    assert "calibration/slope_noise_floor" not in kept


def test_wrong_uses_are_named(writer):
    """Before anything is written."""
    audit = believable.audit(SCORES, LABELS, fix=False)
    with pytest.raises(InputError, match=r"writer must be a SummaryWriter .*, got str, which has no add_scalar"):
        log_audit(audit, "runs")
    with pytest.raises(InputError, match=r"writer must be a SummaryWriter .*, got NoneType, which has no add_scalar"):
        log_calibration(SCORES, LABELS, writer=None)
    with pytest.raises(InputError, match=r"audit must be an Audit, which believable\.audit returns, got str"):
        log_audit("audit", writer)
    with pytest.raises(InputError, match="prefix must consist of letters"):
        log_audit(audit, writer, prefix="a b")
    with pytest.raises(InputError, match="page must be True or False"):
        log_audit(audit, writer, page=0)
    assert scalars(read(writer)) == {}


def test_the_example_runs():
    """That of the docstring."""
    need("torch")
    assert doctest.testmod(ours).failed == 0
    assert doctest.testmod(ours).attempted > 0
