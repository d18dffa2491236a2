# SPDX-License-Identifier: GPL-3.0-or-later
"""A character's action keys looked through before a bake, in small steps."""

from __future__ import annotations

from collections.abc import Generator

import bpy

from ..nsm_blender import Problem, begin_check
from ..scene import schedule
from ..scene.gather_keys import gather
from ..scene.lookup import find
from .job import Steps, paced
from .problems import model_of


class CheckJob(Steps):
    """A check of the keys of `armature` in progress. Raises UserError on construction when no shot can be made of them
    at all."""

    doing = "check"

    def __init__(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        schedule.update(context.scene, armature)
        self._shot, self._model = gather(context, armature).shot, model_of(armature)
        self._character = armature.session_uid
        self.problems: list[Problem] = []
        super().__init__()
        self.premises.hold([("character", armature)])

    def stages(self) -> Generator[float]:
        """Look at key after key."""
        self.problems = yield from paced(begin_check(self._shot, self._model), 0.0)
        schedule.update(bpy.context.scene, self.armature())

    def armature(self) -> bpy.types.Object:
        """The character."""
        armature: bpy.types.Object = find(bpy.data.objects, self._character)
        return armature
