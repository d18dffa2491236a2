# SPDX-License-Identifier: GPL-3.0-or-later
"""Work in small pieces, so that a modal operator or a script can show progress and stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..motion.motion import Motion

Progress = Callable[[float], object]
"""Is told the share of the work that is done, 0..1, after each piece; an exception that it raises ends the work."""


class Steps(Protocol):
    """Work in progress: call `step` until `done`. Dropping it cancels it; nothing is left behind."""

    @property
    def done(self) -> bool:
        """All of it is done."""

    @property
    def progress(self) -> float:
        """Share of the work that is done, 0..1."""

    def step(self) -> None:
        """Do a small piece of the work."""


class Work(Steps, Protocol):
    """Work whose result is one motion: a bake, an edit, or the synthesis of one character."""

    def motion(self) -> Motion:
        """The finished motion; does what is left of the work first."""


def run(work: Steps, progress: Progress | None) -> None:
    """Step until all is done."""
    while not work.done:
        work.step()
        if progress is not None:
            progress(work.progress)
