"""Saved recalibrators: old files give what they gave, and whatever else a file may hold is a sentence, never code."""

from __future__ import annotations

import json
import os
import pickle

import numpy as np
import pytest

from believable.errors import SchemaError
from believable.recalibrate import (
    RECALIBRATORS,
    BetaCalibration,
    HistogramBinning,
    OneVsRest,
    PlattScaling,
    load_recalibrator,
)
from believable.recalibrate.saved import MAP_VERSION
from tests.recalibrate.data import binary
from tests.recalibrate.make_saved import OUTPUTS, SAVED

OLD = {
    f"{folder.name}/{name}": (folder / f"{name}.json", recorded)
    for folder in sorted(SAVED.iterdir())
    for name, recorded in json.loads((folder / OUTPUTS).read_text()).items()
}
TEXT = (SAVED / "v1" / "platt_2.json").read_text()
NOT_JSON = "this is not a saved recalibrator: it cannot be read as JSON"


def changed(**fields):
    return json.dumps(json.loads(TEXT) | fields)


def refused(source, sentence):
    """It is refused with this sentence, whole, or ending in "..."."""
    with pytest.raises(SchemaError) as caught:
        load_recalibrator(source)
    if sentence.endswith("..."):
        assert str(caught.value).startswith(sentence.removesuffix("..."))
    else:
        assert str(caught.value) == sentence


# --- old files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OLD)
def test_old_files_give_what_they_gave(name):
    """Every file that was ever kept is read, and gives the outputs recorded beside it."""
    path, recorded = OLD[name]
    model = load_recalibrator(path)
    np.testing.assert_allclose(model.transform(recorded["scores"]), recorded["gives"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in OLD if name.startswith(f"v{MAP_VERSION}/")])
def test_files_are_written_as_they_were(name):
    """What was read from a file of the present version is written as it stood."""
    path, _ = OLD[name]
    assert json.loads(load_recalibrator(path).to_json()) == json.loads(path.read_text())


@pytest.mark.parametrize("cls", RECALIBRATORS.values(), ids=RECALIBRATORS)
def test_every_recalibrator_has_old_files(cls):
    """There is a file of every recalibrator, for one event and for four classes."""
    wanted = {f"v{MAP_VERSION}/{cls.facts.alias}_{n_classes}" for n_classes in (2, 4)}
    assert wanted <= set(OLD), "python -m tests.recalibrate.make_saved adds what is missing"


def test_every_old_file_has_outputs():
    """No file lies there unused."""
    files = {path for path in SAVED.rglob("*.json") if path.name != OUTPUTS}
    assert files == {path for path, _ in OLD.values()}


@pytest.mark.parametrize(
    "text", [TEXT.strip()[1:], TEXT.strip()[1:] * 50, '"' + TEXT, "x" * 5000, "Sure, here it is:\n" + TEXT]
)
def test_text_that_does_not_begin_as_json_is_refused(text):
    """JSON without its first character is no path, however long it is: one sentence, not an error of the system."""
    with pytest.raises(SchemaError, match="the text does not begin with") as e:
        load_recalibrator(text)
    assert len(str(e.value)) < 400


# --- damaged text -----------------------------------------------------------------------------------------------------


