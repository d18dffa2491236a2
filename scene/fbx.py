# SPDX-License-Identifier: GPL-3.0-or-later
"""FBX export of one character with its current action, set up for the program that will read it.

The export runs in a scene of its own that holds only the character, so its frame range is the
action's and neither selection, mode, frame nor anything else of the user's scene is touched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
from mathutils import Matrix, Vector

from ..nsm_blender.errors import RigError, UserError
from . import deform_rig

UNREAL_ROOT = "root"
"""Unreal makes a bone of the armature object; its own skeletons call that bone so."""


@dataclass(frozen=True)
class Preset:
    """How one target wants its FBX.

    options: of Blender's exporter. centimeters: bones and vertices are written in centimeters with all
    object scales 1, not in meters below an object scaled by 100.
    """

    label: str
    description: str
    options: dict[str, Any]
    centimeters: bool = False


PRESETS = {
    "UNITY": Preset(
        "Unity",
        "Meters in the file's unit, so that all objects import with scale 1",
        {"apply_scale_options": "FBX_SCALE_ALL"},
    ),
    "UNREAL": Preset(
        "Unreal Engine",
        "Centimeters, all scales 1, the armature as the bone 'root', faces with smoothing",
        {"apply_scale_options": "FBX_SCALE_NONE", "mesh_smooth_type": "FACE"},
        centimeters=True,
    ),
    "BLENDER": Preset(
        "Blender and others",
        "The exporter's own scale and axes",
        {"apply_scale_options": "FBX_SCALE_NONE"},
    ),
}


@dataclass(frozen=True)
class Exported:
    """What an export wrote: the first and last frame, and the number of meshes."""

    first: int
    last: int
    meshes: int


def export_fbx(context: bpy.types.Context, rig: bpy.types.Object, path: Path, preset: str) -> Exported:
    """Write `rig`, the visible meshes that it moves and its current action to `path`.

    Raises RigError when the rig has no action, UserError when the file cannot be written; nothing is
    left behind in either case.
    """
    action = current_action(rig)
    if action is None:
        raise RigError(f"'{rig.name}' has no action to export; bake one first.")
    if not path.parent.is_dir():
        raise UserError(f"The folder {path.parent} does not exist.")
    chosen = PRESETS[preset]
    first, last = math.floor(action.frame_range[0]), math.ceil(action.frame_range[1])
    meshes = skinned_meshes(context, rig)
    with (
        _pose_kept(context.scene, rig),
        _scene_of_its_own(context, action.name, first, last) as scene,
        _names() as names,
        deform_rig.lean(context, scene, rig, meshes) as (bones, skins),
    ):
        for copy, original in zip([bones, *skins], [rig, *meshes], strict=True):
            if copy != original:
                names.give(copy, original.name)
        if chosen.centimeters:
            with _centimeter_copies(scene, bones, skins) as copies:
                _write(scene, copies, path, chosen)
        else:
            _write(scene, [bones, *skins], path, chosen)
    return Exported(first, last, len(meshes))


def current_action(rig: bpy.types.Object) -> bpy.types.Action | None:
    """The action that moves the rig now, or None."""
    return rig.animation_data.action if rig.animation_data else None


def skinned_meshes(context: bpy.types.Context, rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Visible meshes that the rig deforms or carries."""
    return [
        obj
        for obj in context.view_layer.objects
        if obj.type == "MESH"
        and obj.visible_get()
        and (obj.parent == rig or any(m.type == "ARMATURE" and m.object == rig for m in obj.modifiers))
    ]


def _write(scene: bpy.types.Scene, objects: list[bpy.types.Object], path: Path, preset: Preset) -> None:
    for obj in objects:
        scene.collection.objects.link(obj)
    layer = scene.view_layers[0]
    layer.update()
    with bpy.context.temp_override(scene=scene, view_layer=layer):
        try:
            bpy.ops.export_scene.fbx(
                filepath=str(path),
                object_types={"ARMATURE", "MESH"},
                axis_forward="-Z",
                axis_up="Y",
                add_leaf_bones=False,
                use_armature_deform_only=True,
                bake_anim=True,
                bake_anim_use_all_bones=True,
                bake_anim_use_nla_strips=False,
                bake_anim_use_all_actions=False,
                bake_anim_force_startend_keying=True,
                bake_anim_simplify_factor=0.0,
                **preset.options,
            )
        except (OSError, RuntimeError) as error:
            raise UserError(f"{path} could not be written: {str(error).strip()}") from error


_CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")


@contextmanager
def _pose_kept(user: bpy.types.Scene | None, rig: bpy.types.Object) -> Iterator[None]:
    """Stepping through frames in another scene writes animated values into the originals: undo that."""
    assert user is not None
    owners = [rig, *rig.pose.bones]
    kept = [[tuple(getattr(owner, channel)) for channel in _CHANNELS] for owner in owners]
    try:
        yield
    finally:
        user.frame_set(user.frame_current, subframe=user.frame_subframe)
        for owner, values in zip(owners, kept, strict=True):
            for channel, value in zip(_CHANNELS, values, strict=True):
                setattr(owner, channel, value)


@contextmanager
def _scene_of_its_own(context: bpy.types.Context, name: str, first: int, last: int) -> Iterator[bpy.types.Scene]:
    """An empty scene with the user's frame rate and units. The exporter names the take after it."""
    user = context.scene
    scene = bpy.data.scenes.new(name)
    try:
        scene.render.fps, scene.render.fps_base = user.render.fps, user.render.fps_base
        scene.unit_settings.system = user.unit_settings.system
        scene.unit_settings.scale_length = user.unit_settings.scale_length
        scene.frame_start, scene.frame_end = first, last
        scene.frame_set(first)
        yield scene
    finally:
        bpy.data.scenes.remove(scene)


