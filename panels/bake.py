# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar's panel for the bake: frames, the button, what came of it, and which network works."""

from __future__ import annotations

import bpy

from ..scene import lookup
from ..scene.progress import Progress
from ..scene.properties import NSM_PG_report, blank, of_action, of_object, of_scene
from ..scene.readiness import missing_for_bake
from .base import BIG, Panel, Subpanel, figures, hint, sentence

_NETWORKS = ("AUTO", "PFNN", "NSM")
_FAR_CM = 5.0
"""Centimeters off a goal beyond which a bake wants a look."""
_SLIDING = 2.0
"""Centimeters a second of a planted foot beyond which a bake wants a look."""
_HINT = 3
"""Lines below the button."""
_VERBS = {
    "idle": "waits",
    "walk": "arrives",
    "run": "arrives",
    "sit": "sits",
    "open": "leaves the door",
    "pick_up": "picks up",
    "put_down": "puts down",
    "climb": "stands",
    "jump": "has landed",
}
"""What the character does at the mark of an action, in a verdict."""
_NONE = "-"
"""Stands for a figure that does not apply."""


class NSM_PT_bake(Panel):
    """The frame range and the button."""

    bl_label = "Bake"

    def draw(self, context: bpy.types.Context) -> None:
        """The button, or the progress while a bake runs; what is missing, or what came of the last one."""
        layout = self.layout
        layout.use_property_split = True
        settings = of_scene(context)
        layout.prop(settings, "use_custom_range")
        column = layout.column(align=True)
        column.active = settings.use_custom_range
        column.prop(settings, "frame_start")
        column.prop(settings, "frame_end")
        armature = lookup.character(context)
        column = layout.column()
        column.enabled = armature is not None
        own = blank(context).blank if armature is None else of_object(armature)
        column.prop(own, "seed")
        column.prop(own, "sway")
        row = layout.row()
        row.scale_y = BIG
        if Progress.text:
            row.progress(factor=Progress.share, text=Progress.text)
            hint(layout, "Esc cancels and leaves the scene as it was.", lines=_HINT)
        else:
            row.operator("nsm.bake", icon="REC")
            hint(layout, *_news(context), lines=_HINT)
        row = layout.row(align=True)
        row.operator("nsm.remove_bake", text="Remove", icon="TRASH")
        row.menu("NSM_MT_export", icon="EXPORT")
        row = layout.row(align=True)
        row.operator("nsm.push_down", icon="NLA_PUSHDOWN")
        row.operator("nsm.mark_asset", icon="ASSET_MANAGER")


class NSM_PT_report(Subpanel):
    """What the last bake measured, and what to do with it."""

    bl_label = "Report"
    bl_parent_id = "NSM_PT_bake"

    def draw(self, context: bpy.types.Context) -> None:
        """The figures, what is odd about the motion, and whether the bake is to be kept."""
        layout = self.layout
        armature = lookup.character(context)
        bake = None if armature is None else lookup.baked(armature)
        report = blank(context).blank.report if armature is None else of_object(armature).report
        figures(layout, _rows(report))
        for finding in report.findings:
            sentence(layout, finding.text, "ERROR" if finding.ratio > 1 else "CHECKMARK")
        for note in report.notes.splitlines():
            sentence(layout, note)
        layout.operator("nsm.save_report", text="Save Report", icon="FILE_TEXT")
        if bake is None:
            layout.label(text="No bake yet.", icon="INFO")
        elif of_action(bake).keep:
            layout.prop(of_action(bake), "keep")
        else:
            layout.operator("nsm.keep_bake", icon="FAKE_USER_OFF")
        layout.operator("nsm.purge_bakes", icon="BRUSH_DATA")


