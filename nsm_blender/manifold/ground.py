# SPDX-License-Identifier: GPL-3.0-or-later
"""What ground a synthesis can walk on: the manifold knows level floors, and its feet are only lifted and lowered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ShotError
from ..motion.foot_lock import Heights
from ..motion.rotations import Array
from ..stepwise import FRAMES, Stepwise


@dataclass(frozen=True)
class Walkable:
    """The limits of the ground along a way."""

    step: float = 0.07
    """Meters by which the ground may rise or fall within `tread`: on stairs of 0.06 m toes are 0.005 m in the ground at
    most, on stairs of 0.1 m 0.08 m."""
    tread: float = 0.05
    """Meters along the way within which a rise counts as a step."""
    slope: float = 0.6
    """Steepest slope, along the way and across it: 31 degrees, up to which toes are 0.005 m in the ground in 99 of 100
    frames."""
    stride: float = 0.3
    """Meters along the way over which the slope is taken."""
    beside: float = 0.1
    """Meters from the way to the feet on both sides."""


WALKABLE = Walkable()
"""What is used."""
_SPACING = 0.025
"""Meters between the places that are looked at."""


def check_ground(name: str, track: Array, ground: Heights, limits: Walkable = WALKABLE) -> Stepwise[None]:
    """Raise ShotError when the ground along a track (T, 3), x, y and facing angle, is beyond what a synthesis can walk
    on, in pieces of work. name: of the shot."""
    steps = np.linalg.norm(np.diff(track[:, :2], axis=0), axis=1)
    along = np.concatenate(([0.0], np.cumsum(steps)))
    at = np.arange(0.0, along[-1] + _SPACING, _SPACING)
    middle = np.stack([np.interp(at, along, column) for column in track[:, :2].T], axis=1)
    ahead = np.gradient(middle, axis=0) if len(middle) > 1 else np.array([[0.0, 1.0]])
    ahead /= np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-9)
    aside = limits.beside * np.stack((-ahead[:, 1], ahead[:, 0]), axis=1)
    heights = []
    for line in (middle, middle + aside, middle - aside):
        parts = []
        for start in range(0, len(line), FRAMES // 4):
            yield
            parts.append(ground(line[start : start + FRAMES // 4]))
        heights.append(np.concatenate(parts))
    height = np.stack(heights)
    if not np.isfinite(height).all():
        raise ShotError(f"The ground under '{name}' has a height that is not a finite number; check its transform.")
    _refuse(name, at, height, limits.tread, limits.step, "rises or falls by {:.2f} m in one step")
    _refuse(name, at, height, limits.stride, limits.slope * limits.stride, "is as steep as {:.2f} m in a stride")
    across = np.abs(height[1] - height[2])
    worst = int(across.argmax())
    if across[worst] > 2 * limits.beside * limits.slope:
        _tell(name, at[worst], f"leans to the side by {across[worst]:.2f} m")


def _refuse(name: str, at: Array, height: Array, length: float, most: float, said: str) -> None:
    """Raise ShotError when heights (3, M) at meters (M,) of the way change by more than `most` meters in `length`."""
    apart = min(round(length / _SPACING), len(at) - 1)
    if apart < 1:
        return
    change = np.abs(height[:, apart:] - height[:, :-apart]).max(axis=0)
    worst = int(change.argmax())
    if change[worst] > most:
        _tell(name, at[worst], said.format(change[worst]))


def _tell(name: str, where: float, what: str) -> None:
    raise ShotError(
        f"The ground under '{name}' {what}, {where:.1f} m along its way, which is more than a synthesis can walk on; "
        "lead the curve around it, or smooth the ground. Steps are climbed by action keys and Bake."
    )
