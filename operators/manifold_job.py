# SPDX-License-Identifier: GPL-3.0-or-later
"""A character's motion, read from its action, edited or restyled, and written as a new one."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import bpy
import numpy as np

from ..nsm_blender import Array, Edit, EditError, Motion, begin_edit, retimed
from ..scene import constraints, contact_markers, layers, measure, recording, sources
from ..scene.lookup import find
from ..scene.manifold import of_character
from ..scene.properties import of_action
from . import styles
from .job import MotionJob, Steps, paced

_READING = 0.01
"""Progress that is shown while the motion is read."""

_FIGURES = (
    ("foot_slide_cm_per_s", "Foot slide", "cm/s"),
    ("bone_error_mm", "Bone lengths", "mm off"),
    ("pin_error_cm", "Pins", "cm off"),
    ("pose_error_cm", "Pose keys", "cm off"),
    ("gaze_error_deg", "Gaze", "degrees off"),
    ("path_error_cm", "Trajectory", "cm off"),
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
    """An edit of the character's motion by its constraints in progress; its figures are kept on the character. Raises
    UserError on construction.
    """

    doing = "edit"
    kind: sources.Kind = "EDIT"

    def __init__(self, context: bpy.types.Context, armature: bpy.types.Object | None) -> None:
        self._step = None if armature is None else sources.step_back(armature, self.kind)
        try:
            gathered = recording.begin(context, armature)
            assert armature is not None
            self._constraints = constraints.gather(context, of_character(armature).edit, gathered.rig, gathered.frames)
            self._edit: Edit | None = None
            super().__init__(gathered, armature, None, self.name(context, armature))
        except BaseException:
            if armature is not None and self._step is not None:
                sources.step_forward(armature, self._step)
            raise

    def name(self, _context: bpy.types.Context, armature: bpy.types.Object) -> str:
        """Of the new action. Raises EditError when nothing is to be done."""
        if not self._constraints:
            raise EditError(f"'{armature.name}' has no constraint that is enabled; add one to the list.")
        return f"{armature.name} Edit"

    def stages(self) -> Generator[float]:
        """Read the motion, then what every job does."""
        work = recording.reading(bpy.context, self._armature(), self.gathered.rig, self.gathered.frames)
        self.changes_scene = True
        motion = yield from paced(work, _READING)
        self.changes_scene = False
        motion = _with_contacts(bpy.context, self._armature(), motion, self.gathered.frames)
        yield _READING
        self.work = self._edit = self.begin(motion)
        yield _READING
        yield from super().stages()

    def begin(self, motion: Motion) -> Edit:
        """The engine's work on the motion. Raises EditError."""
        return begin_edit(motion, self._constraints, strength=of_character(self._armature()).edit.strength)

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
        """Leave the motion that was edited, let the next bake leave this one, and let this one come in place of the
        last edit."""
        sources.mark(self.action(), self.kind)
        of_action(self.action()).keep = True
        if self._step is not None:
            layers.supersede(self._step.replaced)

    def undo(self) -> None:
        """Take away what was made; the last edit is shown again."""
        super().undo()
        armature = find(bpy.data.objects, self.character)
        if armature is not None and self._step is not None:
            sources.step_forward(armature, self._step)

    def figures(self) -> list[tuple[str, str, float, float]]:
        """Label, unit, before and after of what the edit was about."""
        assert self._edit is not None
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


class UneditJob(Steps):
    """Takes the edit of a character's motion away, as no constraint is enabled any more."""

    doing = "edit"

    def __init__(self, armature: bpy.types.Object) -> None:
        super().__init__()
        self._character = armature.session_uid
        source = sources.shown(armature)
        self.source = "" if source is None else source.name

    @staticmethod
    def is_meant(armature: bpy.types.Object | None) -> bool:
        """Whether the character shows an edit, and no constraint that would make another one is enabled."""
        if armature is None or not sources.is_edited(armature):
            return False
        return not any(item.enabled and item.weight > 0 for item in of_character(armature).edit.constraints)

    def stages(self) -> Generator[float]:
        """Assign what was edited."""
        armature = find(bpy.data.objects, self._character)
        layers.remove(armature)
        measure.forget(armature)
        of_character(armature).edit.figures.clear()
        yield 1.0


class StyleJob(EditJob):
    """The character's motion in another style, under its constraints too. Raises UserError on construction."""

    kind = "STYLE"

    def name(self, context: bpy.types.Context, armature: bpy.types.Object) -> str:
        """Of the new action."""
        self._style = styles.wanted(context, of_character(armature).style)
        return f"{armature.name} {self._style.name}"

    def begin(self, motion: Motion) -> Edit:
        """Bring the motion to the style's tempo."""
        settings = of_character(self._armature()).style
        paced_motion = retimed(motion, self._style.tempo, settings.timing)
        if len(paced_motion) != len(motion):
            self._lasts(len(paced_motion))
        return begin_edit(paced_motion, self._constraints, self._style, settings=styles.search(settings), given=motion)

    def _lasts(self, count: int) -> None:
        """Write `count` frames, with the constraints at these; a note says that it was longer or shorter before."""
        before, first = len(self.gathered.frames), int(self.gathered.frames[0])
        note = f"At the style's tempo the motion takes {count} frames, not {before}: to frame {first + count - 1}"
        shot = replace(self.gathered.shot, frames=count)
        self.gathered = replace(self.gathered, shot=shot, frames=np.arange(first, first + count))
        self.report.frames = count
        self.report.notes.append(note)
        edit = of_character(self._armature()).edit
        self._constraints = constraints.gather(bpy.context, edit, self.gathered.rig, self.gathered.frames)


def _with_contacts(context: bpy.types.Context, armature: bpy.types.Object, motion: Motion, frames: Array) -> Motion:
    """The motion with the contacts of the markers, else of the list."""
    if contact_markers.shown(context.scene, armature):
        return contact_markers.with_contacts(motion, contact_markers.read(context.scene, armature), frames)
    return constraints.with_contacts(motion, of_character(armature).edit, frames)
