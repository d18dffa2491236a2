# SPDX-License-Identifier: GPL-3.0-or-later
"""What the extension stores in the scene: settings of curves, characters and the frame range.

Blender reads the annotations of a PropertyGroup as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import bpy
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from . import binding, colliders, goals, keys, label_settings, manifold, overlay_settings

GAIT_ITEMS = (
    ("stand", "Stand", "Stand still", 0),
    ("walk", "Walk", "Walk", 1),
    ("jog", "Jog", "Jog or run, depending on the speed", 2),
    ("crouch", "Crouch", "Walk with bent knees", 3),
)
"""The engine's bakeable gaits. The numbers are stored in files and keyframes: never change them."""

CONTROLLER_ITEMS = (
    ("AUTO", "Automatic", "The Neural State Machine where an action needs it, otherwise the PFNN", 0),
    ("PFNN", "PFNN", "The phase-functioned network: walks and runs along curves and to goals", 1),
    ("NSM", "NSM", "The Neural State Machine: sits, opens, carries, and goes to goals", 2),
)
"""Networks that move a character. The numbers are stored in files: never change them."""

PERFORMER_ITEMS = (
    ("DEFAULT", "O3DE A", "The performer of most recordings: quick steps, arms close to the body", 0),
    ("accad_female1", "ACCAD Female 1", "Longer and slower steps on a narrow track, arms farther from the body", 1),
)
"""Performers whose manner of walking a character may have, as the card of the weights names them. The numbers are
stored in files: never change them."""

ANIMATE_ITEMS = (
    ("PATH", "Path", "Walk along a curve", 0),
    ("ACTIONS", "Actions", "Carry out the list of actions, one after the other", 1),
)
"""What a bake carries out. The numbers are stored in files: never change them."""

_UNDECIDED = -1
"""Stands for what a bake carries out until the animator has chosen: the actions where there are any, else the path."""

_FIXED: set[str] = set()
"""Options of a property that cannot be keyed: a bake reads it once."""


def _shown_choice(settings: "NSM_PG_object") -> int:
    """The number of the item of `animate_by`."""
    if settings.animate_choice != _UNDECIDED:
        return int(settings.animate_choice)
    return 1 if len(settings.keys) else 0


def _choose(settings: "NSM_PG_object", number: int) -> None:
    settings.animate_choice = number


def _is_curve(_settings: bpy.types.PropertyGroup, obj: bpy.types.Object) -> bool:
    return obj.type == "CURVE"


class NSM_PG_finding(bpy.types.PropertyGroup):
    """One figure of a bake in plain words. Of a ratio above 1 it is not how people move."""

    measure: StringProperty(options=_FIXED)
    value: FloatProperty(options=_FIXED)
    ratio: FloatProperty(options=_FIXED)
    text: StringProperty(options=_FIXED)


class NSM_PG_report(bpy.types.PropertyGroup):
    """The measurements of the last bake, on the armature. Negative: not applicable."""

    frames: IntProperty(name="Frames", description="Frames that were baked", options=_FIXED)
    keys: IntProperty(name="Keys", description="Keyframes that were written", options=_FIXED)
    keys_unthinned: IntProperty(
        name="Keys, Unthinned", description="Keyframes that there would be with one for each frame", options=_FIXED
    )
    seconds_rollout: FloatProperty(
        name="Rollout", description="Seconds in the neural network's controller", options=_FIXED
    )
    seconds_retarget: FloatProperty(
        name="Retarget", description="Seconds for the motion to become bone channels", options=_FIXED
    )
    seconds_write: FloatProperty(name="Write", description="Seconds for writing the keyframes", options=_FIXED)
    rig_error_mm_max: FloatProperty(
        name="Rig Error, Largest",
        description="Largest distance between the baked rig and the engine's motion in mm",
        options=_FIXED,
    )
    rig_error_mm_mean: FloatProperty(
        name="Rig Error, Mean",
        description="Mean distance between the baked rig and the engine's motion in mm",
        options=_FIXED,
    )
    foot_slide_cm_per_s: FloatProperty(
        name="Foot Slide",
        description="Mean horizontal speed of the feet in cm/s while they touch the ground",
        options=_FIXED,
    )
    path_error_cm: FloatProperty(
        name="Path Error", description="Mean distance of the hips from the curve in cm", options=_FIXED
    )
    goal_error_cm: FloatProperty(
        name="Goal Error",
        description="Distance of the hips from the end of the curve, or the largest one from a goal, in cm",
        default=-1.0,
        options=_FIXED,
    )
    goal_error_deg: FloatProperty(
        name="Facing Error",
        description="Largest angle between the requested facing at a goal and that of the rig, in degrees",
        default=-1.0,
        options=_FIXED,
    )
    penetration_cm_max: FloatProperty(
        name="Penetration",
        description="Deepest that the body was in a collider in cm, where it uses none",
        default=-1.0,
        options=_FIXED,
    )
    sole_depth_cm: FloatProperty(
        name="Soles in the Floor",
        description="Deepest that the mesh's soles are below what a foot stands on, in cm",
        default=-1.0,
        options=_FIXED,
    )
    sole_gap_cm: FloatProperty(
        name="Soles over the Floor",
        description="Highest that the mesh's soles are above what a foot stands on, in cm",
        default=-1.0,
        options=_FIXED,
    )
    hand_depth_cm: FloatProperty(
        name="Hands in the Body",
        description="Deepest that the mesh's hands are in its hips, trunk or thighs, in cm",
        default=-1.0,
        options=_FIXED,
    )
    frames_measured: IntProperty(
        name="Frames Measured", description="Frames at which the rig was measured", options=_FIXED
    )
    findings: CollectionProperty(
        type=NSM_PG_finding,
        name="Naturalness",
        description="What is farthest from how recorded people move",
        override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
    )
    notes: StringProperty(name="Notes", description="What the bake had to decide", options=_FIXED)


