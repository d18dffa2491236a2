# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion files that Blender reads: FBX, glTF and VRM, imported into a scene of its own that is gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ..nsm_blender.errors import FileFormatError
from ..nsm_blender.motion.canonical import to_canonical
from ..nsm_blender.motion.imported import ImportedMotion
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.recorded import recorded
from ..nsm_blender.motion.retarget import to_model_skeleton
from ..nsm_blender.motion.rotations import Array, conjugate, from_matrix, multiply, rotate
from ..nsm_blender.motion.skeleton import MODEL_SKELETON
from ..nsm_blender.rigging.joints import RigInfo
from ..nsm_blender.rigging.mapping import Mapping, propose
from ..nsm_blender.rigging.rest_pose import is_even
from . import actions, armatures, binding, curves, recording

_KINDS = ("objects", "armatures", "meshes", "actions", "materials", "images", "cameras", "lights", "collections",
          "node_groups", "textures", "curves", "shape_keys")  # fmt: skip
"""What such a file may bring along."""
_GLTF = (".glb", ".gltf", ".vrm")
"""Endings of files in glTF; a VRM file is one."""
ENDINGS = (".fbx", *_GLTF)
"""Endings of the files that are read here."""
_NO_REST = (
    "The file has no rest pose, as no mesh is skinned to its bones; frames in which the figure stands took its place. "
    "Export it with its mesh for an exact motion."
)


