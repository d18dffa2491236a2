# SPDX-License-Identifier: GPL-3.0-or-later
"""Exporting a baked character.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..nsm_blender import UserError
from ..scene import exports, lookup, root_motion
from ..scene.export_stage import current_action
from ..scene.fbx import PRESETS, export_fbx
from .base import Operation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from ..scene.export_stage import Exported


class _Export(Operation):
    """Base of the exports: asks for the file and says what was written."""

    ending = ""
    """Of the file's name."""
    exporter = ("", "")
    """Blender's own operator: where `bpy.ops` has it, and what it is called."""

    filepath: StringProperty(name="File", description="The file to write", subtype="FILE_PATH", options={"SKIP_SAVE"})
    check_existing: BoolProperty(default=True, options={"HIDDEN"})
    root: EnumProperty(
        name="Root Motion", description="Where the motion over the ground goes", items=root_motion.ITEMS, default="KEEP"
    )

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There must be an armature with an action, in object or pose mode."""
        rig = lookup.character(context)
        if rig is None:
            cls.poll_message_set("Select a character's armature first")
        elif context.mode not in {"OBJECT", "POSE"}:
            cls.poll_message_set("Switch to object mode or pose mode to export")
        elif current_action(rig) is None:
            cls.poll_message_set(f"'{rig.name}' has no action; bake one first")
        elif not exists(*cls.exporter):
            cls.poll_message_set(
                f"This Blender has no {cls.bl_label.removeprefix('Export ')} export, or it is disabled"
            )
        else:
            return True
        return False

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> "set[OperatorReturnItems]":
        """Ask for the file, named after the character unless it is known."""
        rig = lookup.character(context)
        if not self.filepath and rig is not None:
            folder = Path(bpy.data.filepath).parent if bpy.data.filepath else Path.home()
            self.filepath = str(folder / f"{bpy.path.clean_name(rig.name)}{self.ending}")
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context: bpy.types.Context) -> set[str]:
        """Write the file."""
        rig = lookup.character(context)
        assert rig is not None
        if not self.filepath:
            raise UserError(f"Choose a file name for the {self.bl_label.removeprefix('Export ')} file.")
        path = Path(bpy.path.abspath(self.filepath))
        if path.suffix.lower() != self.ending:
            path = path.with_name(f"{path.name}{self.ending}")
        done = self.write(context, rig, path)
        with_meshes = f" and {done.meshes} mesh{'es' if done.meshes > 1 else ''}" if done.meshes else ""
        self.report({"INFO"}, f"Wrote frames {done.first} to {done.last}{with_meshes} to {path.name}")
        return {"FINISHED"}

    def write(self, context: bpy.types.Context, rig: bpy.types.Object, path: Path) -> "Exported":
        """Write the file."""
        raise NotImplementedError


class NSM_OT_export_fbx(_Export, bpy.types.Operator):
    """Write the character, the meshes that it moves and its current action to an FBX file"""

    bl_idname = "nsm.export_fbx"
    bl_label = "Export FBX"
    bl_options = {"REGISTER"}

    ending = ".fbx"
    exporter = ("export_scene", "fbx")

    filter_glob: StringProperty(default="*.fbx", options={"HIDDEN"})
    preset: EnumProperty(
        name="For",
        description="The program that will read the file",
        items=[(key, preset.label, preset.description) for key, preset in PRESETS.items()],
        default="UNITY",
    )

    def write(self, context: bpy.types.Context, rig: bpy.types.Object, path: Path) -> "Exported":
        """Write the file."""
        return export_fbx(context, rig, path, self.preset, self.root)


class NSM_OT_export_gltf(_Export, bpy.types.Operator):
    """Write the character, the meshes that it moves and its current action to a binary glTF file, as for Godot"""

    bl_idname = "nsm.export_gltf"
    bl_label = "Export glTF"
    bl_options = {"REGISTER"}

    ending = ".glb"
    exporter = ("export_scene", "gltf")

    filter_glob: StringProperty(default="*.glb", options={"HIDDEN"})

    def write(self, context: bpy.types.Context, rig: bpy.types.Object, path: Path) -> "Exported":
        """Write the file."""
        return exports.export_gltf(context, rig, path, self.root)


class NSM_OT_export_bvh(_Export, bpy.types.Operator):
    """Write the character's motion, without meshes, to a BVH file with Z up"""

    bl_idname = "nsm.export_bvh"
    bl_label = "Export BVH"
    bl_options = {"REGISTER"}

    ending = ".bvh"
    exporter = ("export_anim", "bvh")

    filter_glob: StringProperty(default="*.bvh", options={"HIDDEN"})

    def write(self, context: bpy.types.Context, rig: bpy.types.Object, path: Path) -> "Exported":
        """Write the file. It has bones alone, so that the motion of an object can only be on the root bone."""
        root = "BONE" if self.root == "OBJECT" else self.root
        return exports.export_bvh(context, rig, path, root)


class NSM_OT_export_usd(_Export, bpy.types.Operator):
    """Write the character, the meshes that it moves and its current action to a USD file"""

    bl_idname = "nsm.export_usd"
    bl_label = "Export USD"
    bl_options = {"REGISTER"}

    ending = ".usdc"
    exporter = ("wm", "usd_export")

    filter_glob: StringProperty(default="*.usdc", options={"HIDDEN"})

    def write(self, context: bpy.types.Context, rig: bpy.types.Object, path: Path) -> "Exported":
        """Write the file."""
        return exports.export_usd(context, rig, path, self.root)


def exists(module: str, name: str) -> bool:
    """Whether Blender has an operator: add-ons can be disabled, and builds lack some."""
    return hasattr(bpy.types, f"{module.upper()}_OT_{name}") or name in dir(getattr(bpy.ops, module))


class NSM_MT_export(bpy.types.Menu):
    """The kinds of files that a character can be written to."""

    bl_idname = "NSM_MT_export"
    bl_label = "Export"

    def draw(self, _context: bpy.types.Context) -> None:
        """An entry for each."""
        for operator in EXPORTS:
            self.layout.operator(operator.bl_idname, text=operator.bl_label.removeprefix("Export "))


EXPORTS = (NSM_OT_export_fbx, NSM_OT_export_gltf, NSM_OT_export_bvh, NSM_OT_export_usd)
CLASSES = (*EXPORTS, NSM_MT_export)