class NSM_PG_object(bpy.types.PropertyGroup):
    """Settings of an object: of a curve how it is walked, of an armature where it walks and what it does."""

    path: PointerProperty(
        name="Path", description="Curve that the character walks along", type=bpy.types.Object, poll=_is_curve
    )
    animate_choice: IntProperty(default=_UNDECIDED, min=_UNDECIDED, max=1, options={"HIDDEN"}, override=keys.OVERRIDE)
    animate_by: EnumProperty(
        name="Animate By",
        description="What a bake carries out",
        items=ANIMATE_ITEMS,
        get=_shown_choice,
        set=_choose,
        options={"SKIP_SAVE"},
    )
    controller: EnumProperty(
        name="Network",
        description="The neural network that moves the character",
        items=CONTROLLER_ITEMS,
        options=_FIXED,
        override=keys.OVERRIDE,
    )
    seed: IntProperty(
        name="Seed",
        description="Number of the take: another one sets off with the other foot, strides and waits differently",
        min=0,
        options=_FIXED,
        override=keys.OVERRIDE,
    )
    sway: FloatProperty(
        name="Sway",
        description="How much the body moves while it waits, over feet that stay; at 0 it stands or sits still",
        subtype="FACTOR",
        default=1.0,
        min=0.0,
        max=1.0,
        options=_FIXED,
        override=keys.OVERRIDE,
    )
    performer: EnumProperty(
        name="Walk Like",
        description="Another performer's manner of walking; not for slow walks, stairs, crouching and jumps",
        items=PERFORMER_ITEMS,
        options=_FIXED,
        override=keys.OVERRIDE,
    )
    performer_blend: FloatProperty(
        name="Blend",
        description="Share of the first performer's manner that is blended in",
        subtype="FACTOR",
        min=0.0,
        max=1.0,
        options=_FIXED,
        override=keys.OVERRIDE,
    )
    report: PointerProperty(type=NSM_PG_report)
    manifold: PointerProperty(type=manifold.NSM_PG_manifold)
    binding: PointerProperty(type=binding.NSM_PG_binding, override=keys.OVERRIDE)
    collider: PointerProperty(type=colliders.NSM_PG_collider, override=keys.OVERRIDE)
    goal: PointerProperty(type=goals.NSM_PG_goal)
    routes: PointerProperty(type=keys.NSM_PG_routes, override=keys.OVERRIDE)
    keys: CollectionProperty(
        name="Action Keys",
        description="What the character is to do, one after the other",
        type=keys.NSM_PG_action_key,
        override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"},
    )
    key_index: IntProperty(name="Active Key", description="The key that is chosen in the list", options=_FIXED)

    speed: FloatProperty(
        name="Speed",
        description="Meters per second along the curve; 0 is standing still. The fastest that is kept is "
        f"{keys.FASTEST_KEPT:.1f}",
        default=1.4,
        min=0.0,
        soft_max=keys.FASTEST_KEPT,
        max=6.0,
    )
    gait: EnumProperty(name="Gait", description="Kind of locomotion", items=GAIT_ITEMS, default="walk")
    facing: FloatProperty(
        name="Facing",
        description="Angle between the path and the facing: 0 faces along it, 90 to its left, 180 walks backward",
        subtype="ANGLE",
        default=0.0,
        soft_min=-3.14159265,
        soft_max=3.14159265,
    )
    use_radius: BoolProperty(
        name="Speed by Radius",
        description="Multiply the speed by the radius of the curve's points",
        default=True,
        options=_FIXED,
    )
    loop: BoolProperty(
        name="Loop",
        description="Keep walking around a cyclic curve after the first round",
        default=True,
        options=_FIXED,
    )
    bias_velocity: FloatProperty(
        name="Position",
        description="How closely the position follows the curve; high values look more driven",
        default=2.0,
        min=0.1,
        max=20.0,
        options=_FIXED,
    )
    bias_direction: FloatProperty(
        name="Direction",
        description="How closely the facing follows the curve; high values look more driven",
        default=5.0,
        min=0.1,
        max=20.0,
        options=_FIXED,
    )


