"""The benchmark behind docs/arena.md: its arithmetic, its splits, the files it reads, and a small run of our own maps."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks import arena
from benchmarks.arena_board import leaderboard, slices
from benchmarks.arena_methods import NOTHING, Competitor, competitors, probabilities, recalibrate
from benchmarks.arena_sets import KEPT, TUNING, Experiment, FileError, models, read_hdf5, split

from tests.needs import need


def record(table="a", model="forest", rows=100, classes=2, failed=None, **log_losses):
    """An experiment with these log losses, Brier scores of half of them, and a second for everybody."""
    results = {name: [loss, loss / 2, 1.0] for name, loss in log_losses.items()}
    results |= {name: [None, None, None] for name in failed or {}}
    return {"table": table, "model": model, "part": "kept", "rows": rows, "classes": classes} | {
        "results": results,
        "failed": failed or {},
    }


def simulated(n=200, seed=0, n_classes=2, part="kept", raw=False):
    """Over-confident predictions of a known truth."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(2 * n, n_classes))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = np.array([rng.choice(n_classes, p=row) for row in p])
    q = p**2.5 / (p**2.5).sum(axis=1, keepdims=True)
    q = np.log(q[:, 1] / q[:, 0]) if raw else q
    return Experiment("simulated", "SVM" if raw else "forest", part, q[:n], y[:n], q[n:], y[n:])


# --- the leaderboard ---


def test_the_leaderboard_by_hand():
    """Every figure of three experiments on two tables, computed with pencil and paper."""
    board = leaderboard(
        [
            record("a", nothing=0.50, good=0.40, bold=0.30),
            record("a", nothing=0.50, good=0.50, bold=0.60),
            record("b", nothing=0.30, good=0.305, bold=0.30),
        ]
    )
    assert list(board) == ["bold", "good", "nothing"]  # by regret
    good, bold, nothing = (board[name] for name in ("good", "bold", "nothing"))
    assert good["gain"] == pytest.approx((0.10 + 0 - 0.005) / 3, rel=1e-3)
    assert (good["median"], bold["median"]) == (0, 0)
    assert (good["harm"], good["harm_much"], good["worst"]) == pytest.approx((100 / 3, 0, 0.005), rel=1e-3)
    assert (bold["harm"], bold["harm_much"], bold["worst"]) == pytest.approx((100 / 3, 100 / 3, 0.1), rel=1e-3)
    assert good["regret"] == pytest.approx((0.10 + 0 + 0.005) / 3, rel=1e-3)
    assert bold["regret"] == pytest.approx(0.10 / 3, rel=1e-3)
    assert nothing["regret"] == pytest.approx(0.20 / 3, rel=1e-3)
    # a standard error over tables: the means 0.05 and 0.005 of good differ by 0.045
    assert good["regret_error"] == pytest.approx(0.045 / 2, rel=1e-3)
    # shares of the two others: good beats nothing; ties with nothing and beats bold; is last
    assert good["win"] == pytest.approx(100 * (0.5 + 0.75 + 0) / 3, rel=1e-3)
    assert bold["win"] == pytest.approx(100 * (1 + 0 + 0.75) / 3, rel=1e-3)
    assert nothing["win"] == pytest.approx(100 * (0 + 0.75 + 0.75) / 3, rel=1e-3)
    assert bold["brier"] == pytest.approx((0.1 - 0.05 + 0) / 3, rel=1e-3)


def test_a_failure_counts_as_doing_nothing():
    """Its losses are those of the scores as they are, and it is counted."""
    board = leaderboard([record(nothing=0.5, failed={"weak": "ValueError: no"}), record(nothing=0.4, weak=0.3)])
    assert (board["weak"]["failed"], board["weak"]["n"]) == (1, 2)
    assert board["weak"]["gain"] == pytest.approx(0.05)
    assert board["weak"]["harm"] == 0


def test_who_is_on_a_leaderboard():
    """Only those who took part in all of its experiments."""
    records = [record(nothing=0.5, both=0.4, two=0.4), record(nothing=0.5, both=0.4, classes=3)]
    assert set(leaderboard(records)) == {"nothing", "both"}
    assert set(leaderboard(slices(records)["two classes"])) == {"nothing", "both", "two"}


def test_slices():
    """By classes, rows and model; a slice without experiments is left out."""
    records = [record(rows=299, nothing=1), record(rows=300, model="SVM", nothing=1), record(classes=3, nothing=1)]
    found = {title: len(kept) for title, kept in slices(records).items()}
    assert found == {
        "two classes": 2,
        "two classes, fewer than 300 rows": 1,
        "two classes, 300 rows and more": 1,
        "several classes": 1,
        "model: forest": 1,
        "model: SVM": 1,
    }


# --- experiments ---


