"""`Audits`: audits of several models on the same rows, ranked by a proper score."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from believable.report.document import Audit, to_plain, written
from believable.report.parts import Versus
from believable.report.text import Section
from believable.report.wording import percents, short_name, shown

COMPARED_ALIASES = ("ece", "smece", "slope", "oe", "brier", "nll", "auc", "acc")  # each is shown if an audit has it
MAX_MODELS = 8


@final
@dataclass(frozen=True, slots=True)
class Audits:
    """Audits of several models on the same rows, best model first.

    `print` it for a table with one column per model; `to_html` writes one page with one diagram. It is a sequence of
    `Audit`, and `audits["logistic"]` is the one with that name.

    Attributes
    ----------
    audits : tuple of Audit
        The audits, ranked by a proper score, best first; the title of each is the name of its model.
    score : str
        The score they are ranked by: "log loss", or "Brier score" where a log loss is infinite.
    behind : tuple of Versus
        For every model except the best, the difference in that score from the best, with its interval.
    """

    audits: tuple[Audit, ...]
    score: str
    behind: tuple[Versus, ...]

    def __len__(self) -> int:
        return len(self.audits)

    def __iter__(self) -> Iterator[Audit]:
        return iter(self.audits)

    def __getitem__(self, name: int | str) -> Audit:
        """Return the audit of a model by its name, or by its rank from 0."""
        if isinstance(name, int):
            return self.audits[name]
        for audit in self.audits:
            if audit.title == name:
                return audit
        raise KeyError(f"there is no model {name!r}; there are {', '.join(audit.title for audit in self.audits)}")

    @property
    def best(self) -> Audit:
        """The audit of the model with the best score."""
        return self.audits[0]

    @property
    def ranking(self) -> list[str]:
        """Say which model is best, and which cannot be distinguished from it."""
        name = self.best.title
        worse = [audit.title for audit, one in self._others() if one.low > 0]
        unsure = [audit.title for audit, one in self._others() if not one.low > 0]
        said = [f"{name} has the best {self.score}."]
        if worse:
            said.append(f"{_joined(worse)} {'is' if len(worse) == 1 else 'are'} clearly worse.")
        if unsure:
            said.append(f"{_joined(unsure)} cannot be distinguished from it on these rows.")
        return said

    def _others(self) -> list[tuple[Audit, Versus]]:
        return list(zip(self.audits[1:], self.behind, strict=True))

    def rows(self) -> list[list[str]]:
        """Return the table with one column per model, heading first."""
        table = [["", *(audit.title for audit in self.audits)]]
        table.append(["at face value?", *(audit.verdict.answer for audit in self.audits)])
        confidence = self.best.verdict.about_confidence
        predicted = (percents(audit.verdict.predicted, least=1)[0] for audit in self.audits)
        observed = (percents(audit.verdict.observed, least=1)[0] for audit in self.audits)
        table.append(["average confidence" if confidence else "average prediction", *predicted])
        if not confidence or all(one.alias != "acc" for one in self.best.metrics):  # which has a row with an interval
            table.append(["accuracy" if confidence else "observed rate", *observed])
        for alias in COMPARED_ALIASES:
            measured = [next((one for one in audit.metrics if one.alias == alias), None) for audit in self.audits]
            if any(measured):
                name = next(one.name for one in measured if one is not None)
                cells = [_with_interval(one.value, one.low, one.high) if one else "" for one in measured]
                table.append([short_name(alias, name), *cells])
        differences = ["", *(_with_interval(one.difference, one.low, one.high) for one in self.behind)]
        table.append([f"{self.score} above the best", *differences])
        return table

    def sections(self) -> Iterator[Section]:
        """Yield the sections of the text, in order."""
        best = self.best
        yield Section(lines=[f"{len(self.audits)} models, {best.n:,} rows ({best.verdict.bins})"])
        yield Section(lines=[f"{audit.title}: {audit.verdict.headline}" for audit in self.audits])
        yield Section("Side by side, the best first", self.rows(), self.ranking)

    def to_text(self) -> str:
        """Return the answers, the table and the ranking as plain text."""
        return "\n\n".join(map(str, self.sections()))

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return one page on all models, written to a file if a path is given."""
        from believable.report.html import as_page_of_several

        return written(as_page_of_several(self), path)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return all audits as JSON, written to a file if a path is given."""
        saved: dict[str, Any] = {"score": self.score, "behind": to_plain(self.behind)}
        saved["audits"] = [audit.to_dict() for audit in self.audits]
        return written(json.dumps(saved, allow_nan=False), path)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Audits({', '.join(f'{audit.title}: {audit.verdict.answer}' for audit in self.audits)})"


def _with_interval(value: float, low: float | None, high: float | None) -> str:
    return shown(value) if low is None or high is None else f"{shown(value)} ({shown(low)} … {shown(high)})"


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
