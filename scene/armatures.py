# SPDX-License-Identifier: GPL-3.0-or-later
"""Armatures: whether they can be animated, how motion comes onto them, and where they stand.

An armature whose bones were bound to the model's joints is a `BoundRig`; one whose bones have the joints' names, such
as the bundled character, is a `ModelRig` and needs no binding.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..nsm_blender.errors import RigError, ShotError
from ..nsm_blender.motion.blending import Pose
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.rotations import Array, from_matrix, rotate
from ..nsm_blender.motion.skeleton import ANKLE_HEIGHT, MODEL_SKELETON
from ..nsm_blender.stepwise import Stepwise, finished
from . import actions, binding, bound_rig, curves, extent, fingers, model_rig, posing
from .rig import Blends, Rig

__all__ = ("Rig", "channels", "keying", "read", "shown", "standing", "world_matrices")

_FORWARD = np.array([0.0, -1.0, 0.0])
"""Where the model looks in its rest pose."""
_JOINTS = MODEL_SKELETON.names
_FEET = ("LeftFoot", "RightFoot")


def read(context: bpy.types.Context, obj: bpy.types.Object | None) -> Rig:
    """Describe the armature `obj`. Raises RigError and ShotError with the reason when it cannot be animated."""
    if obj is None:
        raise RigError("No character is chosen; select an armature, or add one with 'Add Mannequin'.")
    if obj.type != "ARMATURE":
        raise RigError(f"'{obj.name}' is not an armature; select the character's armature.")
    _check_object(context, obj)
    extent.check(np.array(obj.matrix_world)[:3] * curves.meters_per_unit(context.scene), f"'{obj.name}'")
    rig: Rig
    if binding.is_bound(obj):
        _check_scale(obj)
        rig = bound_rig.read(context, obj)
    else:
        rig = model_rig.read(context, obj)
        _check_scale(obj)
    rig.blends = _blends(context, obj, rig)
    rig.fingers = fingers.read(context, obj)
    return rig


def world_matrices(context: bpy.types.Context, obj: bpy.types.Object, frames: Array) -> Array:
    """World matrix of the armature at each frame, (F, 4, 4); (1, 4, 4) when nothing moves it. Raises ShotError."""
    above = [obj]
    while above[-1].parent is not None:
        above.append(above[-1].parent)
    moving = any(o.constraints or (o is not obj and o.animation_data) or _is_driven(o) for o in above)
    if not moving:
        return np.array(obj.matrix_world, dtype=np.float64)[None]
    scene, frame, subframe = context.scene, context.scene.frame_current, context.scene.frame_subframe
    out = np.empty((len(frames), 4, 4))
    try:
        for i, at in enumerate(frames.tolist()):
            scene.frame_set(at)
            out[i] = obj.evaluated_get(context.evaluated_depsgraph_get()).matrix_world
    finally:
        scene.frame_set(frame, subframe=subframe)
    extent.check(out[:, :3] * curves.meters_per_unit(scene), f"'{obj.name}'")
    return out


def _is_driven(obj: bpy.types.Object) -> bool:
    """Whether drivers move the object itself; those of its bones do not."""
    animation = obj.animation_data
    return animation is not None and any(not driver.data_path.startswith("pose.") for driver in animation.drivers)


def channels(rig: Rig, motion: Motion, world: Array, meters_per_unit: float) -> list[actions.Channel]:
    """`keying` at once."""
    return finished(keying(rig, motion, world, meters_per_unit))


def keying(rig: Rig, motion: Motion, world: Array, meters_per_unit: float) -> Stepwise[list[actions.Channel]]:
    """The motion as keys of the rig's bones, and of its fingers where these are posed, in pieces of work. world: (T or
    1, 4, 4) of the armature, in Blender units."""
    out = yield from rig.keying(motion, world, meters_per_unit)
    if rig.fingers is not None:
        yield
        out += rig.fingers.channels(motion)
    return out


def shown(context: bpy.types.Context, obj: bpy.types.Object, rig: Rig) -> Pose:
    """The pose that `obj` shows now, keyed or not, at the model's size."""
    evaluated = obj.evaluated_get(context.evaluated_depsgraph_get())
    return _pose(rig, *rig.posed(evaluated, curves.meters_per_unit(context.scene)))


def joint_of(obj: bpy.types.Object, bone: str) -> str | None:
    """The model's joint that a bone of `obj` is; None for other bones."""
    if binding.is_bound(obj):
        matches = binding.mapping(obj).matches
        return next((joint for joint, match in matches.items() if match.bone == bone and joint in _JOINTS), None)
    return bone if bone in _JOINTS else None


