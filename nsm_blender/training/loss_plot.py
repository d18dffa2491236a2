# SPDX-License-Identifier: GPL-3.0-or-later
"""The course of a training as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

_APART = ("epoch", "seconds")
"""Figures of an epoch that are no curves."""


def draw(history: Sequence[Mapping[str, float]], path: Path) -> None:
    """Write a picture (.png) of all figures over the epochs: the losses in the upper part, what was measured besides
    in the lower one. Raises ImportError when Matplotlib is missing."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for row in history for name in row if name not in _APART))
    losses = [name for name in names if name in ("loss", "held_out")]
    others = [name for name in names if name not in losses]
    parts = [part for part in (losses, others) if part]
    figure = Figure(figsize=(8, 3.2 * len(parts)), layout="constrained")
    for axis, part in zip(figure.subplots(len(parts), 1, squeeze=False)[:, 0], parts, strict=True):
        for name in part:
            points = [(row["epoch"], row[name]) for row in history if name in row]
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name)
        axis.set(xlabel="epoch", yscale="log" if part is losses else "linear")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(path, dpi=100, format="png")
