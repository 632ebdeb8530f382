"""One group-by: sums of checked rows by (stratum, cell), and by subgroup."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import narwhals as nw

from believable.binning import Edges, Grid
from believable.engines.cells import either, flag, minus_log, minus_log_of_rest, number, stages
from believable.engines.columns import FrameColumns, unpivoted
from believable.engines.rows import COUNTABLE, checked

Pairing = Literal["binary", "confidence", "top_label", "classwise"]
PAIRINGS_OF_ALL_SCORES = ("binary", "classwise")  # pairs with every score, which proper scores need


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBy:
    """What to group by and what to sum; called with a frame, it returns the frame of sums.

    Attributes
    ----------
    columns : FrameColumns
    pairing : {"binary", "confidence", "top_label", "classwise"}
        P(y = 1) and the label; the largest score and whether its class occurred, together or by that class; the score
        of every class and whether it occurred, by class.
    sorts : tuple of Grid, or of one Edges
        The key is (stratum, cell of the first grid, cell of the second, ...), as one number. Two grids have no more
        distinct intersections than cells in total, so one group-by counts both.
    by : int or None
        The number of the column of subgroups.
    scores : bool
        Whether to sum the terms of `ScoreSums` too.
    moments : bool
        Whether to sum their second moments over rows of a matrix too.
    """

    columns: FrameColumns
    pairing: Pairing
    sorts: tuple[Grid | Edges, ...]
    by: int | None = None
    scores: bool = True
    moments: bool = False

    def __call__(self, frame: Any) -> Any:
        """Return the sums: columns key (minus the reason, for invalid rows), n, and sums by name."""
        rows = self._pairs(checked(frame, self.columns))
        p = nw.col("p")
        placed = [stages(f"place{i}", p, one) for i, one in enumerate(self.sorts)]
        for together in zip_longest(self._terms(), *placed, fillvalue={}):
            rows = rows.with_columns(**{name: made for stage in together for name, made in stage.items()})
        key = nw.col("stratum")
        for i, one in enumerate(self.sorts):
            key = key * number(len(one)) + nw.col(f"place{i}")
        good = nw.col("reason") == nw.lit(COUNTABLE, dtype=nw.Int64)
        key = either(good, key, number(0) - nw.col("reason").cast(nw.Float64))
        products = self._products()
        level = [] if self.by is None else ["level"]
        rows = rows.select(
            *level, key.cast(nw.Int64).alias("key"), *(made.alias(name) for name, made in products.items())
        )
        sums = [nw.col(name).sum() for name in products]
        return rows.group_by(*level, "key").agg(nw.len().alias("n"), *sums)

    def _pairs(self, rows: Any) -> Any:
        """Return the columns p, y, w, stratum, reason and perhaps level."""
        names, y = self.columns.names, nw.col("y")
        if self.by is not None:
            rows = rows.with_columns(nw.col(f"by{self.by}").alias("level"))
        if self.pairing == "binary":
            return rows.with_columns(nw.col(names[0]).alias("p"), number(0).alias("stratum"))
        if self.pairing != "classwise":
            rows = rows.with_columns(nw.max_horizontal(*names).alias("p"))
            none = number(len(names))  # in ties, the lowest class with the largest score
            tops = [  # with names, because before narwhals 2.26 those of one name could not be compared in pandas
                either(nw.col(name) == nw.col("p"), number(k), none).alias(f"top{k}") for k, name in enumerate(names)
            ]
            rows = rows.with_columns(nw.min_horizontal(*tops).alias("stratum"))
            rows = rows.with_columns(**self._of_row()) if self.moments else rows
            rows = rows.with_columns(flag(y == nw.col("stratum")).alias("y"))
            return rows.with_columns(number(0).alias("stratum")) if self.pairing == "confidence" else rows
        kept = ["y", "w", "reason", *(["row_brier"] if self.scores else []), *([] if self.by is None else ["level"])]
        rows = rows.filter(nw.col("reason") == nw.lit(COUNTABLE, dtype=nw.Int64))
        rows = rows.with_columns(row_brier=self._row_brier()) if self.scores else rows
        rows = rows.select(*kept, *(nw.col(name).alias(str(k)) for k, name in enumerate(names)))
        rows = unpivoted(rows, [str(k) for k in range(len(names))], kept)
        rows = rows.with_columns(nw.col("stratum").cast(nw.String).cast(nw.Int64).cast(nw.Float64))
        return rows.with_columns(flag(y == nw.col("stratum")).alias("y"))

    def _row_brier(self) -> nw.Expr:
        """Return the Brier score of a row, over all classes."""
        names = self.columns.names
        return nw.sum_horizontal(
            *(_square(nw.col(name) - flag(nw.col("y") == number(k))) for k, name in enumerate(names))
        )

    def _of_row(self) -> dict[str, nw.Expr]:
        """Return the terms of a matrix row in Brier score, log loss and entropy, and in their second moments."""
        names, total = self.columns.names, nw.sum_horizontal
        costs = [flag(nw.col("y") == number(k)) * minus_log(nw.col(name)) for k, name in enumerate(names)]
        return {
            "row_brier": self._row_brier(),
            "row_nll": total(*costs),
            "row_entropy": total(*(nw.col(name) * minus_log(nw.col(name)) for name in names)),
            "row_squares": total(*(_square(nw.col(name)) for name in names)),
            "row_cubes": total(*(nw.col(name) * _square(nw.col(name)) for name in names)),
            "row_logs": total(*(nw.col(name) * _square(minus_log(nw.col(name))) for name in names)),
        }

    def _terms(self) -> list[dict[str, nw.Expr]]:
        """Return columns that several products share, in stages, so that each is evaluated once."""
        if not self.scores or self.pairing not in PAIRINGS_OF_ALL_SCORES:
            return []
        p, occurred = nw.col("p"), nw.col("y") == number(1)
        rest, log, log_rest = number(1) - p, nw.col("log"), nw.col("log_rest")
        logs = {"log": minus_log(p)}
        terms = {"squared": either(occurred, rest * rest, p * p)}
        if self.pairing == "binary":
            logs["log_rest"] = minus_log_of_rest(p)
            terms["cost"] = either(occurred, log, log_rest)
            terms["infinite"] = flag((occurred & (p <= number(0))) | (~occurred & (p >= number(1))))
            terms["doubt"] = p * log + rest * log_rest
            terms["sure"] = either(p > rest, p, rest)
            terms["right"] = either(p > number(0.5), nw.col("y"), number(1) - nw.col("y"))
        else:
            terms["cost"] = either(occurred, log, number(0))
            terms["infinite"] = flag(occurred & (p <= number(0)))
            terms["doubt"] = p * log
        return [logs, terms]

    def _products(self) -> dict[str, nw.Expr]:
        """Return what is summed, by name: the sums of `Counts` and, if requested, of `ScoreSums`."""
        p, y = nw.col("p"), nw.col("y")
        times, twice = self._times, self._twice
        made = {"ny": y, "wp": times(p), "wpp": times(p * p), "wpy": times(p * y)}
        if self.columns.weight is not None:
            made |= {"w": nw.col("w"), "wy": times(y)}
            made |= {
                "w2": twice(number(1)),
                "w2p": twice(p),
                "w2pp": twice(p * p),
                "w2y": twice(y),
                "w2py": twice(p * y),
            }
        if self.moments:
            made |= self._moments()
        if not self.scores or self.pairing not in PAIRINGS_OF_ALL_SCORES:
            return made
        if self.pairing == "classwise":
            made["w2y_brier"] = twice(y * nw.col("row_brier"))
        squared, tilt = nw.col("squared"), number(1) - number(2) * p
        made |= {
            "brier": times(squared),
            "nll": times(nw.col("cost")),
            "infinite": nw.col("infinite"),
            "entropy": times(nw.col("doubt")),
            "spread": times((y - p) * tilt),
            "spread_variance": twice(tilt * tilt * p * (number(1) - p)),
            "w2_squared": twice(squared),
        }
        if self.pairing == "binary":
            made |= {"confidence": times(nw.col("sure")), "correct": times(nw.col("right"))}
        return made | self._centred(p)

    def _times(self, x: nw.Expr) -> nw.Expr:
        """Multiply by the weight, if there is one; invalid rows have separate keys."""
        return x if self.columns.weight is None else nw.col("w") * x

    def _twice(self, x: nw.Expr) -> nw.Expr:
        return self._times(self._times(x))

    def _moments(self) -> dict[str, nw.Expr]:
        """Return first and second moments of rows, and the variances that noise alone would give."""
        made: dict[str, nw.Expr] = {}
        for name in ("brier", "nll", "entropy"):
            x = nw.col(f"row_{name}")
            made |= {f"x_{name}": self._twice(x), f"xx_{name}": self._twice(x * x)}
        brier = number(4) * (nw.col("row_cubes") - nw.col("row_squares") * nw.col("row_squares"))
        nll = nw.col("row_logs") - nw.col("row_entropy") * nw.col("row_entropy")
        for name, variance in (("brier", brier), ("nll", nll)):
            made[f"chance_{name}"] = self._twice(either(variance > number(0), variance, number(0)))
        return made

    def _centred(self, p: nw.Expr) -> dict[str, nw.Expr]:
        """Return deviations from a number shared by a cell, because squares of p itself would lose digits."""
        first = self.sorts[0]
        if not isinstance(first, Grid) or first.spacing != "uniform":
            return {}
        away = p - nw.col("place0") / number(first.n_cells)
        return {"wd": self._times(away), "wdd": self._times(away * away)}


def _square(x: nw.Expr) -> nw.Expr:
    return x * x