class NSM_PT_network(Subpanel):
    """Which neural network moves the character, and whose manner of walking it has."""

    bl_label = "Network"
    bl_parent_id = "NSM_PT_bake"

    def draw(self, context: bpy.types.Context) -> None:
        """The choices; what is not installed cannot be chosen."""
        armature = lookup.character(context)
        settings = blank(context).blank if armature is None else of_object(armature)
        layout = self.layout.column()
        layout.enabled = armature is not None
        row = layout.row(align=True)
        for name in _NETWORKS:
            part = row.row(align=True)
            part.enabled = name != "NSM" or lookup.has_scene_network()
            part.prop_enum(settings, "controller", name)
        column = layout.column()
        column.use_property_split = True
        column.prop(settings, "performer")
        row = column.row()
        row.active = settings.performer != "DEFAULT"
        row.prop(settings, "performer_blend")


def _news(context: bpy.types.Context) -> tuple[str, str]:
    """What is missing before a bake, or what the last one came to; with an icon."""
    missing = missing_for_bake(context)
    if missing:
        return f"{missing}.", "INFO"
    armature = lookup.character(context)
    report = of_object(armature).report
    if lookup.baked(armature) is None or not report.frames:
        count = len(of_object(armature).keys)
        what = (
            f"{count} action{'' if count == 1 else 's'}" if of_object(armature).animate_by == "ACTIONS" else "the path"
        )
        return f"Ready to bake {what}.", "CHECKMARK"
    return verdict(armature)


def verdict(armature: bpy.types.Object) -> tuple[str, str]:
    """How good the bake of a character is in plain words, and an icon."""
    report = of_object(armature).report
    odd = next((finding.text for finding in report.findings if finding.ratio > 1), "")
    if odd:
        return f"Look at it: {odd}", "ERROR"
    off = f", {_verb(armature)} {report.goal_error_cm:.1f} cm off its mark" if report.goal_error_cm >= 0 else ""
    good = report.foot_slide_cm_per_s <= _SLIDING and report.goal_error_cm <= _FAR_CM
    text = f"{'Good' if good else 'Look at it'}: feet slide {report.foot_slide_cm_per_s:.1f} cm/s{off}."
    return text, "CHECKMARK" if good else "ERROR"


def _verb(armature: bpy.types.Object) -> str:
    """What the character does at the mark that it is farthest off."""
    done = [key for key in of_object(armature).keys if key.error_cm >= 0]
    return _VERBS[max(done, key=lambda key: key.error_cm).action] if done else "ends"


def _rows(report: NSM_PG_report) -> list[tuple[str, str]]:
    """The figures of a bake."""
    if not report.frames:
        return [
            (name, _NONE)
            for name in ("Frames", "Keys", "Rig error", "Foot slide", "Path", "Goal", "Colliders", "Soles", "Hands")
        ]
    seconds = report.seconds_rollout + report.seconds_retarget + report.seconds_write
    turned = f", {report.goal_error_deg:.1f}°" if report.goal_error_deg >= 0 else ""
    soles = max(report.sole_depth_cm, report.sole_gap_cm)
    return [
        ("Frames", f"{report.frames} in {seconds:.1f} s"),
        ("Keys", f"{report.keys:,} of {report.keys_unthinned:,}"),
        ("Rig error", f"{report.rig_error_mm_max:.2f} mm"),
        ("Foot slide", f"{report.foot_slide_cm_per_s:.1f} cm/s"),
        ("Path", f"{report.path_error_cm:.1f} cm off" if report.path_error_cm >= 0 else _NONE),
        ("Goal", f"{report.goal_error_cm:.1f} cm{turned} off" if report.goal_error_cm >= 0 else _NONE),
        ("Colliders", f"{report.penetration_cm_max:.1f} cm deep" if report.penetration_cm_max >= 0 else _NONE),
        ("Soles", f"{soles:.1f} cm off the floor" if report.sole_depth_cm >= 0 else _NONE),
        ("Hands", f"{report.hand_depth_cm:.1f} cm in the body" if report.sole_depth_cm >= 0 else _NONE),
    ]


CLASSES = (NSM_PT_bake, NSM_PT_report, NSM_PT_network)
