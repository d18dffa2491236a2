# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake the character's way along its curve, and take a bake away again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import bpy

from ..scene import lookup, properties
from .base import Operation, user_folder

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from .job import BakeJob

_TICK = 0.005
"""Seconds between the timer's events."""
_SLICE = 0.03
"""Seconds of work per event: Esc is seen at least that often."""
_SHOWN_EVERY = 0.2
"""Seconds between two drawings of the progress: each holds the work up, and Esc with it."""


class NSM_OT_bake(Operation):
    """Walk the character along its curve and write the motion as keys of a new action"""

    bl_idname = "nsm.bake"
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}

    _job: Any = None  # not BakeJob: Blender evaluates the annotations of operators
    _timer: Any = None
    _shown: float = 0.0

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """A bake needs a character; everything else gets its sentence when it is tried."""
        if lookup.baking(context):
            cls.poll_message_set("A bake is running; Esc cancels it")
            return False
        if lookup.character(context) is None:
            cls.poll_message_set("Select a character's armature first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Bake to the end and return."""
        job = self._start(context)
        job.run()
        return self._finish(job)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[OperatorReturnItems]:
        """Bake in slices, with progress and Esc."""
        if bpy.app.background or context.window is None:
            return self.execute(context)
        try:
            self._job = self._start(context)
        except Exception as error:  # noqa: BLE001 - becomes a report, as in execute
            return self.failed(error)
        window_manager = context.window_manager
        self._timer = window_manager.event_timer_add(_TICK, window=context.window)
        window_manager.modal_handler_add(self)
        self._show(context)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[OperatorReturnItems]:
        """Work at each timer event. Other events stop here: the scene must not change under the bake."""
        if event.type == "ESC" and event.value == "PRESS":
            self.cancel(context)
            self.report({"INFO"}, "Bake cancelled; the scene is as it was")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"RUNNING_MODAL"}
        job = self._job
        assert job is not None
        try:
            job.run(_SLICE)
            if not job.done:
                self._show(context)
                return {"RUNNING_MODAL"}
            self._clear(context)
            return self._finish(job)
        except Exception as error:  # noqa: BLE001 - becomes a report, as in execute
            self._clear(context)
            return self.failed(error)

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender calls this too, for example when another file is opened."""
        if self._job is not None:
            self._job.cancel()
        self._clear(context)

    def _start(self, context: bpy.types.Context) -> BakeJob:
        from .job import BakeJob

        return BakeJob(context, lookup.character(context))

    def _finish(self, job: BakeJob) -> set[OperatorReturnItems]:
        job.report.save(user_folder("reports") / "report.json")
        for note in job.report.notes:
            self.report({"WARNING"}, note)
        self.report(
            {"INFO"},
            f"Baked {job.report.frames} frames; rig error {job.report.rig_error_mm_max:.2f} mm, "
            f"foot slide {job.report.foot_slide_cm_per_s:.1f} cm/s",
        )
        return {"FINISHED"}

    def _show(self, context: bpy.types.Context) -> None:
        """Progress and time left, in the status bar and in the panel."""
        job = self._job
        assert job is not None
        if time.monotonic() - self._shown < _SHOWN_EVERY:
            return
        self._shown = time.monotonic()
        state = properties.progress(context)
        state.progress = job.progress
        left = f", {job.seconds_left:.0f} s left" if job.progress > 0.05 else ""
        state.text = f"{job.progress:.0%}{left}"
        if context.workspace is not None:
            context.workspace.status_text_set(f"Baking {job.gathered.rig.name}: {state.text}    Esc: Cancel")
        _redraw(context)

    def _clear(self, context: bpy.types.Context) -> None:
        """Take away timer, status text and progress."""
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


class NSM_OT_remove_bake(Operation):
    """Take away the baked action and assign again what was assigned before"""

    bl_idname = "nsm.remove_bake"
    bl_label = "Remove Bake"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character."""
        if lookup.character(context) is None:
            cls.poll_message_set("Select the baked character's armature first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> set[OperatorReturnItems]:
        """Remove the bake and forget its report."""
        from ..scene import actions, measure

        armature = lookup.character(context)
        assert armature is not None
        removed = actions.remove(armature)
        measure.forget(armature)
        kept = f"; {removed.kept_keys} keys made by hand stay in it" if removed.kept_keys else ""
        self.report({"INFO"}, f"Removed the bake '{removed.action}'{kept}")
        return {"FINISHED"}


def _redraw(context: bpy.types.Context) -> None:
    """Draw the sidebars again; the views themselves have not changed."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                for region in area.regions:
                    if region.type == "UI":
                        region.tag_redraw()


CLASSES = (NSM_OT_bake, NSM_OT_remove_bake)
