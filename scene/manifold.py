# SPDX-License-Identifier: GPL-3.0-or-later
"""What the motion manifold stores on a character: constraints, foot contacts, style and footstep settings.

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
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

_FIXED: set[str] = set()
"""Options of a property that cannot be keyed: an operator reads it once."""

_JOINTS = (
    ("Hips", "Hips"),
    ("LeftUpLeg", "Left Thigh"),
    ("LeftLeg", "Left Knee"),
    ("LeftFoot", "Left Heel"),
    ("LeftToe", "Left Toe"),
    ("RightUpLeg", "Right Thigh"),
    ("RightLeg", "Right Knee"),
    ("RightFoot", "Right Heel"),
    ("RightToe", "Right Toe"),
    ("Spine", "Spine"),
    ("Spine1", "Spine 1"),
    ("Spine2", "Spine 2"),
    ("Neck", "Neck"),
    ("Head", "Head"),
    ("LeftShoulder", "Left Collarbone"),
    ("LeftArm", "Left Shoulder"),
    ("LeftForeArm", "Left Elbow"),
    ("LeftHand", "Left Hand"),
    ("RightShoulder", "Right Collarbone"),
    ("RightArm", "Right Shoulder"),
    ("RightForeArm", "Right Elbow"),
    ("RightHand", "Right Hand"),
)
JOINT_ITEMS = tuple((name, label, f"The joint {name}", number) for number, (name, label) in enumerate(_JOINTS))
"""The model skeleton's joints. The numbers are stored in files: never change them."""

CONTACT_ITEMS = tuple(item for item in JOINT_ITEMS if item[0] in ("LeftFoot", "LeftToe", "RightFoot", "RightToe"))

CONSTRAINT_ITEMS = (
    ("PIN", "Pin Joint", "A joint is held at a place", "PINNED", 0),
    ("FEET", "Planted Feet", "Heels and toes do not slide while they touch the ground", "SNAP_FACE", 1),
    ("TRAJECTORY", "Keep Trajectory", "The character keeps its trajectory and its facing", "CURVE_PATH", 2),
    ("FLOOR", "Floor Height", "Planted feet stand on a floor, the others stay above it", "SNAP_FACE_CENTER", 3),
    ("LOOK", "Look At", "The head looks at a place", "HIDE_OFF", 4),
    ("POSE", "Pose Key", "The captured pose is matched", "ARMATURE_DATA", 5),
)
"""Kinds of constraints. The numbers are stored in files: never change them."""


class NSM_PG_constraint(bpy.types.PropertyGroup):
    """One constraint of an edit."""

    kind: EnumProperty(name="Kind", description="Kind of the constraint", items=CONSTRAINT_ITEMS, options=_FIXED)
    enabled: BoolProperty(name="Enabled", description="Take part in the edit", default=True, options=_FIXED)
    weight: FloatProperty(
        name="Weight",
        description="How much this counts against the other constraints",
        default=1.0,
        min=0.0,
        soft_max=10.0,
        options=_FIXED,
    )
    joint: EnumProperty(
        name="Joint",
        description="The joint that is held",
        items=JOINT_ITEMS,
        default="RightHand",
        options=_FIXED,
    )
    target: PointerProperty(
        name="Target",
        description="Object whose origin is the place, animated or not; without one the place below counts",
        type=bpy.types.Object,
    )
    place: FloatVectorProperty(
        name="Place", description="The place in the world", subtype="TRANSLATION", size=3, options=_FIXED
    )
    use_range: BoolProperty(
        name="Frame Range", description="Hold in a range of frames only", default=False, options=_FIXED
    )
    frame_start: IntProperty(name="Start", description="First frame of the range", default=1, options=_FIXED)
    frame_end: IntProperty(name="End", description="Last frame of the range", default=1, options=_FIXED)
    height: FloatProperty(
        name="Height", description="Height of the floor in the world", subtype="DISTANCE", options=_FIXED
    )


class NSM_PG_contact(bpy.types.PropertyGroup):
    """A stretch of frames in which a heel or a toe touches the ground."""

    joint: EnumProperty(name="Joint", description="What touches the ground", items=CONTACT_ITEMS, options=_FIXED)
    frame_start: IntProperty(name="Start", description="First frame of the contact", options=_FIXED)
    frame_end: IntProperty(name="End", description="Last frame of the contact", options=_FIXED)


class NSM_PG_figure(bpy.types.PropertyGroup):
    """One measurement before and after an edit."""

    label: StringProperty(options=_FIXED)
    unit: StringProperty(options=_FIXED)
    before: FloatProperty(options=_FIXED)
    after: FloatProperty(options=_FIXED)