def test_half_a_file_is_refused():
    """No beginning of a file is mistaken for the whole."""
    for length in range(1, len(TEXT.strip())):
        refused(TEXT[:length], f"{NOT_JSON} (...")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "this is not a saved recalibrator: found None"),
        ('{"schema": "believable.cells", "version": 1}', "this is not a saved recalibrator: found 'believable.cells'"),
        (changed(version=2), "version 2 cannot be read by this package, which reads versions up to 1"),
        (changed(version="1"), "version '1' cannot be read by this package, which reads versions up to 1"),
        (changed(version=True), "version True cannot be read by this package, which reads versions up to 1"),
        (changed(version=0), "version 0 cannot be read by this package, which reads versions up to 1"),
        (changed(version=None), "version None cannot be read by this package, which reads versions up to 1"),
        (changed(method="os.system"), "there is no recalibrator 'os.system'"),
        (changed(method="Recalibrated"), "there is no recalibrator 'Recalibrated'"),
        (changed(method=["PlattScaling"]), "there is no recalibrator ['PlattScaling']"),
        (
            changed(more=1),
            "a saved recalibrator has the fields ['classes', 'columns', 'input', 'maps', 'method', 'settings'], but this "
            "one also has ['more']",
        ),
        (
            json.dumps({k: v for k, v in json.loads(TEXT).items() if k not in ("maps", "input")}),
            "a saved recalibrator has the fields ['classes', 'columns', 'input', 'maps', 'method', 'settings'], but this "
            "one lacks ['input', 'maps']",
        ),
        (changed(columns=3), "the saved columns must be 2 (or 1 for two classes), got 3"),
        (changed(classes=[1, 1]), "the saved classes must be distinct labels, got [1, 1]"),
        (changed(classes=[[0], [1]]), "the saved classes must be distinct labels, got [[0], [1]]"),
        (changed(maps=[]), "the saved maps of PlattScaling do not fit 2 classes"),
        (changed(maps=[None]), "a map of PlattScaling has the fields ['intercept', 'slope']"),
        (changed(maps=[{"slope": "1", "intercept": 0}]), "the saved slope must hold numbers"),
        (changed(maps=[{"slope": True, "intercept": 0}]), "the saved slope must hold numbers"),
        (changed(settings={}), "the saved settings of PlattScaling must be ['targets'], got {}"),
        (
            changed(input="odds"),
            "the saved settings of PlattScaling are invalid: input must be one of 'probabilities', ...",
        ),
        (TEXT.replace('"version": 1', '"version": 1, "version": 1'), "a field occurs twice"),
        (TEXT.replace('"slope"', '"slope": 0, "slope"'), "a field occurs twice"),
        (TEXT + "{}", f"{NOT_JSON} (Extra data..."),
        (TEXT.replace('"', "'"), f"{NOT_JSON} (..."),
        (TEXT.replace("}]", "},]"), f"{NOT_JSON} (..."),
        ("{" + "\0" * 100, f"{NOT_JSON} (..."),
    ],
)
def test_damaged_and_foreign_text(text, sentence):
    """Whatever is wrong with a file is said in a sentence."""
    refused(text, sentence)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_are_not_json(word):
    """NaN and infinities are not JSON and no numbers of a map, wherever they stand."""
    sentence = f"{word} is not allowed in a saved recalibrator"
    refused(TEXT.replace('"columns": 1', f'"columns": {word}'), sentence)
    refused(TEXT.replace('"labels"', word), sentence)
    refused(TEXT.replace('"slope": ', f'"slope": {word}, "steep": '), sentence)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        ("1e999", "the saved slope must hold finite numbers"),
        ("-1e999", "the saved slope must hold finite numbers"),
        ("1" + "0" * 400, "the saved slope has numbers that are too large"),
        ("1" * 100_000, f"{NOT_JSON} (Exceeds the limit ..."),
    ],
    ids=["1e999", "-1e999", "10^400", "100,000 digits"],
)
def test_huge_numbers(number, sentence):
    """Numbers that float64 cannot hold are refused, however they are written."""
    one = json.loads(TEXT)["maps"][0]["slope"]
    refused(TEXT.replace(str(one), number), sentence)


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"settings":{"method":', '{"maps":[['])
def test_deep_nesting(opening, tmp_path):
    """A hundred thousand brackets are a sentence, not a crash."""
    path = tmp_path / "deep.json"
    path.write_text(opening * 100_000)
    refused(path, f"{NOT_JSON} (...")
    refused('{"schema":' + opening * 100_000, f"{NOT_JSON} (...")


def test_settings_nested_in_settings():
    """A recalibrator within a recalibrator within a recalibrator ends in a sentence."""
    settings = '{"method": null, "normalise": true, "multilabel": false}'
    for _ in range(400):
        inner = '{"method": "OneVsRest", "input": "logits", "settings": ' + settings + "}"
        settings = '{"method": ' + inner + ', "normalise": true, "multilabel": false}'
    text = changed(method="OneVsRest", settings="here").replace('"here"', settings)
    refused(text, "the saved settings are nested too deeply")


def test_ten_megabytes():
    """A string of ten megabytes in any place is refused, or kept where any label may stand."""
    long = "x" * 10_000_000
    refused(changed(schema=long), "this is not a saved recalibrator: found 'xxx...")
    refused(changed(method=long), "there is no recalibrator 'xxx...")
    refused(changed(maps=long), "the saved maps of PlattScaling do not fit 2 classes")
    refused(changed(maps=[{"slope": long, "intercept": 0}]), "the saved slope must hold numbers")
    assert load_recalibrator(changed(classes=["no", long])).classes_[1] == long


def test_sentences_are_short():
    """However much a file holds, what is said of it is a sentence."""
    long = "x" * 10_000_000
    sources = [
        *(
            changed(**{name: long})
            for name in ("schema", "version", "method", "input", "columns", "classes", "settings")
        ),
        changed(settings={"targets": long}),
        changed(classes=[1] * 1_000_000),
        changed(**{long: 1}),
    ]
    for source in sources:
        with pytest.raises(SchemaError) as caught:
            load_recalibrator(source)
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "labels",
    ['["1", 1]', '["True", true]', "[1e999, 0]", "[0, -1e999]", "[true, 1]", f"[0, 1{'0' * 400}]"],
    ids=lambda labels: labels[:12],
)
def test_labels_that_are_none(labels):
    """Labels that an array could not tell apart, or that cannot be written again, are refused."""
    refused(TEXT.replace("[0, 1]", labels), "the saved classes must be distinct labels, got ...")


def test_settings_too_large():
    """A setting that float64 cannot hold is refused like any other."""
    saved = json.loads((SAVED / "v1" / "matrix_4.json").read_text()) | {"settings": {"penalty": 10**400}}
    refused(json.dumps(saved), "the saved settings of MatrixScaling are invalid: ...")


def test_no_map_for_scores():
    """Scores of any size cannot be left as they are, so every class needs its map."""
    saved = json.loads((SAVED / "v1" / "platt_unseen_4.json").read_text()) | {"input": "scores"}
    refused(json.dumps(saved), "a map of PlattScaling has the fields ['intercept', 'slope']")


# --- files ------------------------------------------------------------------------------------------------------------


class Trap:
    """Unpickling this would make a directory."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_not_unpickled(protocol, tmp_path):
    """A pickle, which could run anything, is refused unread."""
    path, sprung = tmp_path / "map.json", tmp_path / "sprung"
    path.write_bytes(pickle.dumps(Trap(sprung), protocol))
    with pytest.raises(SchemaError):
        load_recalibrator(path)
    assert not sprung.exists()


def test_code_is_text():
    """A label that looks like code is a label."""
    label = "__import__('os').mkdir('sprung')"
    assert load_recalibrator(changed(classes=["no", label])).predict([1.0]) == [label]


@pytest.mark.parametrize(
    "content", [bytes(range(256)), TEXT.encode("utf-16"), b"\x80"], ids=["bytes", "utf-16", "one byte"]
)
def test_binary_files(content, tmp_path):
    """A file that is not text is said to be none."""
    path = tmp_path / "map.json"
    path.write_bytes(content)
    refused(path, f"{path} is not a text file, so not a saved recalibrator")


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 1000, b"p,y\n0.1,0\n", b"null", b"[]", b'"a"'], ids=lambda content: repr(content[:4])
)
def test_other_files(content, tmp_path):
    """A file that holds something else is refused."""
    path = tmp_path / "map.json"
    path.write_bytes(content)
    refused(path, "this is not a saved recalibrator: ...")


@pytest.mark.parametrize("as_text", [False, True])
def test_no_such_file(as_text, tmp_path):
    """A path that leads nowhere is the system's own error, which names it."""
    path = tmp_path / "nowhere.json"
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        load_recalibrator(str(path) if as_text else path)


def test_white_space_around(tmp_path):
    """White space before and after changes nothing, in text and in files."""
    path = tmp_path / "map.json"
    path.write_text(f"\r\n\t {TEXT}\r\n\n")
    expected = load_recalibrator(TEXT).transform([0.3])
    assert load_recalibrator(path).transform([0.3]) == expected
    assert load_recalibrator(path.read_text()).transform([0.3]) == expected


def test_byte_order_mark(tmp_path):
    """The mark that some editors put first is not looked at, in text and in files."""
    path = tmp_path / "map.json"
    path.write_text(TEXT, encoding="utf-8-sig")
    expected = load_recalibrator(TEXT).transform([0.3])
    assert load_recalibrator(path).transform([0.3]) == expected
    assert load_recalibrator("\ufeff" + TEXT).transform([0.3]) == expected


def test_a_list_is_text():
    """Text that begins a list is JSON too, if not a recalibrator."""
    refused("[]", "this is not a saved recalibrator: found 'list'")
    refused("[" * 100_000, f"{NOT_JSON} (...")


def test_a_crash_leaves_the_old_file(tmp_path, monkeypatch):
    """When writing fails half-way the file is still what it was, and nothing lies beside it."""
    path = tmp_path / "map.json"
    path.write_text(TEXT)
    model = load_recalibrator(path)

    def half(self, text, **_):
        with open(self, "w") as file:
            file.write(text[: len(text) // 2])
        raise OSError("no space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", half)
    with pytest.raises(OSError, match="no space left"):
        model.to_json(path)
    assert path.read_text() == TEXT
    assert [file.name for file in tmp_path.iterdir()] == ["map.json"]


def test_links_and_permissions_stay(tmp_path):
    """Writing through a link replaces what it leads to, with the permissions that had."""
    path, link = tmp_path / "map.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    load_recalibrator(TEXT).to_json(link)
    assert link.is_symlink()
    assert path.read_text() == TEXT
    assert path.stat().st_mode & 0o777 == 0o640


def test_written_files(tmp_path):
    """A file holds the text that is returned and a newline, replaces what was there, and non-ASCII labels survive."""
    p, y = binary()
    path = tmp_path / "map.json"
    path.write_text("x" * 100_000)
    model = PlattScaling().fit(p, np.array(["nein", "jä ☂"])[y])
    assert path.read_text() != model.to_json(path)
    assert path.read_text() == model.to_json() + "\n"
    assert [file.name for file in tmp_path.iterdir()] == ["map.json"]
    assert load_recalibrator(str(path)).classes_.tolist() == ["jä ☂", "nein"]


def test_a_failed_write_says_so(tmp_path):
    """Where there is no folder the system's own error says so, and nothing is left behind."""
    with pytest.raises(FileNotFoundError, match="nowhere"):
        PlattScaling().fit(*binary()).to_json(tmp_path / "nowhere" / "map.json")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_leaves_the_file(tmp_path):
    """A map that JSON cannot hold is an error before the file is touched."""
    path = tmp_path / "map.json"
    path.write_text("as it was")
    model = PlattScaling().fit(*binary())
    model.maps_ = ({"slope": np.nan, "intercept": 0.0},)
    with pytest.raises(ValueError, match="JSON"):
        model.to_json(path)
    assert path.read_text() == "as it was"


def test_inner_recalibrators_are_looked_up_too():
    """A method within the settings must be in the table, with settings of its own that make sense."""
    p, y = binary()
    saved = json.loads(OneVsRest(BetaCalibration()).fit(p, y).to_json())
    for change, sentence in (
        ({"method": "subprocess.Popen"}, "there is no recalibrator 'subprocess.Popen'"),
        (
            {"settings": {"parameters": "abc"}},
            "the saved settings of BetaCalibration are invalid: parameters must be ...",
        ),
        ({"more": 1}, "a saved setting is neither a plain value nor a recalibrator"),
    ):
        inner = saved["settings"]["method"] | change
        refused(json.dumps(saved | {"settings": saved["settings"] | {"method": inner}}), sentence)


def test_settings_that_are_no_settings():
    """Nested lists, labels of several kinds and text with zero bytes are refused, not stumbled over."""
    shift = json.loads((SAVED / "v1" / "prior_shift_2.json").read_text())
    nested = shift | {"settings": {"source": None, "target": [[1, 2], [3]]}}
    refused(json.dumps(nested), "the saved settings of PriorShift are invalid: ...")
    refused(TEXT.replace("[0, 1]", '["a", 1]'), "the saved classes must be distinct labels, got ['a', 1]")
    refused(TEXT.replace("[0, 1]", f"[0, {2**64 - 1}]"), "the saved classes must be distinct labels, got ...")
    with pytest.raises(SchemaError, match="neither JSON nor the path of a file"):
        load_recalibrator("\x00{")


def test_a_method_inside_is_saved_with_the_input_outside():
    """What a method inside was made for does not matter, to fitting or to loading."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 300)
    labels = (p.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
    model = OneVsRest(HistogramBinning(input="scores", strategy="uniform")).fit(p, labels)
    loaded = load_recalibrator(model.to_json())
    np.testing.assert_array_equal(loaded.transform(p), model.transform(p))
