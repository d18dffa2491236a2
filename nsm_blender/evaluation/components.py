# SPDX-License-Identifier: GPL-3.0-or-later
"""Leave-one-out tables: the same tasks with a component and without it, each figure with its standard error.

A component stays only if some figure is worse by more than two standard errors without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .nsm_trials import Figures, Log

WORTH = 2.0
"""Standard errors by which a figure must be worse without a component that stays."""
_MORE_IS_BETTER = frozenset({"done"})


@dataclass(frozen=True)
class Row:
    """What a figure loses without a component: mean and standard error over the tasks that have it both ways."""

    component: str
    figure: str
    count: int
    full: float
    without: float
    error: float

    @property
    def loss(self) -> float:
        """By how many standard errors the figure is worse without the component."""
        change = self.without - self.full
        worse = -change if self.figure in _MORE_IS_BETTER else change
        if self.error == 0:
            # Each task changes by as much: by nothing, or beyond all doubt.
            return math.copysign(math.inf, worse) if worse else 0.0
        return worse / self.error


def rows(found: Sequence[Mapping[str, Figures]]) -> list[Row]:
    """The table from the outcomes of tasks: of each component, all figures that tasks have with and without it."""
    out = []
    components = list(dict.fromkeys(name for one in found for name in one if name))
    for component in components:
        pairs = [(one[""], one[component]) for one in found if component in one]
        for figure in dict.fromkeys(name for full, _ in pairs for name in full):
            values = [(a[figure], b[figure]) for a, b in pairs if figure in a and figure in b]
            both = np.array([pair for pair in values if all(map(math.isfinite, pair))])
            if len(both) < 2:
                continue
            error = float((both[:, 1] - both[:, 0]).std(ddof=1) / math.sqrt(len(both)))
            full, without = both.mean(axis=0).tolist()
            out.append(Row(component, figure, len(both), full, without, error))
    return out


def component_figures(system: str, found: Sequence[Mapping[str, Figures]], log: Log) -> Figures:
    """All rows as figures `<system>.components.*`, logged with a mark where the component is worth more than `WORTH`
    standard errors."""
    out: Figures = {f"{system}.components.tasks": float(sum(bool(one) for one in found))}
    for component, mine in _by_component(rows(found)):
        worth = [row for row in mine if row.loss > WORTH]
        log(f"{component}: {'worth it' if worth else 'NOT WORTH IT'}")
        for row in mine:
            mark = "worse" if row.loss > WORTH else "better" if row.loss < -WORTH else ""
            change = row.without - row.full
            log(f"  {row.figure:26s} n {row.count:4d}  {row.full:9.3f}  without {row.without:9.3f}  "
                f"{change:+9.3f} +- {row.error:.3f} {mark}")  # fmt: skip
            name = f"{system}.components.{component}.{row.figure}"
            out |= {name: change, f"{name}.error": row.error}
        out[f"{system}.components.{component}.worth"] = float(len(worth))
    return out


def _by_component(every: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for component in dict.fromkeys(row.component for row in every):
        yield component, [row for row in every if row.component == component]
