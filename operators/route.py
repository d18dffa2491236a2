# SPDX-License-Identifier: GPL-3.0-or-later
"""Show the ways that the character will take as curves, and give up the animator's own."""

from __future__ import annotations

import bpy

from ..nsm_blender.errors import ShotError
from ..scene import keys
from .key import KeyOperation, OnOneKey


class NSM_OT_show_routes(KeyOperation):
    """Draw the way to each goal as a curve; one that you edit is followed as it is"""

    bl_idname = "nsm.show_routes"
    bl_label = "Show Routes"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Make or update the curves. Raises UserError with what is in the way."""
        from ..nsm_blender.control.foresight import plan
        from ..scene import routes
        from ..scene.errands import gather

        gathered = gather(context, armature)
        shown = own = 0
        for number, (key, way) in enumerate(
            zip(keys.of_character(armature), plan(gathered.shot), strict=True), start=1
        ):
            if routes.is_own(key.route):
                own += 1
            elif way is None:
                routes.forget(key)
            else:
                routes.show(context, armature, key, f"Route {armature.name} {number}", way.points * gathered.rig.scale)
                shown += 1
        kept = f"; {own} of your own stay" if own else ""
        self.report({"INFO"}, f"{shown} routes{kept}")


class NSM_OT_forget_route(OnOneKey):
    """Let the way to the goal be found again, instead of following the curve"""

    bl_idname = "nsm.forget_route"
    bl_label = "Forget Route"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, _context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Take the curve off the key."""
        from ..scene import routes

        key = keys.of_character(armature)[self.found(armature)]
        if key.route is None:
            raise ShotError("This key has no route of its own.")
        routes.forget(key)


CLASSES = (NSM_OT_show_routes, NSM_OT_forget_route)
