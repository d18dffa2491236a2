# SPDX-License-Identifier: GPL-3.0-or-later
"""A character's punches and kicks from the motion manifold."""

from __future__ import annotations

import bpy

from ..nsm_blender import begin_synthesis
from ..scene import strikes
from .job import MotionJob


class StrikeJob(MotionJob):
    """A synthesis of punches and kicks in progress. Raises UserError on construction."""

    doing = "synthesis"

    def __init__(self, context: bpy.types.Context, armature: bpy.types.Object | None) -> None:
        gathered, shot = strikes.gather(context, armature)
        self._strikes = begin_synthesis(shot)
        assert armature is not None
        super().__init__(gathered, armature, self._strikes, f"{armature.name} Strike")

    def missed_cm(self) -> float:
        """Largest distance from a target at its frame."""
        return float(self._strikes.hit_errors()[1].max()) * self.gathered.rig.scale * 100
