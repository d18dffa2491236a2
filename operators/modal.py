# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that work in slices, with progress and Esc; run from a script, they work to the end and return."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

import bpy

from ..nsm_blender import Array
from ..scene import ghosts, lookup, properties
from ..scene.readiness import missing_for_motion
from .base import Operation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

_TICK = 0.005
"""Seconds between the timer's events."""
_SLICE = 0.03
"""Seconds of work per event: Esc is seen at least that often."""
_SHOWN_EVERY = 0.1
"""Shortest time in seconds between two drawings of the progress and of the work's preview."""
_CALM = 4
"""Time of work between two drawings over the time that one takes: each drawing holds up the work, and Esc with it, and
so takes a fifth of the time at most."""


class Job(Protocol):
    """Work that can be done in pieces, and taken back."""

    done: bool
    progress: float

    @property
    def seconds_left(self) -> float:
        """An estimate."""

    def run(self, seconds: float = ...) -> None:
        """Work until done, or until `seconds` have passed."""

    def ghost(self) -> list[Array]:
        """Lines that show how far the work has come, as ghosts.Ghost draws them; none where there is nothing to see."""

    def cancel(self) -> None:
        """Stop, and take away all that was made."""


class Pace:
    """When progress and preview are drawn again: however long a drawing takes, most of the time is left for the work.

    All times in seconds, of one clock.
    """

    def __init__(self) -> None:
        self._due = float("-inf")
        self._begun: float | None = None

    def is_due(self, now: float) -> bool:
        """Whether it is time to draw."""
        return self._begun is None and now >= self._due

    def draw(self, now: float) -> None:
        """A drawing was asked for; it begins when the work pauses."""
        self._begun = now

    def drawn(self, now: float) -> None:
        """The work goes on, so a drawing that was asked for is over."""
        if self._begun is not None:
            self._due = now + max(_SHOWN_EVERY, _CALM * (now - self._begun))
            self._begun = None


class JobOperation(Operation):
    """Base of operators that make a character move: put the work into `start`, the report into `finish`."""

    doing = "Working"
    """What the status bar says."""

    _job: Any = None  # not Job: Blender evaluates the annotations of operators
    _timer: Any = None
    _ghost: Any = None
    _pace: Any = None

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character with a bound rig; everything else gets its sentence when it is tried."""
        if lookup.baking(context):
            cls.poll_message_set("A bake is running; Esc cancels it")
            return False
        missing = cls.missing(context)
        if missing:
            cls.poll_message_set(missing)
        return not missing

    @classmethod
    def missing(cls, context: bpy.types.Context) -> str:
        """What to do before the button can be pressed; empty when it can."""
        return missing_for_motion(lookup.character(context))

    def start(self, context: bpy.types.Context) -> Job:
        """Begin; raise UserError for what the user should correct."""
        raise NotImplementedError

    def finish(self, context: bpy.types.Context, job: Any) -> set[OperatorReturnItems]:
        """Report what was done."""
        raise NotImplementedError

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Work to the end and return."""
        job = self.start(context)
        job.run()
        return self.finish(context, job)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[OperatorReturnItems]:
        """Work in slices, with progress and Esc."""
        if bpy.app.background or context.window is None:
            return self.execute(context)
        try:
            self._job = self.start(context)
        except Exception as error:  # noqa: BLE001 - becomes a report, as in execute
            return self.failed(error)
        self._pace = Pace()
        window_manager = context.window_manager
        self._timer = window_manager.event_timer_add(_TICK, window=context.window)
        window_manager.modal_handler_add(self)
        self._show(context)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[OperatorReturnItems]:
        """Work at each timer event. Other events stop here: the scene must not change under the work."""
        if event.type == "ESC" and event.value == "PRESS":
            self.cancel(context)
            self.report({"INFO"}, f"{self.bl_label} was canceled; the scene is as it was")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        job = self._job
        assert job is not None
        self._pace.drawn(time.monotonic())
        try:
            job.run(_SLICE)
            if not job.done:
                self._show(context)
                return {"RUNNING_MODAL"}
            self._clear(context)
            return self.finish(context, job)
        except Exception as error:  # noqa: BLE001 - becomes a report, as in execute
            self._clear(context)
            return self.failed(error)

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender calls this too, for example when another file is opened."""
        if self._job is not None:
            self._job.cancel()
        self._clear(context)

    def _show(self, context: bpy.types.Context) -> None:
        """Progress and time left, in the status bar and in the panel; what there is to see, over the viewports."""
        job: Job = self._job
        if not self._pace.is_due(time.monotonic()):
            return
        state = properties.progress(context)
        state.progress = job.progress
        left = f", {job.seconds_left:.0f} s left" if job.progress > 0.05 else ""
        state.text = f"{job.progress:.0%}{left}"
        if context.workspace is not None:
            context.workspace.status_text_set(f"{self.doing}: {state.text}    Esc: Cancel")
        _redraw(context)
        lines = job.ghost()
        if lines:
            self._ghost = self._ghost or ghosts.Ghost()
            self._ghost.show(lines)
        self._pace.draw(time.monotonic())

    def _clear(self, context: bpy.types.Context) -> None:
        """Take away timer, status text, progress and what was drawn."""
        if self._ghost is not None:
            self._ghost.close()
            self._ghost = None
        if self._timer is not None:
            context.window_manager.event_timer_remove(self._timer)
            self._timer = None
        if context.workspace is not None:
            context.workspace.status_text_set(None)
        state = properties.progress(context)
        for name in ("progress", "text"):
            state.property_unset(name)
        self._job = None
        _redraw(context)


def _redraw(context: bpy.types.Context) -> None:
    """Draw the sidebars again; the views themselves have not changed."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                for region in area.regions:
                    if region.type == "UI":
                        region.tag_redraw()