def test_losses_are_clipped_alike():
    """A probability of 0 for what happened costs -log of about 1e-6, and rows sum to 1."""
    log_loss, brier = arena.losses(np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([0, 1]))
    assert log_loss == pytest.approx((-np.log(1e-6) + np.log(2)) / 2, abs=1e-5)
    assert brier == pytest.approx((2 + 0.5) / 2, abs=1e-5)


def test_splits_are_fixed_and_disjoint():
    """The same rows in every run, 2 to 1 to 1, with each class in proportion."""
    labels = np.repeat([0, 1], [300, 100])
    parts = split("some table", labels)
    for part, again in zip(parts, split("some table", labels), strict=True):
        np.testing.assert_array_equal(part, again)
    assert [len(part) for part in parts] == [200, 100, 100]
    assert [int(labels[part].sum()) for part in parts] == [50, 25, 25]
    assert len(np.unique(np.concatenate(parts))) == 400
    assert [int(part[:3].sum()) for part in parts] == [1082, 766, 522]  # as when docs/arena.json was made
    assert not np.array_equal(parts[0], split("another table", labels)[0])


def test_no_table_is_for_tuning_and_for_judging():
    """No name is in both lists, or twice in one."""
    names = [table.name for table in (*TUNING, *KEPT)]
    assert len(set(names)) == len(names)


def test_fewer_rows_are_drawn_by_a_fixed_seed():
    """The same rows in every run; sizes that an experiment does not have, or without a class, are left out."""
    experiment = simulated()
    made = list(arena.sized(experiment, [50, 120, 500], 1500))
    assert [len(one.fit_labels) for one in made] == [50, 120]
    np.testing.assert_array_equal(made[0].fit, experiment.of_rows(50).fit)
    assert [len(one.fit_labels) for one in arena.sized(experiment, [], 90)] == [90]
    assert list(arena.sized(experiment, [1], 90)) == []


# --- a run ---


@pytest.mark.parametrize("experiment", [simulated(100), simulated(100, n_classes=3), simulated(100, raw=True)])
def test_every_map_of_ours_runs(experiment):
    """On probabilities of two and three classes and on raw scores, without a failure."""
    entries = [one for one in competitors() if one.package in ("believable", "numpy")]
    made = arena.judge(experiment, entries)
    assert made["failed"] == {}
    assert set(made["results"]) == {entry.name for entry in entries}
    assert made["results"]["believable platt"][0] < made["results"][NOTHING][0]


def test_losses_are_reproducible():
    """Whoever draws folds or knots at random does so with a fixed seed."""
    entries = [one for one in competitors() if one.package == "believable"]
    first, second = (arena.judge(simulated(60, raw=True), entries)["results"] for _ in range(2))
    assert {name: found[:2] for name, found in first.items()} == {name: found[:2] for name, found in second.items()}


def test_scikit_learn_is_the_maps_it_wraps():
    """Its isotonic regression of decision values is ours, computed by CalibratedClassifierCV."""
    entries = [one for one in competitors() if one.name in ("scikit-learn isotonic", "believable isotonic")]
    results = arena.judge(simulated(raw=True), entries)["results"]
    assert results["scikit-learn isotonic"][1] == pytest.approx(results["believable isotonic"][1], abs=1e-5)


def test_whatever_goes_wrong_is_counted():
    """A competitor that raises, or returns what is no table of probabilities, has failed; the run goes on."""
    experiment = simulated(20)
    entries = [
        Competitor("raises", "x", lambda fit, labels, test: 1 / 0),
        Competitor("short", "x", lambda fit, labels, test: test[:3]),
        Competitor("nan", "x", lambda fit, labels, test: test * np.nan),
        Competitor("writes", "x", lambda fit, labels, test: test.__imul__(1)),
    ]
    made = arena.judge(experiment, entries)
    assert made["failed"] == {
        "raises": "ZeroDivisionError: division by zero",
        "short": "ValueError: returned an array of shape (3, 2)",
        "nan": "ValueError: returned values that are not finite",
    }
    before = experiment.test.copy()
    recalibrate(Competitor("scales", "x", lambda fit, labels, test: test.__imul__(0.5)), experiment)
    np.testing.assert_array_equal(experiment.test, before)


def test_raw_scores_become_probabilities():
    """By their sigmoid; probabilities stay as they are."""
    np.testing.assert_allclose(probabilities(np.array([0.0, -1000.0])), [[0.5, 0.5], [1, 0]])
    assert probabilities(np.eye(2)).tolist() == np.eye(2).tolist()


