# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that work in slices, with progress and Esc; run from a script, they work to the end and return."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

import bpy

from ..nsm_blender import Array
from ..scene import ghosts, lookup
from ..scene.progress import Progress
from ..scene.readiness import missing_for_motion
from . import redraw
from .base import Operation
from .mouse import clear_status
from .view_navigation import HINT, is_navigation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

_TICK = 0.001
"""Seconds between the timer's events."""
_SLICE = 0.03
"""Seconds of work per event: Esc is seen at least that often."""
_OVER_DRAWING = 5.0
"""Time of work between two drawings that Blender does of itself, over the time that one takes: a sixth of the time goes
to them, and Esc waits for five of them in the last part of a bake."""
_CALM = 0.3
"""Seconds after the last event of turning a view in which it is still being turned."""
_SURE = 0.05
"""Share of the work that has to be done before the time for all of it can be told from it."""


class Job(Protocol):
    """Work that can be done in pieces, and taken back."""

    done: bool
    progress: float
    changes_scene: bool
    """Whether its steps change the scene now, as writing keys and evaluating frames do, so that Blender draws after
    each."""

    @property
    def seconds_left(self) -> float:
        """An estimate."""

    def run(self, seconds: float = ...) -> None:
        """Work until done, or until `seconds` have passed."""

    def ghost(self) -> list[Array]:
        """Lines that show how far the work has come, as ghosts.Ghost draws them; none where there is nothing to see."""

    def cancel(self) -> None:
        """Stop, and take away all that was made."""


class JobOperation(Operation):
    """Base of operators that make a character move: put the work into `start`, the report into `finish`."""

    doing = "Working"
    """What the status bar says."""

    _job: Any = None  # not Job: Blender evaluates the annotations of operators
    _timer: Any = None
    _ghost: Any = None
    _progress: Any = None
    _preview: Any = None
    _worked: Any = 0.0
    _turned: Any = 0.0
    _paused: Any = 0.0
    _hinted: Any = False

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
        window_manager = context.window_manager
        self._progress, self._preview = redraw.progress_pace(), redraw.preview_pace()
        self._worked, self._turned, self._paused = 0.0, float("-inf"), time.monotonic()
        self._timer = window_manager.event_timer_add(_TICK, window=context.window)
        window_manager.modal_handler_add(self)
        Progress.text = "0%"
        self._show(context)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[OperatorReturnItems]:
        """Work at each timer event. The views may be turned meanwhile; other events stop here, as the scene must not
        change under the work."""
        if event.type == "ESC" and event.value == "PRESS":
            self.cancel(context)
            self.report({"INFO"}, f"{self.bl_label} was canceled; the scene is as it was")
            return {"CANCELLED"}
        began = time.monotonic()
        if event.type != "TIMER":
            if not is_navigation(context, event):
                return {"RUNNING_MODAL"}
            self._turned = began
            return {"PASS_THROUGH"}
        job = self._job
        assert job is not None
        try:
            unchanged = not job.changes_scene
            job.run(self._slice(began))
            if unchanged and job.changes_scene:
                # Blender draws the views at the first pause after a change, too.
                job.run(_OVER_DRAWING * Progress.redraw_seconds)
            self._paused = time.monotonic()
            self._worked += self._paused - began
            if not job.done:
                self._show(context)
                return {"RUNNING_MODAL"}
            self._clear(context)
            redraw.measure()
            return self.finish(context, job)
        except Exception as error:  # noqa: BLE001 - becomes a report, as in execute
            self._clear(context)
            return self.failed(error)

    def _slice(self, now: float) -> float:
        """Seconds to work now. After work that has changed the scene Blender draws the views whatever we ask for: then
        longer than that took, or the work would hardly go on. Any other drawing, as of a button that was pressed, is a
        single one, after which Esc is to be seen soon. While the user turns a view, that is what is waited for."""
        # What was asked for is paid for. The views are drawn together with the sidebars, and take most of the time.
        asked = self._preview.drawn(now)
        asked = self._progress.drawn(now) or asked
        if asked or not self._job.changes_scene or now - self._turned < _CALM:
            return _SLICE
        return max(_SLICE, _OVER_DRAWING * (now - self._paused))

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender calls this too, for example when another file is opened."""
        if self._job is not None:
            self._job.cancel()
        self._clear(context)

    def _show(self, context: bpy.types.Context) -> None:
        """Progress and time left, in the status bar and in the panel; what there is to see, over the viewports."""
        job: Job = self._job
        now = time.monotonic()
        # Nothing is known of the work at first, and what it has taken is the least that it takes.
        work = self._worked / job.progress if job.progress > _SURE else self._worked
        if not self._hinted:
            # Soon enough that a click is seen to have worked, whatever drawing takes: the status bar is drawn alone.
            self._tell_status(context)
            self._hinted = True
        if self._progress.is_due(now, work):
            self._tell(context, job)
            self._progress.draw(now)
        if self._preview.is_due(now, work):
            lines = job.ghost()
            if lines:
                self._ghost = self._ghost or ghosts.Ghost()
                self._ghost.show(lines)
                self._preview.draw(now)

    def _tell(self, context: bpy.types.Context, job: Job) -> None:
        """Progress and time left, in the status bar and in the sidebars."""
        Progress.share = job.progress
        left = f", {job.seconds_left:.0f} s left" if job.progress > _SURE else ""
        Progress.text = f"{job.progress:.0%}{left}"
        self._tell_status(context)
        _redraw(context)

    def _tell_status(self, context: bpy.types.Context) -> None:
        """What is done, how far it has come, and what the keys do."""
        if context.workspace is not None:
            done = f"{self.doing}: {Progress.text}" if Progress.text else self.doing
            context.workspace.status_text_set(f"{done}    {HINT}    Esc: Cancel")

    def _clear(self, context: bpy.types.Context) -> None:
        """Take away timer, status text, progress and what was drawn."""
        if self._ghost is not None:
            self._ghost.close()
            self._ghost = None
        if self._timer is not None:
            context.window_manager.event_timer_remove(self._timer)
            self._timer = None
        clear_status(context)
        Progress.share, Progress.text = 0.0, ""
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
