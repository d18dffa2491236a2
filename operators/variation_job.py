# SPDX-License-Identifier: GPL-3.0-or-later
"""A character's motion, read from its action and written as a new one that stays beside it: mirrored, or as a loop."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Literal

import bpy
import numpy as np

from ..nsm_blender import Loop, Motion, Shot, loop_gait, mirrored, placed
from ..scene import actions, armatures, layers, recording
from ..scene.gather import Gathered
from ..scene.lookup import baked
from ..scene.properties import of_action
from ..scene.rig import Blends
from .job import MotionJob, paced
from .motion_file_job import Finished

_READING = 0.01
"""Progress that is shown while the motion is read."""


class VariationJob(MotionJob):
    """Base of jobs that make another motion out of the present one. Raises UserError on construction."""

    label = ""
    """Behind the action's name in that of the new one."""

    def __init__(self, context: bpy.types.Context, armature: bpy.types.Object | None) -> None:
        gathered = recording.begin(context, armature)
        assert armature is not None
        gathered.rig.blends = Blends()  # what is read was blended with the poses at both ends already
        action = armature.animation_data.action
        super().__init__(gathered, armature, None, f"{action.name if action else armature.name} {self.label}")

    def stages(self) -> Generator[float]:
        """Read the motion, make the other one, then what every job does."""
        gathered = self.gathered
        self.changes_scene = True
        motion = yield from paced(
            recording.reading(bpy.context, self._armature(), gathered.rig, gathered.frames), _READING
        )
        self.changes_scene = False
        self.work = Finished(self.made_of(motion))
        yield _READING
        yield from super().stages()

    def made_of(self, motion: Motion) -> Motion:
        """The other motion. Raises EditError."""
        raise NotImplementedError

    def settle(self) -> None:
        """Keep the action that was read, and this one when the next bake comes."""
        of_action(self.action()).keep = True


class MirrorJob(VariationJob):
    """The motion with left and right exchanged."""

    doing, label = "mirroring", "Mirrored"

    def made_of(self, motion: Motion) -> Motion:
        """The other motion."""
        action = baked(self._armature())
        if action is not None and layers.moved_with(action):
            self.report.notes.append("What the character moves was not mirrored; its things stay where they are.")
        return mirrored(motion)


class LoopJob(VariationJob):
    """A loop of the gait, which begins where the character stands. cycles, rounds: as for `loop_gait`."""

    doing, label = "looping", "Loop"

    def __init__(
        self,
        context: bpy.types.Context,
        armature: bpy.types.Object | None,
        way: Literal["SPOT", "TRAVEL"],
        cycles: int,
        rounds: int,
    ) -> None:
        super().__init__(context, armature)
        self._way, self._cycles, self._rounds = way, cycles, rounds
        self.loop: Loop | None = None

    def made_of(self, motion: Motion) -> Motion:
        """The loop; from here on the job is about its frames."""
        way: Literal["spot", "travel"] = "spot" if self._way == "SPOT" else "travel"
        self.loop = loop_gait(motion, way, self._cycles, self._rounds)
        gathered, first = self.gathered, int(self.gathered.frames[0])
        shot: Shot = replace(gathered.shot, frames=len(self.loop.motion))
        frames = np.arange(first, first + len(self.loop.motion))
        self.gathered = Gathered(shot, gathered.rig, None, frames)
        self.report.frames = len(frames)
        return placed(self.loop.motion, armatures.standing(bpy.context, self._armature(), gathered.rig, first))

    def settle(self) -> None:
        """Let the action go round, where its rounds follow each other by an offset."""
        super().settle()
        assert self.loop is not None
        first, last = int(self.gathered.frames[0]), int(self.gathered.frames[-1])
        if self.loop.repeats_exactly:
            actions.make_cyclic(self._armature(), self.action(), (first, last), on=self._way == "TRAVEL")
        else:
            actions.set_range(self.action(), (first, last))
