# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake that is to be kept gets fewer keys, in small steps."""

from __future__ import annotations

from collections.abc import Generator

import bpy

from ..scene import actions, kept, lookup
from ..scene.properties import of_action, of_object
from .job import Steps, paced


class KeepJob(Steps):
    """Mark the bake of an armature to be kept, and thin its keys. Raises ActionError where there is none."""

    doing = "thinning of the keys"

    def __init__(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        super().__init__()
        bake = lookup.baked(armature)
        if bake is None:
            raise actions.ActionError(f"'{armature.name}' has no bake to keep.")
        self.name, self._bake, self._armature = bake.name, bake.session_uid, armature.session_uid
        self.thinning = None if kept.is_thinned(bake) else kept.Thinning(context, armature, bake)
        self.premises.hold_assigned(bake, armature)

    def stages(self) -> Generator[float]:
        """Thin, and then mark."""
        if self.thinning is not None:
            self.changes_scene = True
            yield from paced(self.thinning.work(), 0.5)
            report = of_object(lookup.find(bpy.data.objects, self._armature)).report
            report.keys -= self.thinning.keys_before - self.thinning.keys
        of_action(lookup.find(bpy.data.actions, self._bake)).keep = True

    def undo(self) -> None:
        """Give the curves their keys again."""
        if self.thinning is not None:
            self.thinning.undo()
