# SPDX-License-Identifier: GPL-3.0-or-later
"""Which experts the gating chooses over the phase, as a picture (Fig. 7) and as a number."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np

from ..files import write_whole
from ..models.nsm import ACTIONS, FPS
from ..motion.rotations import Array
from ..rollout.nsm import SceneRecord

SHOWN = ("walk", "run", "sit", "carry", "open", "climb")
"""Actions that have a row in the picture, where they occur."""
_BINS = 36
"""Parts of the phase over which gates are averaged."""
_LEAST = 30
"""Frames of an action from which it has a row."""

_NO_VARIANCE = 1e-9
"""Variance of gates below which they stand still, and nothing explains it."""


def gates_by_phase(record: SceneRecord, action: str) -> Array | None:
    """Mean gates (bins, K) of the frames labeled with an action, over the phase from 0 to 2 pi; None where they are
    too few. Bins without frames repeat their neighbor."""
    on = record.actions[:, ACTIONS.index(action)] > 0.5
    if on.sum() < _LEAST:
        return None
    place = (record.phase[on] % (2 * np.pi) / (2 * np.pi) * _BINS).astype(int) % _BINS
    known = np.unique(place)
    means = np.array([record.gates[on][place == one].mean(0) for one in known])
    nearest = np.abs((np.arange(_BINS)[:, None] - known + _BINS / 2) % _BINS - _BINS / 2).argmin(1)
    out: Array = means[nearest]
    return out


def share_of_phase(record: SceneRecord, action: str) -> float | None:
    """How much of the variance of the gates in frames labeled with an action the phase explains, from 0 to 1: what the
    Kronecker product is to increase (eq. 5). None where the frames are too few."""
    means = gates_by_phase(record, action)
    if means is None:
        return None
    every = record.gates[record.actions[:, ACTIONS.index(action)] > 0.5]
    return float(means.var(axis=0).sum() / max(every.var(axis=0).sum(), _NO_VARIANCE))


def draw(record: SceneRecord, path: Path) -> None:
    """Write a picture with a row for each action: above, the gates over its phase; below, over time, all frames."""
    from matplotlib.figure import Figure

    rows = [(action, found) for action in SHOWN if (found := gates_by_phase(record, action)) is not None]
    figure = Figure(figsize=(8, 1.6 * (len(rows) + 1)), layout="constrained")
    axes = figure.subplots(len(rows) + 1, 1, squeeze=False)[:, 0]
    for axis, (action, gates) in zip(axes, rows, strict=False):
        axis.stackplot(np.linspace(0, 360, _BINS), gates.T)
        axis.set(title=f"{action}: gates over the phase (degrees)", xlim=(0, 360), ylim=(0, 1))
    seconds = np.arange(len(record.gates)) / FPS
    axes[-1].stackplot(seconds, record.gates.T)
    axes[-1].set(title="all frames: gates over time (s)", xlim=(0, seconds[-1]), ylim=(0, 1))
    drawn = BytesIO()
    figure.savefig(drawn, dpi=100)
    write_whole(path, drawn.getbuffer())
