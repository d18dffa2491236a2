# SPDX-License-Identifier: GPL-3.0-or-later
"""From a shot to a motion, step by step, so that a modal operator can show progress and stop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..motion.motion import Motion
from .shot import Shot


class Bake:
    """One bake in progress. `step()` does a small piece of work (under 20 ms); repeat until `done`.

    Raises ShotError or WeightsError on construction when the shot cannot be baked.
    """

    def __init__(self, shot: Shot, weights: Path | str | None = None) -> None:
        shot.validate()
        raise NotImplementedError

    done: bool
    progress: float
    """0..1"""

    def step(self) -> None:
        """Advance by a few frames."""
        raise NotImplementedError

    def motion(self) -> Motion:
        """The finished motion at the shot's frame rate, exactly `shot.frames` frames."""
        raise NotImplementedError