def read_file(context: bpy.types.Context, path: Path) -> Motion:
    """The motion of the character in a file, at the model's size.

    An FBX file says at which frame rate; one in glTF has seconds, which become frames of the user's scene.

    Nothing is left behind. Raises FileFormatError, RigError and ShotError.
    """
    if not path.is_file():
        raise FileFormatError(f"{path}: there is no such file")
    with _imported(context, path):
        found = [obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"]
        animated = [obj for obj in found if _show_animation(obj)]
        if not animated:
            what = "animated armature" if found else "armature"
            raise FileFormatError(
                f"{path}: the file has no {what}; export the character with its mesh and its animation."
            )
        armature = max(animated, key=lambda obj: len(obj.data.bones))
        armature.name = path.name
        info = binding.rig_info(bpy.context, armature)
        mapping = propose(info)
        frames = recording.frames_of_action(armature)
        mapping.check(info)
        if not _has_skin(armature) and not is_even(info, mapping):
            return _without_rest(armature, info, mapping, frames)
        binding.store(armature, mapping)
        rig = armatures.read(bpy.context, armature)
        return recording.read(bpy.context, armature, rig, frames)


def _show_animation(obj: bpy.types.Object) -> bool:
    """Let the longest animation of an imported object move it; importers keep several in NLA tracks. Returns whether
    there is one."""
    animation = obj.animation_data
    if animation is None:
        return False
    if animation.action is None:
        strips = [strip for track in animation.nla_tracks for strip in track.strips if strip.action is not None]
        if not strips:
            return False
        longest = max(strips, key=lambda strip: strip.action.frame_range[1] - strip.action.frame_range[0])
        slot = getattr(longest, "action_slot", None)  # Blender 4.4 and later
        state = actions.assigned(obj)
        actions.assign(obj, replace(state, action=longest.action, slot=slot.identifier if slot else ""))
    while animation.nla_tracks:
        animation.nla_tracks.remove(animation.nla_tracks[0])
    return True


def _has_skin(armature: bpy.types.Object) -> bool:
    """Whether a mesh hangs on the bones: only with one has an FBX file a rest pose of its own."""
    meshes = [obj for obj in bpy.context.scene.objects if obj.type == "MESH"]
    return any(m.type == "ARMATURE" and m.object == armature for mesh in meshes for m in mesh.modifiers)


def _without_rest(armature: bpy.types.Object, info: RigInfo, mapping: Mapping, frames: Array) -> Motion:
    """The motion of an armature whose rest pose is a pose out of the motion; its standing frames tell the T-pose."""
    joints = [joint for joint in MODEL_SKELETON.names if joint in mapping.matches]
    bones = [mapping.matches[joint].bone for joint in joints]
    above = [info.above(bone, bones) for bone in bones]
    parents = tuple(-1 if bone is None else bones.index(bone) for bone in above)
    places, turns = _played(armature, bones, frames)
    heads = info.heads[[info.numbers[bone] for bone in bones]] @ np.asarray(info.world)[:3, :3].T
    rests = from_matrix(np.array([_unscaled(info.world) @ info.bones[info.numbers[bone]].rest for bone in bones]))
    # An imported joint is not turned in the rest pose.
    turns = multiply(turns, conjugate(np.broadcast_to(rests, turns.shape)))
    local, moved, offsets = turns.copy(), {0: places[:, 0]}, np.zeros((len(bones), 3))
    for joint, parent in enumerate(parents):
        if parent >= 0:
            back = conjugate(turns[:, parent])
            local[:, joint] = multiply(back, turns[:, joint])
            moved[joint] = rotate(back, places[:, joint] - places[:, parent])
            offsets[joint] = heads[joint] - heads[parent]
    render = bpy.context.scene.render
    fps = render.fps / render.fps_base
    none = (False,) * len(bones)
    imported = ImportedMotion(info.name, tuple(joints), parents, offsets, none, local, fps, moved, 1.0, posed=True)
    clip = to_model_skeleton(to_canonical(imported, up="z", scale=1.0))
    motion = recorded(clip.root, clip.world()[1], fps, info.name)
    return replace(motion, meta=motion.meta | {"notes": [_NO_REST]})


def _played(armature: bpy.types.Object, bones: list[str], frames: Array) -> tuple[Array, Array]:
    """World places (T, N, 3) in meters of bones' heads and their orientations (T, N, 4) at the scene frames (T,)."""
    scene, meters, out = bpy.context.scene, curves.meters_per_unit(bpy.context.scene), []
    for frame in frames.tolist():
        scene.frame_set(frame)
        shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        world = np.array(shown.matrix_world, dtype=np.float64)
        out.append([world @ np.array(shown.pose.bones[bone].matrix, dtype=np.float64) for bone in bones])
    posed = np.array(out)
    return posed[..., :3, 3] * meters, from_matrix(_unscaled(posed))


def _unscaled(matrices: Array) -> Array:
    """The rotations (..., 3, 3) in transforms (..., 4, 4)."""
    axes = np.asarray(matrices, dtype=np.float64)[..., :3, :3]
    out: Array = axes / np.linalg.norm(axes, axis=-2, keepdims=True)
    return out


@contextmanager
def _imported(context: bpy.types.Context, path: Path) -> Iterator[None]:
    """The file's content in a scene of its own, which is the context's meanwhile."""
    before = {kind: set(getattr(bpy.data, kind)) for kind in _KINDS}
    scene, user, window = bpy.data.scenes.new(path.name), context.scene, context.window
    scene.render.fps, scene.render.fps_base = user.render.fps, user.render.fps_base
    try:
        # The importer goes through edit mode, which an overridden context alone does not bring about.
        window.scene = scene
        _import(path)
        scene.view_layers[0].update()
        yield
    finally:
        window.scene = user
        bpy.data.scenes.remove(scene)
        bpy.data.batch_remove([block for kind in _KINDS for block in _new(kind, before[kind])])


def _import(path: Path) -> None:
    is_gltf = path.suffix.lower() in _GLTF
    try:
        if is_gltf:
            bpy.ops.import_scene.gltf(filepath=str(path))
        else:
            bpy.ops.import_scene.fbx(filepath=str(path), anim_offset=0.0, ignore_leaf_bones=False)
    except (AttributeError, RuntimeError) as error:
        kind = "glTF" if is_gltf else "FBX"
        raise FileFormatError(f"{path}: cannot be read as {kind} ({str(error).strip()})") from error


def _new(kind: str, before: set[Any]) -> list[Any]:
    return [block for block in getattr(bpy.data, kind) if block not in before]
