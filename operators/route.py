# SPDX-License-Identifier: GPL-3.0-or-later
"""Show the paths that the character will take as curves, and drop the animator's own."""

from __future__ import annotations

import bpy

from ..nsm_blender import RouteError, ShotError
from ..scene import keys
from .base import counted
from .key import KeyOperation, OnOneKey


class NSM_OT_show_routes(KeyOperation):
    """Draw the path to each goal as a curve; the character follows a curve that you edit"""

    bl_idname = "nsm.show_routes"
    bl_label = "Show Routes"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Make or update the curves. Raises UserError with what is in the way."""
        from ..nsm_blender import foresee
        from ..scene import routes
        from ..scene.gather_keys import gather

        gathered = gather(context, armature)
        listed = list(zip(keys.of_character(armature), foresee(gathered.shot), strict=True))
        for number, (key, seen) in enumerate(listed, start=1):
            if seen.trouble:
                raise RouteError(f"Action key {number} ({keys.label(key)}): {seen.trouble}")
        shown = own = 0
        narrow = []
        for number, (key, seen) in enumerate(listed, start=1):
            if routes.is_own(key.route):
                own += 1
            elif seen.leg is None:
                routes.forget(key)
            else:
                points = seen.leg.route.points * gathered.rig.scale
                routes.show(context, armature, key, f"Route {armature.name} {number}", points)
                shown += 1
            if seen.leg is not None:
                ways = (("crouches", seen.leg.route.crouch), ("goes sideways", seen.leg.route.sideways))
                narrow += [
                    f"; action key {number}: the character {does}"
                    for does, where in ways
                    if where.any() and not where.all()
                ]
        kept = f"; {counted(own, 'edited route')} kept" if own else ""
        self.report({"INFO"}, f"Drew {counted(shown, 'route')}{kept}{''.join(narrow)}")


class NSM_OT_forget_route(OnOneKey):
    """Find the path to the goal again instead of following the curve"""

    bl_idname = "nsm.forget_route"
    bl_label = "Forget Route"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, _context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Take the curve off the key."""
        from ..scene import routes

        key = keys.of_character(armature)[self.found(armature)]
        if key.route is None:
            raise ShotError("This action has no route of its own.")
        routes.forget(key)


CLASSES = (NSM_OT_show_routes, NSM_OT_forget_route)
