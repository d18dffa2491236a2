# SPDX-License-Identifier: GPL-3.0-or-later
"""The course of a training as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

from ..files import write_whole

_APART = ("epoch", "step", "seconds")
"""Figures of an epoch that are no curves."""
_LOSSES = ("loss", "held_out")
"""Figures that are drawn together, on a logarithmic axis."""


def draw(history: Sequence[Mapping[str, float]], path: Path) -> None:
    """Write a picture (.png) of all figures over the epochs, those of a kind together: losses, centimeters, others.
    Nothing is drawn before the first epoch is done. Raises ImportError when Matplotlib is missing."""
    from matplotlib.figure import Figure

    if not history:
        return
    parts: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for row in history for name in row if name not in _APART):
        kind = "loss" if name in _LOSSES else "cm" if name.endswith("cm") else "value"
        parts.setdefault(kind, []).append(name)
    figure = Figure(figsize=(8, 3.2 * len(parts)), layout="constrained")
    for axis, (kind, names) in zip(figure.subplots(len(parts), 1, squeeze=False)[:, 0], parts.items(), strict=True):
        for name in names:
            points = [(row["epoch"], row[name]) for row in history if name in row]
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name)
        axis.set(xlabel="epoch", ylabel=kind, yscale="log" if kind == "loss" else "linear")
        axis.grid(alpha=0.3)
        axis.legend()
    drawn = BytesIO()
    figure.savefig(drawn, dpi=100, format="png")
    write_whole(path, drawn.getbuffer())
