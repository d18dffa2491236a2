# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether things stay where they are while a bake poses a character: found by posing it and looking.

A goal may hang on the character's own hips, a curve be driven by a bone, the armature's parent follow its child. Such
things move with each key that is written, so that what was planned for them is wrong. Only what is linked to the
character can move with it, so that mostly nothing has to be posed: Blender would draw the scene anew, several times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from ..nsm_blender.errors import ShotError
from ..nsm_blender.motion.rotations import Array
from . import changes, posing
from .rig import Rig

_TURN = Quaternion((1.0, 0.7, 0.4), 0.3)
"""By how much each bone is turned for the look, in radians about an axis that is no bone's own."""
_SHIFT = 0.1
"""By how much each bone is shifted for the look, as a share of the armature's height."""
_MOVED = 1e-4
"""Change, as a share of the armature's height, that float32 does not explain."""


def check(
    context: bpy.types.Context,
    armature: bpy.types.Object,
    rig: Rig,
    used: Iterable[tuple[str, bpy.types.Object | None]],
) -> None:
    """Raise ShotError when the armature, or something that its bake is about, moves with its pose.

    used: objects, each with what it is. The scene is left as it is.
    """
    kinds = {obj: kind for kind, obj in used if obj is not None}
    moved = moving_along(context, armature, rig, [armature, *kinds])
    if armature in moved:
        raise ShotError(
            f"The object '{armature.name}' depends on something that its own bones move; a bake would move it with "
            "each key. Clear that parent, constraint or driver first."
        )
    for obj in moved:
        raise ShotError(
            f"The {kinds[obj]} '{obj.name}' moves with the bones of '{armature.name}', which the bake is to move; "
            "clear its parent, constraint or driver first, or choose another."
        )


def moving_along(
    context: bpy.types.Context, armature: bpy.types.Object, rig: Rig, objects: Sequence[bpy.types.Object]
) -> list[bpy.types.Object]:
    """Those of the objects that are elsewhere, or curves of another form, when the character is posed differently."""
    objects = _linked(armature, objects)
    if not objects:
        return []
    size = max((bone.head_local.length for bone in armature.data.bones), default=1.0) or 1.0
    before = [_shown(context, obj) for obj in objects]
    with posing.kept(context, armature, rig.named):
        turn = Matrix.Translation([_SHIFT * size] * 3) @ _TURN.to_matrix().to_4x4()
        for name in rig.named:
            bone = armature.pose.bones[name]
            bone.matrix_basis = bone.matrix_basis @ turn
        armature.update_tag(refresh={"DATA"})
        context.view_layer.update()
        after = [_shown(context, obj) for obj in objects]
    return [
        obj
        for obj, then, now in zip(objects, before, after, strict=True)
        if len(then) != len(now) or not np.allclose(then, now, rtol=_MOVED, atol=_MOVED * size, equal_nan=True)
    ]


def _linked(armature: bpy.types.Object, objects: Sequence[bpy.types.Object]) -> list[bpy.types.Object]:
    """Those of the objects that a parent, constraint, driver, modifier or node could move with the character's bones,
    and all where an add-on's handler acts on each change."""
    if any(handler is not changes.changed for handler in bpy.app.handlers.depsgraph_update_post):
        return list(objects)
    users = bpy.data.user_map()
    linked, new = set[bpy.types.ID](), list[bpy.types.ID]([armature])
    while new:
        # A scene uses all that it shows; it passes a movement on by its drivers alone.
        found = {user for user in users.get(new.pop(), ()) if not isinstance(user, bpy.types.Scene) or _is_driven(user)}
        new += found - linked
        linked |= found
    return [obj for obj in objects if obj in linked and (obj != armature or _could_follow(armature))]


def _is_driven(block: bpy.types.ID) -> bool:
    return block.animation_data is not None and len(block.animation_data.drivers) > 0


def _could_follow(armature: bpy.types.Object) -> bool:
    """Whether the object itself, whose bones may well look at each other, could follow something."""
    return armature.parent is not None or len(armature.constraints) > 0 or _is_driven(armature)


def _shown(context: bpy.types.Context, obj: bpy.types.Object) -> Array:
    """Where an object is, and of a curve its points, as numbers (N,)."""
    evaluated = obj.evaluated_get(context.evaluated_depsgraph_get())
    world = np.array(evaluated.matrix_world, dtype=np.float64).ravel()
    if obj.type != "CURVE":
        return world
    mesh = evaluated.to_mesh()
    points = np.empty(3 * len(mesh.vertices) if mesh else 0, dtype=np.float32)
    if mesh:
        mesh.vertices.foreach_get("co", points)
    evaluated.to_mesh_clear()
    return np.concatenate([world, points])
