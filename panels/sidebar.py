# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar tab "NSM" of the 3D viewport: character, path, bake, result."""

from __future__ import annotations

import textwrap
from typing import Any

import bpy

from ..scene import lookup
from ..scene.properties import of_action, of_object, of_scene, progress

_LINE = 38
"""Letters in a line of the sidebar at its usual width."""


class _Panel(bpy.types.Panel):
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "NSM"


class NSM_PT_character(_Panel):
    """Which armature acts."""

    bl_label = "Character"

    def draw(self, context: bpy.types.Context) -> None:
        """The character's name, or how to get one."""
        column = self.layout.column()
        armature = lookup.character(context)
        if armature is not None:
            column.label(text=armature.name, icon="ARMATURE_DATA")
            return
        column.label(text="Select an armature, or add", icon="INFO")
        column.label(text="the character to begin.", icon="BLANK1")
        _operator_if_there(column, "add_character", "OUTLINER_OB_ARMATURE")
        column.operator("nsm.load_shot", icon="FILE_FOLDER")


class NSM_PT_path(_Panel):
    """Where the character walks, how fast, and how."""

    bl_label = "Path"

    def draw(self, context: bpy.types.Context) -> None:
        """The curve and its settings."""
        layout = self.layout
        layout.use_property_split = True
        armature, path = lookup.character(context), lookup.path(context)
        if armature is not None:
            if of_object(armature).keys:
                layout.label(text="The action keys are baked instead.", icon="INFO")
                return
            layout.prop(of_object(armature), "path")
        if path is None:
            column = layout.column()
            column.label(text="Choose a curve to walk along,", icon="INFO")
            column.label(text="or add one at the 3D cursor.", icon="BLANK1")
            column.operator("nsm.add_path", icon="CURVE_BEZCURVE")
            if any(obj.type == "CURVE" for obj in context.selected_objects):
                column.operator("nsm.assign_path", icon="EYEDROPPER")
            return
        settings = of_object(path)
        column = layout.column()
        column.prop(settings, "speed", text="Speed (m/s)")
        column.prop(settings, "gait")
        column.prop(settings, "facing")
        column.prop(settings, "use_radius")
        if any(spline.use_cyclic_u for spline in path.data.splines):
            column.prop(settings, "loop")


class NSM_PT_following(_Panel):
    """How closely the character follows the curve."""

    bl_label = "Following"
    bl_parent_id = "NSM_PT_path"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Shown when there is a curve."""
        return lookup.path(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        """The two biases."""
        path = lookup.path(context)
        if path is None:
            return
        layout = self.layout
        layout.use_property_split = True
        layout.prop(of_object(path), "bias_velocity")
        layout.prop(of_object(path), "bias_direction")


class NSM_PT_bake(_Panel):
    """The frame range and the button."""

    bl_label = "Bake"

    def draw(self, context: bpy.types.Context) -> None:
        """The button, or the progress while a bake runs."""
        layout = self.layout
        if lookup.baking(context):
            state = progress(context)
            layout.progress(factor=state.progress, text=state.text)
            layout.label(text="Esc cancels")
            return
        layout.use_property_split = True
        settings = of_scene(context)
        layout.prop(settings, "use_custom_range")
        if settings.use_custom_range:
            column = layout.column(align=True)
            column.prop(settings, "frame_start")
            column.prop(settings, "frame_end")
        armature = lookup.character(context)
        if armature is not None:
            _draw_controller(layout, of_object(armature))
            if of_object(armature).keys:
                layout.label(text=f"Bakes {len(of_object(armature).keys)} action keys.", icon="INFO")
        row = layout.row()
        row.scale_y = 1.5
        row.operator("nsm.bake", icon="REC")


class NSM_PT_result(_Panel):
    """What the last bake measured, and what to do with it."""

    bl_label = "Result"

    def draw(self, context: bpy.types.Context) -> None:
        """The report and the buttons for a bake."""
        layout = self.layout
        armature = lookup.character(context)
        bake = None if armature is None else lookup.baked(armature)
        if bake is None:
            layout.label(text="No bake yet.", icon="INFO")
            return
        layout.prop(of_action(bake), "keep")
        column = layout.column(align=True)
        column.operator("nsm.remove_bake", icon="TRASH")
        column.operator("nsm.purge_bakes", icon="BRUSH_DATA")
        _operator_if_there(column, "export_fbx", "EXPORT")
        report = of_object(armature).report
        if not report.frames:
            return
        seconds = report.seconds_rollout + report.seconds_retarget + report.seconds_write
        rows = [
            ("Frames", f"{report.frames} in {seconds:.1f} s"),
            ("Keys", f"{report.keys:,} instead of {report.keys_unthinned:,}"),
            ("Rig error", f"{report.rig_error_mm_max:.2f} mm"),
            ("Foot slide", f"{report.foot_slide_cm_per_s:.1f} cm/s"),
        ]
        if report.path_error_cm >= 0:
            rows.append(("Path error", f"{report.path_error_cm:.1f} cm"))
        if report.goal_error_cm >= 0:
            goal = "Goals" if report.goal_error_deg >= 0 else "End of path"
            rows.append((goal, f"{report.goal_error_cm:.1f} cm away"))
        if report.goal_error_deg >= 0:
            rows.append(("Facing", f"{report.goal_error_deg:.1f}° off"))
        if report.penetration_cm_max >= 0:
            rows.append(("In colliders", f"{report.penetration_cm_max:.1f} cm"))
        if report.sole_depth_cm >= 0:
            rows.append(("Soles", f"{max(report.sole_depth_cm, report.sole_gap_cm):.1f} cm off the floor"))
            rows.append(("Hands", f"{report.hand_depth_cm:.1f} cm in the body"))
        column = layout.column(align=True)
        for name, value in rows:
            split = column.split(factor=0.45)
            split.label(text=name)
            split.label(text=value)
        for finding in report.findings:
            _draw_text(layout, finding.text, "ERROR" if finding.ratio > 1 else "CHECKMARK")
        for note in report.notes.splitlines():
            _draw_text(layout, note, "INFO")
        column = layout.column(align=True)
        column.operator("nsm.save_report", icon="FILE_TEXT")
        column.operator("nsm.save_shot", icon="FILE_TICK")


def _draw_text(layout: bpy.types.UILayout, text: str, icon: Any) -> None:
    """A sentence in as many lines as it needs."""
    column = layout.column(align=True)
    for number, line in enumerate(textwrap.wrap(text, _LINE)):
        column.label(text=line, icon="BLANK1" if number else icon)


def _draw_controller(layout: bpy.types.UILayout, settings: Any) -> None:
    """The choice of the network; what is not installed cannot be chosen."""
    row = layout.row(align=True)
    row.use_property_split = False
    for name in ("AUTO", "PFNN", "NSM"):
        part = row.row(align=True)
        part.enabled = name != "NSM" or lookup.has_scene_network()
        part.prop_enum(settings, "controller", name)


def _operator_if_there(layout: bpy.types.UILayout, name: str, icon: Any) -> None:
    """A button for `nsm.<name>`."""
    if hasattr(bpy.types, f"NSM_OT_{name}"):
        layout.operator(f"nsm.{name}", icon=icon)
