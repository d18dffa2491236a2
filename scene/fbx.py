# SPDX-License-Identifier: GPL-3.0-or-later
"""FBX export of one character with its current action, set up for the program that will read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
from mathutils import Matrix, Vector

from ..nsm_blender.errors import UserError
from . import root_motion
from .export_stage import Exported, Names, Stage, staged

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
    "GODOT": Preset(
        "Godot",
        "Meters in the file's unit, for Godot 4.3 and newer",
        {"apply_scale_options": "FBX_SCALE_ALL"},
    ),
    "BLENDER": Preset(
        "Blender and others",
        "The exporter's own scale and axes",
        {"apply_scale_options": "FBX_SCALE_NONE"},
    ),
}


def export_fbx(
    context: bpy.types.Context, rig: bpy.types.Object, path: Path, preset: str, root: str = "KEEP"
) -> Exported:
    """Write `rig`, the visible meshes that it moves and its current action to `path`.

    root: where the motion over the ground goes, one of `root_motion.ITEMS`. Raises RigError when the rig has no action,
    UserError when the file cannot be written; nothing is left behind in either case.
    """
    chosen = PRESETS[preset]
    if chosen.centimeters and root == "BONE":
        root = "OBJECT"  # the armature is the root bone there
    with staged(context, rig, path, root) as stage:
        if chosen.centimeters:
            with _centimeter_copies(stage) as copies:
                _write(stage, copies, path, chosen)
        else:
            _write(stage, [stage.armature, *stage.meshes], path, chosen)
        return stage.result()


def _write(stage: Stage, objects: list[bpy.types.Object], path: Path, preset: Preset) -> None:
    with stage.lit(objects):
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


@contextmanager
def _centimeter_copies(stage: Stage) -> Iterator[list[bpy.types.Object]]:
    """Copies with data a hundred times larger below objects a hundred times smaller.

    They look the same here; the exporter scales objects by 100 for Unreal's centimeters, which makes
    their scale 1. Constraints let the copied bones follow the originals, whatever moves those.
    """
    from .curves import meters_per_unit  # brings NumPy, which enabling the extension should not wait for

    scene, rig = stage.scene, stage.armature
    shrink = 0.01 / meters_per_unit(scene)
    copies: list[bpy.types.Object] = []
    names = Names()
    try:
        copy = _shrunk_copy(scene, rig, shrink)
        copies.append(copy)
        for bone in copy.pose.bones:
            _follow(bone, rig, bone.name)
        if root_motion.moves_object(rig):
            _follow(copy, rig)
        names.give(copy, UNREAL_ROOT)
        for mesh in stage.meshes:
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