class NSM_PG_edit(bpy.types.PropertyGroup):
    """What the next edit of a character's motion asks for, and what the last one measured."""

    constraints: CollectionProperty(type=NSM_PG_constraint)
    constraint_index: IntProperty(name="Constraint", description="The constraint that is shown", options=_FIXED)
    contacts: CollectionProperty(type=NSM_PG_contact)
    contact_index: IntProperty(name="Contact", description="The contact that is shown", options=_FIXED)
    marker_owner: StringProperty(
        name="Marker Owner", description="What contact markers on the timeline call this character", options=_FIXED
    )
    strength: FloatProperty(
        name="Strength",
        description="How much of the edit is applied: 0 leaves the motion as it is, 1 applies all of it",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=_FIXED,
    )
    figures: CollectionProperty(type=NSM_PG_figure)


SOURCE_ITEMS = (
    ("BUNDLED", "Bundled", "A style that comes with the extension", 0),
    ("ACTION", "Action", "An action of a character in this file", 1),
    ("FILE", "File", "A style that was saved as a file", 2),
)
STYLE_NAMES = (
    "old",
    "depressed",
    "sad",
    "injured",
    "drunk",
    "zombie",
    "strong",
    "childlike",
    "happy",
    "sneaking",
    "angry",
    "elated",
    "rushed",
)
_ADJECTIVES = {"old": "Elderly"}
"""The words on the button for styles whose recordings are named by another word."""
STYLE_ITEMS = tuple(
    (name, f"{_ADJECTIVES.get(name, name.capitalize())} Walk", f"The style of the recorded walk '{name}'", number)
    for number, name in enumerate(STYLE_NAMES)
)
"""The styles that come with the extension. The numbers are stored in files: never change them."""

START_ITEMS = (
    ("CONTENT", "Content", "Begin with the motion as it is: quick, and near to it", 0),
    ("NOISE", "Noise", "Begin with white noise, as in the paper: no bias to the motion", 1),
)


def _is_armature(_settings: bpy.types.PropertyGroup, obj: bpy.types.Object) -> bool:
    return obj.type == "ARMATURE"


class NSM_PG_style_source(bpy.types.PropertyGroup):
    """Where a style comes from."""

    kind: EnumProperty(name="From", description="Where the style comes from", items=SOURCE_ITEMS, options=_FIXED)
    bundled: EnumProperty(name="Style", description="How to move", items=STYLE_ITEMS, options=_FIXED)
    rig: PointerProperty(
        name="Character",
        description="Armature whose assigned action shows the style",
        type=bpy.types.Object,
        poll=_is_armature,
    )
    filepath: StringProperty(name="File", description="The style file", subtype="FILE_PATH", options=_FIXED)


class NSM_PG_style(bpy.types.PropertyGroup):
    """The style that a character's motion is to take."""

    source: PointerProperty(type=NSM_PG_style_source)
    second: PointerProperty(type=NSM_PG_style_source)
    use_second: BoolProperty(name="Second Style", description="Mix two styles", default=False, options=_FIXED)
    mix: FloatProperty(
        name="Mix",
        description="0 is the first style, 1 the second",
        default=0.5,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=_FIXED,
    )
    amount: FloatProperty(
        name="Amount",
        description="0 leaves the motion's own style, 1 takes the whole style, more exaggerates it",
        default=1.0,
        min=0.0,
        max=2.0,
        options=_FIXED,
    )
    timing: FloatProperty(
        name="Timing",
        description="0 keeps the motion's own speed and steps, 1 takes the style's; the trajectory stays the same, so "
        "that a slower style takes longer for it",
        default=0.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=_FIXED,
    )
    content_weight: FloatProperty(
        name="Content",
        description="How closely the motion is kept",
        default=0.01,
        min=0.0,
        soft_max=1.0,
        precision=3,
        options=_FIXED,
    )
    style_weight: FloatProperty(
        name="Style",
        description="How closely the style is met",
        default=1.0,
        min=0.0,
        soft_max=10.0,
        options=_FIXED,
    )
    start: EnumProperty(name="Start", description="Where the search begins", items=START_ITEMS, options=_FIXED)
    seed: IntProperty(name="Seed", description="Another seed gives another noise", min=0, options=_FIXED)


def _is_mesh(_settings: bpy.types.PropertyGroup, obj: bpy.types.Object) -> bool:
    return obj.type == "MESH"


