"""Several models in one diagram: by name in one call, or one call after the other on the same ax."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from believable.errors import InputError
from believable.plots.style import MODEL_COLOURS, MODEL_LINE_STYLES, MODEL_MARKERS, thousands
from believable.stats.source import is_checked, refuse_extras, source_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from believable.plots.frame import Drawing
    from believable.stats.source import Source

Value = TypeVar("Value")
Framed = TypeVar("Framed", bound="HasLimit")
KEPT_ON_AX = "_believable_models"  # the attribute of an ax that remembers its models, for the next call
PAIR = 2  # a pair holds scores and labels
MAX_MODELS_WITH_BANDS = 2  # more bands would overlap


class HasLimit(Protocol):
    """The drawn values of a model, with the end of their axes."""

    @property
    def limit(self) -> float:
        """Return where the axes end."""


@dataclass(frozen=True, slots=True)
class ModelStyle:
    """How the line of one of several models looks."""

    colour: str
    dashes: Any
    marker: str


def style_of(i: int) -> ModelStyle:
    """Return the style of model i, counted from 0."""
    return ModelStyle(MODEL_COLOURS[i], MODEL_LINE_STYLES[i % len(MODEL_LINE_STYLES)], MODEL_MARKERS[i])


@dataclass(frozen=True, eq=False)
class _Shown(Generic[Value]):
    """What an ax shows of one kind of diagram, and the artists that show it."""

    kind: str
    models: list[tuple[str, Value]]
    artists: list[Any]
    title: str | None


def given_models(
    predictions: Any,
    actuals: Any,
    sample_weight: Any,
    name: str | None,
    limit: float | None,
    compute: Callable[[Source, float | None], Framed],
) -> list[tuple[str, Framed]]:
    """Return the name of each model that a function was given and what is drawn of it; a lone one may have no name.

    All of them have the same end of the axes, so those that would end earlier are computed again.
    """
    if not isinstance(predictions, Mapping):
        source = source_of(predictions, actuals, sample_weight)
        return [("" if name is None else str(name), compute(source, limit))]
    if name is not None:
        raise InputError("a dict already names its models: leave {argument} out", argument="name")
    if not predictions:
        raise InputError("there are no models to draw: the dict is empty")
    _few_enough(len(predictions))
    if all(map(is_checked, predictions.values())):
        refuse_extras("Predictions", actuals=actuals, sample_weight=sample_weight)
    sources = [_source_of_one(one, actuals, sample_weight) for one in predictions.values()]
    values = [compute(source, limit) for source in sources]
    end = max(one.limit for one in values)
    values = [one if one.limit == end else compute(source, end) for one, source in zip(values, sources, strict=True)]
    return [(str(key), value) for key, value in zip(predictions, values, strict=True)]


def _source_of_one(one: Any, actuals: Any, sample_weight: Any) -> Source:
    """Return the checked form of a value of the dict: predictions, a statistic, scores, or a (scores, labels) pair."""
    if is_checked(one):
        return source_of(one)
    if isinstance(one, tuple) and len(one) == PAIR and np.ndim(one[0]) > 0:
        if actuals is not None:
            raise InputError(
                "the dict holds (scores, labels) pairs, which have their labels: leave {argument} out",
                argument="actuals",
            )
        return source_of(one[0], one[1], sample_weight)
    return source_of(one, actuals, sample_weight)


def _few_enough(n: int) -> None:
    if n > len(MODEL_COLOURS):
        raise InputError(f"at most {len(MODEL_COLOURS)} models can be distinguished in one picture, got {n}")


@dataclass(frozen=True, eq=False)
class ModelsOnAx(Generic[Value]):
    """The models that an ax shows in one kind of diagram: those of earlier calls, then the new ones."""

    drawing: Drawing
    kind: str
    models: list[tuple[str, Value]]
    before: Sequence[Any]  # artists that are not theirs

    @classmethod
    def added(cls, drawing: Drawing, kind: str, new: Sequence[tuple[str, Value]]) -> ModelsOnAx[Value]:
        """Add models to those of earlier calls, whose artists are taken away: all are drawn again."""
        models, title = _with_earlier(drawing.ax, kind, new, drawing.title)
        return cls(replace(drawing, title=title), kind, models, drawing.ax.get_children())

    @property
    def values(self) -> dict[str, Value]:
        """The models by name."""
        return named(self.models)

    @property
    def alone(self) -> bool:
        """Whether there is one model only."""
        return len(self.models) == 1

    def finished(self, words: str, **options: Any) -> Figure:
        """Finish the picture with these words as its title, and remember the models for the next call."""
        figure = self.drawing.finished(words, **options)
        ax = self.drawing.ax
        drawn = [artist for artist in ax.get_children() if artist not in self.before]
        setattr(ax, KEPT_ON_AX, _Shown(self.kind, self.models, drawn, self.drawing.title))
        return figure


def _with_earlier(
    ax: Axes, kind: str, new: Sequence[tuple[str, Value]], title: str | None
) -> tuple[list[tuple[str, Value]], str | None]:
    """Return the models that an ax shows already, then the new ones, and the title."""
    shown: _Shown[Value] | None = getattr(ax, KEPT_ON_AX, None)
    still_there = ax.get_children()
    if shown is None or shown.kind != kind or not any(artist in still_there for artist in shown.artists):
        return list(new), title  # a new ax, or one that was cleared
    _few_enough(len(shown.models) + len(new))
    _take_away(ax, shown.artists)
    return [*shown.models, *new], title or shown.title


def _take_away(ax: Axes, artists: list[Any]) -> None:
    for artist in artists:
        if artist in ax.get_children():
            artist.remove()
    for container in [*ax.containers]:
        if not any(part in ax.get_children() for part in container.get_children()):
            ax.containers.remove(container)
    ax.tick_params(labelbottom=True)


def named(models: Sequence[tuple[str, Value]]) -> dict[str, Value]:
    """Return the models by name; several without one are numbered, and a name that comes again gets a number."""
    found: dict[str, Value] = {}
    for i, (given, value) in enumerate(models):
        name = given or ("" if len(models) == 1 else f"Model {i + 1}")
        again = 2
        unique = name
        while unique in found:
            unique, again = f"{name} ({again})", again + 1
        found[unique] = value
    return found


def rows_of_models(ns: Sequence[int]) -> str:
    """Return how many models there are, and of how many rows."""
    low, high = min(ns), max(ns)
    rows = f"n = {thousands(low)} each" if low == high else f"n = {thousands(low)} to {thousands(high)}"
    return f"{len(ns)} models, {rows}"
