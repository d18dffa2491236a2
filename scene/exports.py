# SPDX-License-Identifier: GPL-3.0-or-later
"""Export of one character with its current action as glTF, BVH or USD, by Blender's own exporters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy

from ..nsm_blender.errors import UserError
from .export_stage import Exported, Stage, staged


def export_gltf(context: bpy.types.Context, rig: bpy.types.Object, path: Path, root: str = "KEEP") -> Exported:
    """Write `rig`, the meshes that it moves and its current action as one binary glTF file. Raises UserError."""

    def write(stage: Stage) -> None:
        bpy.ops.export_scene.gltf(
            filepath=str(path),
            export_format="GLB",
            use_active_scene=True,
            export_animation_mode="ACTIVE_ACTIONS",
            export_force_sampling=True,
            export_optimize_animation_size=False,
            export_negative_frame="SLIDE",
            export_rest_position_armature=True,
            export_def_bones=False,
        )

    return _exported(context, rig, path, root, write, with_meshes=True)


def export_bvh(context: bpy.types.Context, rig: bpy.types.Object, path: Path, root: str = "KEEP") -> Exported:
    """Write the motion of `rig` as a BVH file in the world's axes and unit; it has no meshes. Raises UserError."""

    def write(stage: Stage) -> None:
        bpy.ops.export_anim.bvh(
            filepath=str(path), frame_start=stage.first, frame_end=stage.last, rotate_mode="NATIVE", global_scale=1.0
        )

    return _exported(context, rig, path, root, write, with_meshes=False)


def export_usd(context: bpy.types.Context, rig: bpy.types.Object, path: Path, root: str = "KEEP") -> Exported:
    """Write `rig`, the meshes that it moves and its current action as a USD file, as a skeleton. Raises UserError."""

    def write(stage: Stage) -> None:
        bpy.ops.wm.usd_export(
            filepath=str(path),
            selected_objects_only=True,
            export_animation=True,
            export_armatures=True,
            only_deform_bones=False,
            export_custom_properties=False,
        )

    return _exported(context, rig, path, root, write, with_meshes=True)


def _exported(
    context: bpy.types.Context,
    rig: bpy.types.Object,
    path: Path,
    root: str,
    write: Callable[[Stage], None],
    *,
    with_meshes: bool,
) -> Exported:
    """Have `write` write the staged character."""
    with staged(context, rig, path, root, sampled=True, in_world=not with_meshes) as stage:
        meshes = stage.meshes if with_meshes else []
        with stage.lit([stage.armature, *meshes]):
            try:
                write(stage)
            except (OSError, RuntimeError) as error:
                raise UserError(f"{path} could not be written: {str(error).strip()}") from error
        return Exported(stage.first, stage.last, len(meshes))
