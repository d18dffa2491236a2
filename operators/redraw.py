# SPDX-License-Identifier: GPL-3.0-or-later
"""How long Blender takes to draw its windows anew, and how often that may be asked for while work goes on."""

from __future__ import annotations

import time

import bpy

from ..scene.progress import Progress

_SHOWN_EVERY = 0.1
"""Shortest time in seconds between two drawings of the same."""


class Pace:
    """When something is drawn while work goes on: however long a drawing takes, most of the time is left for the work.

    All times in seconds, of one clock. cost: what a drawing is expected to take, until one was measured. share: part
    of the time of the work that drawing may take.
    """

    def __init__(self, cost: float, share: float) -> None:
        self.cost = cost
        self.share = share
        self._spent = 0.0
        self._due = float("-inf")
        self._begun: float | None = None

    def is_due(self, now: float, work: float) -> bool:
        """Whether it is time to draw. work: seconds that all of the work takes, drawing left out, as far as known."""
        return self._begun is None and now >= self._due and self._spent + self.cost <= self.share * work

    def draw(self, now: float) -> None:
        """A drawing was asked for; it begins when the work pauses."""
        self._begun = now

    def drawn(self, now: float) -> bool:
        """The work goes on, so a drawing that was asked for is over. Returns whether there was one."""
        if self._begun is None:
            return False
        self.cost = now - self._begun
        self._spent += self.cost
        self._due = now + max(_SHOWN_EVERY, self.cost / self.share)
        self._begun = None
        return True


def progress_pace() -> Pace:
    """The pace of the progress bar and the status bar; five hundredths of a second are what a sidebar takes on a slow
    machine, so that work of less than a second shows none."""
    return Pace(0.05, 0.05)


def preview_pace() -> Pace:
    """The pace of what is drawn over the views. Where no drawing was measured yet, 1.5 s are expected: a heavy scene,
    or a machine without a graphics card."""
    return Pace(Progress.redraw_seconds or 1.5, 0.15)


def measure() -> None:
    """Note how long the drawing takes that follows the present operator, if a view is drawn."""
    if bpy.app.background:
        return
    began = time.monotonic()
    rounds = 0
    drawn = False

    def watch() -> None:
        nonlocal drawn
        drawn = True

    handler = bpy.types.SpaceView3D.draw_handler_add(watch, (), "WINDOW", "POST_PIXEL")

    def note() -> float | None:
        nonlocal rounds
        rounds += 1
        # The first call may come in the round of the operator, before anything was drawn.
        if rounds == 1:
            return 0.0
        bpy.types.SpaceView3D.draw_handler_remove(handler, "WINDOW")
        if drawn:
            Progress.redraw_seconds = time.monotonic() - began
        return None

    # Another file may be opened before: the timer outlives that, as the handler does.
    bpy.app.timers.register(note, persistent=True)
