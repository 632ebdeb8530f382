"""Recalibrators as JSON: saved with all that is needed to apply them, loaded with every field checked.

```
{"schema": "believable.recalibrator", "version": 1, "method": "PlattScaling", "input": "logits", "columns": 1,
 "classes": [0, 1], "settings": {"targets": "labels"}, "maps": [{"slope": 0.5, "intercept": 0.01}]}
```

`maps` is what is applied; `settings` are the arguments of the constructor, for fitting it again. Nothing in the file is
executed: the method is looked up in a table, and every number is checked for its place and range.
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from believable.errors import BelievableError, SchemaError
from believable.recalibrate._estimators import check_is_fitted
from believable.recalibrate.base import Recalibrator
from believable.recalibrate.facts import RECALIBRATORS, Map, as_method, find_recalibrator, written

MAP_SCHEMA, MAP_VERSION = "believable.recalibrator", 1
HEADER = {"schema", "version"}  # what a file has besides the fields of a recalibrator; members of an average have none
FIELDS = {"method", "input", "columns", "classes", "settings", "maps"}
BLANK_BEFORE_JSON = "\ufeff \t\r\n"  # ignored before the JSON; some editors write a byte order mark
MARKS_OF_JSON = ('"', "{", "\n")  # a text with one of them, and no file of that name, is taken for damaged JSON
LONGEST_QUOTE = 200  # errors quote at most this many characters of the file
COMMON_ARGUMENTS = ("input", "classes")  # arguments of every recalibrator, saved outside its settings
# The setting that holds several recalibrators; `nested_setting` of the class holds one. A name is replaced by the
# recalibrator: other readers know no aliases.
NESTED_SETTINGS = "methods"


def to_json(recalibrator: Recalibrator, path: str | os.PathLike[str] | None = None) -> str:
    """Return a fitted recalibrator as JSON, and write it to a file if a path is given."""
    check_is_fitted(recalibrator, "maps_")
    text = json.dumps({"schema": MAP_SCHEMA, "version": MAP_VERSION} | as_saved(recalibrator), allow_nan=False)
    if path is not None:
        _write(Path(path), text + "\n")
    return text


def as_saved(recalibrator: Recalibrator) -> dict[str, Any]:
    """Return a fitted recalibrator in its JSON form, without the name and version of the schema."""
    return {
        "method": type(recalibrator).__name__,
        "input": recalibrator.input,
        "columns": recalibrator._n_scores(),
        "classes": recalibrator.classes_.tolist(),
        "settings": _settings_out(recalibrator),
        "maps": [one if one is None else {k: written(v) for k, v in one.items()} for one in recalibrator.maps_],
    }


def load_recalibrator(source: str | os.PathLike[str]) -> Recalibrator:
    """Load a fitted recalibrator from JSON: the path of a file, or the text itself.

    Parameters
    ----------
    source : str or path
        A text that begins with "{" (or "[") is the JSON itself; anything else is the path of a file.

    Returns
    -------
    Recalibrator
        Its output is identical to that of the saved one. A damaged or foreign file, or one written by a newer version,
        raises a `SchemaError`.

    Examples
    --------
    >>> from believable.recalibrate import PlattScaling
    >>> fitted = PlattScaling(targets="smoothed").fit([0.1, 0.4, 0.35, 0.8] * 20, [0, 0, 1, 1] * 20)
    >>> load_recalibrator(fitted.to_json()).transform([0.3]) == fitted.transform([0.3])
    array([ True])
    """
    text = source.lstrip(BLANK_BEFORE_JSON) if isinstance(source, str) else ""
    if text[:1] not in ("{", "["):
        text = _read(source)
    try:
        return restored({name: value for name, value in _parsed(text).items() if name not in HEADER})
    except RecursionError as error:
        raise SchemaError("the saved settings are nested too deeply") from error


def restored(saved: dict[str, Any]) -> Recalibrator:
    """Return a fitted recalibrator from the form that `as_saved` returns, every field checked."""
    missing, unknown = sorted(FIELDS - set(saved)), sorted(set(saved) - FIELDS)
    if missing:
        raise SchemaError(f"a saved recalibrator has the fields {sorted(FIELDS)}, but this one lacks {missing}")
    if unknown:
        raise SchemaError(
            f"a saved recalibrator has the fields {sorted(FIELDS)}, but this one also has {_brief(unknown)}"
        )
    cls = _method(saved)
    recalibrator = _made(cls, saved["settings"], saved["input"])
    classes, columns, maps = saved["classes"], saved["columns"], saved["maps"]
    n_classes = _checked_classes(classes, columns)
    if not isinstance(maps, list) or len(maps) != recalibrator._n_maps(n_classes):
        raise SchemaError(f"the saved maps of {cls.__name__} do not fit {n_classes} classes")
    if columns == 1 and len(maps) > 1:
        raise SchemaError(f"{len(maps)} maps need as many columns, got 1")
    recalibrator.maps_ = tuple(_map_in(recalibrator, one, n_classes) for one in maps)
    recalibrator.classes_ = np.array(classes)
    recalibrator.n_features_in_ = columns
    if classes != list(range(n_classes)):
        recalibrator.classes = list(classes)
    return recalibrator


def _write(path: Path, text: str) -> None:
    """Write a temporary file beside the target and then replace the target, so that no half-written file is left."""
    if path.exists() and not path.is_file():  # a pipe or a terminal cannot be replaced
        path.write_text(text, encoding="utf-8")
        return
    path = path.resolve()  # keep a link, and replace the file that it points to
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_text(text, encoding="utf-8")
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


# --- Reading ----------------------------------------------------------------------------------------------------------


def _read(path: Any) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        if isinstance(path, str) and (error.errno == errno.ENAMETOOLONG or any(mark in path for mark in MARKS_OF_JSON)):
            raise SchemaError(
                f"this is not a saved recalibrator: the text does not begin with '{{', and there is no file of that "
                f"name: {_brief(path)}"
            ) from error
        raise
    except UnicodeDecodeError as error:
        raise SchemaError(f"{path} is not a text file, so not a saved recalibrator") from error
    except ValueError as error:  # the text has a zero byte, which no path can have
        raise SchemaError(f"{_brief(path)} is neither JSON nor the path of a file") from error


def _parsed(text: str) -> dict[str, Any]:
    try:
        saved = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"this is not a saved recalibrator: it cannot be read as JSON ({error})") from error
    if not isinstance(saved, dict) or saved.get("schema") != MAP_SCHEMA:
        found = saved.get("schema") if isinstance(saved, dict) else type(saved).__name__
        raise SchemaError(f"this is not a saved recalibrator: found {_brief(found)}")
    version = saved.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= MAP_VERSION:
        raise SchemaError(
            f"version {_brief(version)} cannot be read by this package, which reads versions up to {MAP_VERSION}"
        )
    return saved


def _brief(value: Any) -> str:
    return _cut(repr(value))


def _cut(words: str) -> str:
    return words if len(words) <= LONGEST_QUOTE else words[: LONGEST_QUOTE - 1] + "…"


def _refuse_constant(word: str) -> Any:
    raise SchemaError(f"{word} is not allowed in a saved recalibrator")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise SchemaError("a field occurs twice")
    return dict(pairs)


def _method(saved: dict[str, Any]) -> type[Recalibrator]:
    name = saved.get("method")
    if name == "GroupedRecalibrator":  # it needs columns besides scores, so the table does not have it
        from believable.recalibrate.grouped import GroupedRecalibrator

        return GroupedRecalibrator
    if not isinstance(name, str) or name not in RECALIBRATORS:
        raise SchemaError(f"there is no recalibrator {_brief(name)}")
    return RECALIBRATORS[name]


def _checked_classes(classes: Any, columns: Any) -> int:
    plain = isinstance(classes, list) and all(isinstance(name, (str, int, float, bool)) for name in classes)
    if not plain or len(classes) < 2 or not _are_distinct(classes):
        raise SchemaError(f"the saved classes must be distinct labels, got {_brief(classes)}")
    allowed = (1, 2) if len(classes) == 2 else (len(classes),)
    if not isinstance(columns, int) or isinstance(columns, bool) or columns not in allowed:
        raise SchemaError(f"the saved columns must be {len(classes)} (or 1 for two classes), got {_brief(columns)}")
    return len(classes)


def _are_distinct(classes: list[Any]) -> bool:
    """Return whether the labels are distinct, finite, and unchanged when NumPy stores them in one array."""
    array = np.array(classes)
    if array.dtype.kind == "O" or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        return False
    return array.tolist() == classes and len(set(classes)) == len(classes)


def _map_in(recalibrator: Recalibrator, saved: Any, n_classes: int) -> Map | None:
    if saved is None and recalibrator._n_maps(n_classes) > 1 and recalibrator.input != "scores":
        return None
    fields = recalibrator._fields()
    needed = {name for name, field in fields.items() if not field.optional}
    if not isinstance(saved, dict) or not needed <= set(saved) <= set(fields):
        raise SchemaError(f"a map of {type(recalibrator).__name__} has the fields {sorted(fields)}")
    fitted = {name: field.read(saved[name], name) for name, field in fields.items() if name in saved}
    recalibrator._check_map(fitted, n_classes)
    return fitted


# --- Settings ---------------------------------------------------------------------------------------------------------


def _settings_out(recalibrator: Recalibrator) -> dict[str, Any]:
    settings = recalibrator.get_params(deep=False)
    nested = recalibrator.nested_setting
    if isinstance(settings.get(nested), str):
        settings[nested] = find_recalibrator(settings[nested])()
    if settings.get(NESTED_SETTINGS) is not None:
        settings[NESTED_SETTINGS] = [as_method(one) for one in settings[NESTED_SETTINGS]]
    defaults = type(recalibrator)().get_params(deep=False)
    later = {name for name in recalibrator.later_settings if settings[name] == defaults[name]}
    left_out = {*COMMON_ARGUMENTS, *later}
    return {k: _setting_out(v, recalibrator.input) for k, v in settings.items() if k not in left_out}


def _setting_out(value: Any, input: str) -> Any:
    if isinstance(value, Recalibrator):  # its scale is that of the outer recalibrator
        return {"method": type(value).__name__, "input": input, "settings": _settings_out(value)}
    if isinstance(value, list) and value and isinstance(value[0], Recalibrator):
        return [_setting_out(one, one.input) for one in value]
    if isinstance(value, (np.ndarray, np.generic, tuple, list)):
        return np.asarray(value).tolist()
    return value if isinstance(value, (str, int, float, bool)) else None  # a random generator cannot be saved


def _made(cls: type[Recalibrator], settings: Any, input: Any) -> Recalibrator:
    """Return a recalibrator with these settings, each of them checked."""
    known = set(cls().get_params(deep=False)) - set(COMMON_ARGUMENTS)
    if not isinstance(settings, dict) or not known - cls.later_settings <= set(settings) <= known:
        raise SchemaError(f"the saved settings of {cls.__name__} must be {sorted(known)}, got {_brief(settings)}")
    nested = cls.nested_setting
    if isinstance(settings.get(nested), str):
        raise SchemaError(
            f"a saved {nested} must be a recalibrator with settings, not a name, got {_brief(settings[nested])}"
        )
    made = {k: _setting_in(v) if isinstance(v, dict) else v for k, v in settings.items()}
    if isinstance(made.get(NESTED_SETTINGS), list):
        made[NESTED_SETTINGS] = [_setting_in(one) for one in made[NESTED_SETTINGS]]
    recalibrator = cls(input=input, **made)
    try:
        recalibrator._check_settings()
    except (BelievableError, TypeError, ValueError, OverflowError) as error:
        raise SchemaError(f"the saved settings of {cls.__name__} are invalid: {_cut(str(error))}") from error
    return recalibrator


def _setting_in(saved: Any) -> Recalibrator:
    if not isinstance(saved, dict) or set(saved) != {"method", "input", "settings"}:
        raise SchemaError("a saved setting is neither a plain value nor a recalibrator")
    return _made(_method(saved), saved["settings"], saved["input"])