class NSM_PG_synthesis(bpy.types.PropertyGroup):
    """How a character steps along its curve."""

    heel_phase: FloatProperty(
        name="Heel Phase",
        description="When in the step the heels touch the ground, in radians; larger is earlier",
        default=0.36,
        soft_min=-1.0,
        soft_max=1.0,
        options=_FIXED,
    )
    toe_phase: FloatProperty(
        name="Toe Phase",
        description="When in the step the toes touch the ground, in radians; larger is earlier",
        default=0.0,
        soft_min=-1.0,
        soft_max=1.0,
        options=_FIXED,
    )
    heel_threshold: FloatProperty(
        name="Heel Lift",
        description="Larger lets the heels touch the ground more briefly",
        default=0.0,
        soft_min=-1.0,
        soft_max=1.0,
        options=_FIXED,
    )
    toe_threshold: FloatProperty(
        name="Toe Lift",
        description="Larger lets the toes touch the ground more briefly, as in a run",
        default=0.0,
        soft_min=-1.0,
        soft_max=1.0,
        options=_FIXED,
    )
    frequency: FloatProperty(
        name="Step Frequency",
        description="Number of steps per second, as a factor",
        default=1.0,
        min=0.1,
        soft_min=0.5,
        soft_max=2.0,
        options=_FIXED,
    )
    duration: FloatProperty(
        name="Contact Duration",
        description="Time that a foot is on the ground, as a factor",
        default=1.0,
        min=0.1,
        soft_min=0.5,
        soft_max=1.5,
        options=_FIXED,
    )
    phase: FloatProperty(
        name="First Step",
        description="Where in a step the first frame is; characters of a crowd get different ones",
        default=0.0,
        subtype="ANGLE",
        options=_FIXED,
    )
    sway: FloatProperty(
        name="Sway",
        description="How much the hips sway about the curve; 0 keeps them exactly on it",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=_FIXED,
    )
    standing_start: BoolProperty(
        name="Start Standing",
        description="Set off from rest instead of going on at the first speed",
        default=False,
        options=_FIXED,
    )
    ground: PointerProperty(
        name="Ground",
        description="Mesh on whose topmost surface the character walks; without one it walks as high as the curve lies",
        type=bpy.types.Object,
        poll=_is_mesh,
    )


LIMB_ITEMS = (
    ("LeftHand", "Left Hand", "Punch with the left hand", 0),
    ("RightHand", "Right Hand", "Punch with the right hand", 1),
    ("LeftToe", "Left Foot", "Kick with the left foot", 2),
    ("RightToe", "Right Foot", "Kick with the right foot", 3),
)
"""What can strike. The numbers are stored in files: never change them."""


STRIKE_START_ITEMS = (
    ("TURNED", "Face Target", "Where the character stands now, turned as the first target is hit best", 0),
    ("HERE", "Current Location", "Where the character stands now, facing as it does now", 1),
    ("BEST", "Best Location", "Where the first target is hit best, facing -Y", 2),
)


class NSM_PG_strike(bpy.types.PropertyGroup):
    """A punch or a kick at a target."""

    limb: EnumProperty(name="Limb", description="What strikes", items=LIMB_ITEMS, default="RightHand", options=_FIXED)
    target: PointerProperty(
        name="Target", description="Object whose origin is hit, where it is at that frame", type=bpy.types.Object
    )
    frame: IntProperty(
        name="Frame", description="Frame at which the limb reaches the target", default=40, options=_FIXED
    )


class NSM_PG_strikes(bpy.types.PropertyGroup):
    """The punches and kicks of a character."""

    strikes: CollectionProperty(type=NSM_PG_strike)
    index: IntProperty(name="Strike", description="The strike that is shown", options=_FIXED)
    begin: EnumProperty(
        name="Start", description="Where the character stands at first", items=STRIKE_START_ITEMS, options=_FIXED
    )


class NSM_PG_manifold(bpy.types.PropertyGroup):
    """All that the motion manifold stores on a character."""

    edit: PointerProperty(type=NSM_PG_edit)
    style: PointerProperty(type=NSM_PG_style)
    synthesis: PointerProperty(type=NSM_PG_synthesis)
    strike: PointerProperty(type=NSM_PG_strikes)


CLASSES = (
    NSM_PG_constraint,
    NSM_PG_contact,
    NSM_PG_figure,
    NSM_PG_edit,
    NSM_PG_style_source,
    NSM_PG_style,
    NSM_PG_synthesis,
    NSM_PG_strike,
    NSM_PG_strikes,
    NSM_PG_manifold,
)


def of_character(obj: bpy.types.Object) -> NSM_PG_manifold:
    """The manifold's settings of an armature."""
    return obj.nsm.manifold