class NSM_PG_action(bpy.types.PropertyGroup):
    """Settings of a baked action."""

    keep: BoolProperty(
        name="Keep This Bake",
        description="The next bake leaves this one in the file and thins its keys; otherwise it replaces it",
        default=False,
        options=_FIXED,
    )


class NSM_PG_scene(bpy.types.PropertyGroup):
    """The character that the sidebar is about, and which frames to bake."""

    character: StringProperty(
        name="Character",
        description="Name of the armature that is animated; it stays when other things are selected",
        options=_FIXED,
    )
    use_custom_range: BoolProperty(
        name="Custom Range", description="Bake other frames than the scene's range", default=False, options=_FIXED
    )
    frame_start: IntProperty(name="Start", description="First frame to bake", default=1, options=_FIXED)
    frame_end: IntProperty(name="End", description="Last frame to bake", default=250, options=_FIXED)
    overlay: PointerProperty(type=overlay_settings.NSM_PG_overlay)


class NSM_PG_window_manager(bpy.types.PropertyGroup):
    """What panels show grayed out where there is nothing to set; never saved."""

    blank: PointerProperty(type=NSM_PG_object)
    blank_key: PointerProperty(type=keys.NSM_PG_action_key)
    blank_constraint: PointerProperty(type=manifold.NSM_PG_constraint)
    blank_strike: PointerProperty(type=manifold.NSM_PG_strike)
    blank_labels: PointerProperty(type=label_settings.NSM_PG_labels)


CLASSES = (
    *manifold.CLASSES,
    *colliders.CLASSES,
    *binding.CLASSES,
    overlay_settings.NSM_PG_overlay,
    goals.NSM_PG_goal,
    keys.NSM_PG_routes,
    keys.NSM_PG_action_key,
    *label_settings.CLASSES,
    keys.NSM_PG_armature,
    NSM_PG_finding,
    NSM_PG_report,
    NSM_PG_object,
    NSM_PG_action,
    NSM_PG_scene,
    NSM_PG_window_manager,
)

_OWNERS = (
    (bpy.types.Object, NSM_PG_object),
    (bpy.types.Action, NSM_PG_action),
    (bpy.types.Armature, keys.NSM_PG_armature),
    (bpy.types.Scene, NSM_PG_scene),
    (bpy.types.WindowManager, NSM_PG_window_manager),
)


def of_object(obj: bpy.types.Object) -> NSM_PG_object:
    """The extension's settings of an object."""
    return obj.nsm


def of_action(action: bpy.types.Action) -> NSM_PG_action:
    """The extension's settings of a baked action."""
    return action.nsm


def of_scene(context: bpy.types.Context) -> NSM_PG_scene:
    """The extension's settings of the scene."""
    return context.scene.nsm


def blank(context: bpy.types.Context) -> NSM_PG_window_manager:
    """Settings of nothing, which panels show grayed out so that they keep their height."""
    return context.window_manager.nsm


def by_actions(armature: bpy.types.Object) -> bool:
    """Whether a bake of a character carries out its actions, not its path."""
    return of_object(armature).animate_by == "ACTIONS"


def performer_of(armature: bpy.types.Object) -> tuple[str, float]:
    """The performer whose manner of walking a character has, as in a shot, and the share of the first performer."""
    settings = of_object(armature)
    return ("", 0.0) if settings.performer == "DEFAULT" else (settings.performer, settings.performer_blend)


def walk_like(armature: bpy.types.Object, performer: str, blend: float) -> None:
    """Let a character walk like a performer of a shot, or like the first where the interface does not offer it."""
    settings = of_object(armature)
    offered = [item[0] for item in PERFORMER_ITEMS]
    settings.performer = performer if performer in offered else "DEFAULT"
    settings.performer_blend = blend


def animate_by(armature: bpy.types.Object, choice: str) -> None:
    """Let a bake carry out PATH or ACTIONS; UNDECIDED leaves it to whether there are actions."""
    numbers = {item[0]: item[3] for item in ANIMATE_ITEMS}
    of_object(armature).animate_choice = numbers.get(choice, _UNDECIDED)


def attach() -> None:
    """Add the settings to Blender's types; the classes must be registered."""
    for owner, group in _OWNERS:
        owner.nsm = PointerProperty(type=group, override=keys.OVERRIDE)  # type: ignore[func-returns-value]


def detach() -> None:
    """Take the settings off Blender's types."""
    for owner, _group in _OWNERS:
        del owner.nsm