def standing(context: bpy.types.Context, obj: bpy.types.Object, rig: Rig, frame: int) -> list[float]:
    """Where a bake begins, at the model's size: x, y, z in meters and facing angle.

    It is where the object puts the rest pose at `frame`, so that one bake does not move the next; or, when the
    binding says so, where the pose that is shown stands. Raises ShotError for a lying character.
    """
    if binding.of(obj).start_pose == "POSE":
        pose = shown(context, obj, rig)
    else:
        world = world_matrices(context, obj, np.array([frame]))[0]
        pose = _pose(rig, *_at_rest(obj, rig, world, curves.meters_per_unit(context.scene)))
    forward = rotate(pose.rotations[0], _FORWARD)
    if np.linalg.norm(forward[:2]) < 0.5:
        raise ShotError(f"'{obj.name}' lies on its back or face; turn its object so that it stands.")
    ground = pose.positions[MODEL_SKELETON.indices(_FEET), 2].min() - ANKLE_HEIGHT
    x, y, _, angle = pose.root
    return [x, y, float(ground), angle]


def _at_rest(obj: bpy.types.Object, rig: Rig, world: Array, meters: float) -> tuple[Array, Array]:
    """What `rig.posed` would return of the rest pose."""
    rests = np.array([obj.data.bones[name].matrix_local for name in rig.bones], dtype=np.float64)
    own = world[:3, :3] / np.linalg.norm(world[:3, :3], axis=0)
    return (world[:3, :3] @ rests[0, :3, 3] + world[:3, 3]) * meters, from_matrix(own @ rests[:, :3, :3])


def _pose(rig: Rig, place: Array, rotations: Array) -> Pose:
    hips, turned = finished(rig.recovering(place[None], rotations[None], 1.0))
    return Pose(hips[0], turned[0])


def _blends(context: bpy.types.Context, obj: bpy.types.Object, rig: Rig) -> Blends:
    """The poses that the binding asks for."""
    asked = binding.of(obj)
    if not asked.blend_in and asked.end_pose == "NONE":
        return Blends()
    now = shown(context, obj, rig)
    end = None
    if asked.end_pose == "POSE":
        end = now
    elif asked.end_pose == "ACTION":
        end = _pose_of(context, obj, rig, asked.end_pose_action)
    return Blends(now, asked.blend_in, end, asked.blend_out)


def _pose_of(context: bpy.types.Context, obj: bpy.types.Object, rig: Rig, action: bpy.types.Action | None) -> Pose:
    """The pose of an action's first frame."""
    if action is None:
        raise ShotError("No end pose is chosen; choose an action in the Root and IK panel, or set End Pose to None.")
    with posing.kept(context, obj):
        obj.pose.apply_pose_from_action(action, evaluation_time=action.frame_range[0])
        obj.update_tag(refresh={"DATA"})
        context.view_layer.update()
        return shown(context, obj, rig)


def _check_object(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    override = obj.override_library
    if obj.library is not None or (override is not None and override.is_system_override):
        raise RigError(f"'{obj.name}' is linked from another file; make a library override of it first.")
    if obj.mode == "EDIT":
        raise RigError(f"'{obj.name}' is in edit mode; leave it (Tab) before baking.")
    if not obj.evaluated_get(context.evaluated_depsgraph_get()).is_evaluated:
        raise RigError(f"'{obj.name}' is disabled in viewports or its collection is; enable it.")
    if obj.data.pose_position == "REST":
        raise RigError(f"'{obj.name}' shows its rest position; switch its armature to Pose Position.")


def _check_scale(obj: bpy.types.Object) -> None:
    world = np.array(obj.matrix_world, dtype=np.float64)[:3, :3]
    lengths = np.linalg.norm(world, axis=0)
    if lengths.min() < 1e-9:
        raise RigError(f"'{obj.name}' has a scale of zero; give it a scale.")
    if np.abs((world / lengths).T @ (world / lengths) - np.eye(3)).max() > 1e-3:
        raise RigError(f"'{obj.name}' is sheared by a parent's scale; apply the scales first (Ctrl+A).")
    if lengths.max() / lengths.min() > 1.001:
        raise RigError(f"'{obj.name}' is not scaled evenly; apply its scale first (Ctrl+A).")
    if np.linalg.det(world) < 0:
        raise RigError(f"'{obj.name}' is mirrored by a negative scale; apply its scale first (Ctrl+A).")