def test_what_is_written_can_be_read():
    """The text is the JSON of the run, and the records can be had back from it."""
    entries = [one for one in competitors() if one.name in (NOTHING, "believable platt")]
    entries.append(Competitor("raises", "x", lambda fit, labels, test: 1 / 0))
    entries.append(Competitor("one event", "x", lambda fit, labels, test: test, most_classes=2))
    records = [arena.judge(simulated(80, n_classes=k), entries) for k in (2, 3)]
    made = arena.summary(records)
    assert json.loads(arena.lines(made)) == made
    assert arena.unpacked(made) == records


def test_what_is_kept():
    """The leaderboards in docs/arena.json are those of the experiments in it."""
    kept = json.loads(arena.KEPT.read_text())
    assert {one["model"] for one in kept["experiments"]} <= set(models())
    for part, boards in kept["leaderboards"].items():
        chosen = slices([one for one in arena.unpacked(kept) if one["part"] == part])
        assert {title: leaderboard(found) for title, found in chosen.items()} == boards


# --- files of predictions ---


@pytest.fixture
def written(tmp_path):
    """A function that writes groups of arrays to an HDF5 file."""
    h5py = need("h5py")

    def write(**groups):
        path = tmp_path / "predictions.h5"
        with h5py.File(path, "w") as file:
            for name, arrays in groups.items():
                group = file.create_group(name.replace("__", "/"))
                for key, values in arrays.items():
                    group[key] = values
        return path

    return write


def arrays(n=40, **changed):
    """The four arrays of a group, some of them changed."""
    p = np.linspace(0.1, 0.9, n)
    y = (p > 0.5).astype(int)
    return {"probas_cal": p, "labels_cal": y, "probas_test": p, "labels_test": y} | changed


def test_hdf5(written):
    """Groups are experiments; a single column is the probability of class 1; float32 rows are normalised."""
    p = np.full((6, 3), 1 / 3, dtype=np.float32)
    y = np.array([0, 1, 2, 0, 1, 2])
    several = {"probas_cal": p, "labels_cal": y, "probas_test": p, "labels_test": y}
    one, three = read_hdf5(written(churn__forest=arrays(), digits__cnn=several))
    assert (one.table, one.model, one.n_classes, one.raw) == ("churn", "forest", 2, False)
    np.testing.assert_allclose(one.fit[:, 1], np.linspace(0.1, 0.9, 40))
    assert (three.table, three.n_classes) == ("digits", 3)
    np.testing.assert_allclose(three.test.sum(axis=1), 1, rtol=1e-15)
    entries = [entry for entry in competitors() if entry.name == "believable platt"]
    assert arena.judge(one, entries)["failed"] == {}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a__m": {"probas_cal": [0.5], "labels_cal": [1]}}, "a/m lacks probas_test and labels_test; a group needs probas_cal, labels_cal, probas_test, labels_test"),
        ({"a__m": arrays(labels_test=[0, 1])}, "a/m has 40 rows in probas_test but 2 in labels_test"),
        ({"a__m": arrays(probas_test=np.full((40, 3), 1 / 3))}, "a/m has 2 classes in probas_cal but 3 in probas_test"),
        ({"a__m": arrays(probas_cal=np.full(40, 1.5))}, "a/m/probas_cal must hold probabilities between 0 and 1"),
        ({"a__m": arrays(probas_cal=np.zeros((40, 2)))}, "the rows of a/m/probas_cal must sum to 1, row 0 sums to 0"),
        ({"a__m": arrays(probas_cal=np.zeros((40, 2, 2)))}, "a/m/probas_cal must have one or two dimensions, got 3"),
        ({"a__m": arrays(labels_cal=np.full(40, 2))}, "a/m/labels_cal must hold labels 0 to 1"),
        ({"a": {"probas_cal": [0.5]}}, "has no group dataset/model with the arrays"),
    ],
)  # fmt: skip
def test_hdf5_that_cannot_be_used(written, groups, message):
    """Errors say where in the file, and what is wrong."""
    with pytest.raises(FileError) as error:
        list(read_hdf5(written(**groups)))
    assert message in str(error.value)


def test_files_that_are_not_hdf5(tmp_path):
    """A missing file, and one of another kind."""
    need("h5py")
    text = tmp_path / "text.h5"
    with pytest.raises(FileError, match="there is no file"):
        list(read_hdf5(text))
    text.write_text("scores")
    with pytest.raises(FileError, match="is not an HDF5 file"):
        list(read_hdf5(text))


def test_predicted_classes_are_left_out():
    """Probabilities that are all 0 or 1 are classes; the decision values of an SVM are not."""
    p, y = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0, 1, 0, 1])
    columns = np.column_stack([np.maximum(1 - p, 1e-300), p])
    assert Experiment("", "", "", columns, y, columns, y).predicts_classes
    assert not Experiment("", "", "", p, y, p, y).predicts_classes
    assert not Experiment("", "", "", np.full((4, 2), 0.5), y, columns, y).predicts_classes