@contextmanager
def _centimeter_copies(
    scene: bpy.types.Scene, rig: bpy.types.Object, meshes: list[bpy.types.Object]
) -> Iterator[list[bpy.types.Object]]:
    """Copies with data a hundred times larger below objects a hundred times smaller.

    They look the same here; the exporter scales objects by 100 for Unreal's centimeters, which makes
    their scale 1. Constraints let the copied bones follow the originals, whatever moves those.
    """
    from .curves import meters_per_unit  # brings NumPy, which enabling the extension should not wait for

    shrink = 0.01 / meters_per_unit(scene)
    copies: list[bpy.types.Object] = []
    names = _Names()
    try:
        copy = _shrunk_copy(scene, rig, shrink)
        copies.append(copy)
        for bone in copy.pose.bones:
            _follow(bone, rig, bone.name)
        names.give(copy, UNREAL_ROOT)
        for mesh in meshes:
            twin = _shrunk_copy(scene, mesh, shrink)
            copies.append(twin)
            if mesh.parent_type == "BONE":
                _follow(twin, mesh)
            else:
                # under the armature, which has the same transform then, its own is none
                twin.data.transform(copy.matrix_basis.inverted() @ twin.matrix_basis)
                twin.parent, twin.matrix_basis = copy, Matrix()
            for modifier in twin.modifiers:
                if isinstance(modifier, bpy.types.ArmatureModifier) and modifier.object == rig:
                    modifier.object = copy
            names.give(twin, mesh.name)
            names.give(twin.data, mesh.data.name)
        yield copies
    finally:
        data = [obj.data for obj in copies]
        bpy.data.batch_remove(copies)
        bpy.data.batch_remove(data)
        names.restore()


def _shrunk_copy(scene: bpy.types.Scene, original: bpy.types.Object, shrink: float) -> bpy.types.Object:
    """A free, unanimated object with its own data, which looks the same with the scale `shrink`."""
    copy = original.copy()
    copy.data = _applied(scene, copy) if _has_distances(copy) else original.data.copy()
    copy.animation_data_clear()
    copy.constraints.clear()
    location, rotation, scale = original.matrix_world.decompose()
    grow = Matrix.Diagonal((scale.x / shrink, scale.y / shrink, scale.z / shrink, 1))
    if isinstance(copy.data, bpy.types.Mesh):
        copy.data.transform(grow, shape_keys=True)
    elif isinstance(copy.data, bpy.types.Armature):
        copy.data.animation_data_clear()
        copy.data.transform(grow)
    copy.parent = None
    copy.matrix_parent_inverse.identity()
    copy.matrix_basis = Matrix.LocRotScale(location, rotation, Vector([shrink] * 3))
    return copy


def _has_distances(obj: bpy.types.Object) -> bool:
    """Modifiers such as bevels hold distances that do not grow with the data."""
    return any(modifier.type != "ARMATURE" for modifier in obj.modifiers)


def _applied(scene: bpy.types.Scene, copy: bpy.types.Object) -> bpy.types.Mesh:
    """The mesh of `copy` with all its modifiers but armatures, which stay."""
    shown = [modifier for modifier in copy.modifiers if modifier.type == "ARMATURE" and modifier.show_viewport]
    for modifier in shown:
        modifier.show_viewport = False
    scene.collection.objects.link(copy)
    layer = scene.view_layers[0]
    layer.update()
    assert layer.depsgraph is not None
    mesh = bpy.data.meshes.new_from_object(
        copy.evaluated_get(layer.depsgraph), preserve_all_data_layers=True, depsgraph=layer.depsgraph
    )
    scene.collection.objects.unlink(copy)
    for modifier in list(copy.modifiers):
        if modifier.type != "ARMATURE":
            copy.modifiers.remove(modifier)
    for modifier in shown:
        modifier.show_viewport = True
    return mesh


def _follow(copy: bpy.types.PoseBone | bpy.types.Object, original: bpy.types.Object, bone: str = "") -> None:
    """Let a copied bone or object stand where the original stands, without its scale."""
    for constraint in list(copy.constraints):
        copy.constraints.remove(constraint)
    place, turn = copy.constraints.new("COPY_LOCATION"), copy.constraints.new("COPY_ROTATION")
    assert isinstance(place, bpy.types.CopyLocationConstraint)
    assert isinstance(turn, bpy.types.CopyRotationConstraint)
    place.target = turn.target = original
    place.subtarget = turn.subtarget = bone


@contextmanager
def _names() -> Iterator[_Names]:
    """Names to lend; they are back with their owners in the end, when the copies are gone."""
    names = _Names()
    try:
        yield names
    finally:
        names.restore()


class _Names:
    """Lends copies the names that the file shall show, and gives them back to their owners."""

    def __init__(self) -> None:
        self._owners: list[tuple[bpy.types.ID, str]] = []

    def give(self, copy: bpy.types.ID | None, name: str) -> None:
        assert copy is not None
        owners = bpy.data.objects if isinstance(copy, bpy.types.Object) else bpy.data.meshes
        owner: bpy.types.ID | None = owners.get((name, None))  # local, of no library
        if owner is not None and owner != copy:
            self._owners.append((owner, name))
            owner.name = f"{name[:40]} (during export)"
        copy.name = name

    def restore(self) -> None:
        for owner, name in self._owners:
            owner.name = name
