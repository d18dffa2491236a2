# SPDX-License-Identifier: GPL-3.0-or-later
"""A character's motion, read from its action, edited or restyled, and written as a new one."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np

from ..nsm_blender import Constraint, Edit, EditError, Motion, begin_edit, retimed
from ..scene import constraints, contact_markers, recording
from ..scene.gather import Gathered
from ..scene.manifold import of_character
from ..scene.properties import of_action
from . import styles
from .job import MotionJob

_FIGURES = (
    ("foot_slide_cm_per_s", "Foot slide", "cm/s"),
    ("bone_error_mm", "Bone lengths", "mm off"),
    ("pin_error_cm", "Pins", "cm off"),
    ("pose_error_cm", "Pose keys", "cm off"),
    ("gaze_error_deg", "Gaze", "degrees off"),
    ("path_error_cm", "Way", "cm off"),
)
"""Figures of an edit's report, and how they are shown."""
_STYLES = (
    ("style.retimed_gram_ratio", "Style by tempo"),
    ("style.gram_ratio", "Style sought"),
    ("style.final_gram_ratio", "Style in the end"),
)
"""What is left of the distance to a style: at its tempo alone, as the frames were restyled, and when path and feet
hold again."""


class EditJob(MotionJob):
    """An edit in progress; its figures are kept on the character."""

    doing = "edit"

    def __init__(self, gathered: Gathered, armature: bpy.types.Object, edit: Edit, name: str) -> None:
        super().__init__(gathered, armature, edit, name)
        self._edit = edit

    def keep(self, armature: bpy.types.Object) -> None:
        """Store what was measured, before and after the edit too."""
        figures = self.figures()
        super().keep(armature)
        stored = of_character(armature).edit.figures
        stored.clear()
        for label, unit, before, after in figures:
            figure = stored.add()
            figure.label, figure.unit, figure.before, figure.after = label, unit, before, after

    def settle(self) -> None:
        """Leave the motion that was edited, and let the next bake leave this one."""
        of_action(self.action()).keep = True

    def figures(self) -> list[tuple[str, str, float, float]]:
        """Label, unit, before and after of what the edit was about."""
        found = self._edit.report
        out = [
            (label, unit, found.get(f"before.{key}", 0.0), found[f"after.{key}"])
            for key, label, unit in _FIGURES
            if f"after.{key}" in found
        ]
        out += [(label, "of the distance", 1.0, found[key]) for key, label in _STYLES if key in found]
        return out

    def summary(self) -> str:
        """The figures in one line."""
        return ", ".join(
            f"{label.lower()} {before:.2f} to {after:.2f} {unit}" for label, unit, before, after in self.figures()
        )


def edit_job(context: bpy.types.Context, armature: bpy.types.Object | None) -> EditJob:
    """An edit of the character's motion by its constraints. Raises UserError."""
    recorded = recording.record(context, armature)
    assert armature is not None
    wanted = _asked_for(context, armature, recorded.gathered)
    if not wanted:
        raise EditError(f"'{armature.name}' has no constraint that is enabled; add one to the list.")
    motion = _with_contacts(context, armature, recorded)
    edit = begin_edit(motion, wanted, strength=of_character(armature).edit.strength)
    return EditJob(recorded.gathered, armature, edit, f"{armature.name} Edit")


def style_job(context: bpy.types.Context, armature: bpy.types.Object | None) -> EditJob:
    """The character's motion in another style, under its constraints too. Raises UserError."""
    recorded = recording.record(context, armature)
    assert armature is not None
    settings = of_character(armature).style
    style = styles.wanted(context, settings)
    given = _with_contacts(context, armature, recorded)
    motion = retimed(given, style.tempo, settings.timing)
    gathered = _lasting(recorded.gathered, len(motion))
    wanted = _asked_for(context, armature, gathered)
    edit = begin_edit(motion, wanted, style, settings=styles.search(settings), given=given)
    return EditJob(gathered, armature, edit, f"{armature.name} {style.name}")


def _lasting(gathered: Gathered, count: int) -> Gathered:
    """What is written, `count` frames long; a note says so where it was longer or shorter before."""
    before, first = len(gathered.frames), int(gathered.frames[0])
    if count == before:
        return gathered
    note = f"At the style's tempo the way takes {count} frames, not {before}: to frame {first + count - 1}"
    return replace(
        gathered,
        shot=replace(gathered.shot, frames=count),
        frames=np.arange(first, first + count),
        notes=[*gathered.notes, note],
    )


def _with_contacts(context: bpy.types.Context, armature: bpy.types.Object, recorded: recording.Recording) -> Motion:
    """The motion with the contacts of the markers, else of the list."""
    frames = recorded.gathered.frames
    if contact_markers.shown(context.scene, armature):
        found = contact_markers.read(context.scene, armature)
        return contact_markers.with_contacts(recorded.motion, found, frames)
    return constraints.with_contacts(recorded.motion, of_character(armature).edit, frames)


def _asked_for(context: bpy.types.Context, armature: bpy.types.Object, gathered: Gathered) -> list[Constraint]:
    """The constraints of the list, at the frames that are written."""
    return constraints.gather(context, of_character(armature).edit, gathered.rig, gathered.frames)
