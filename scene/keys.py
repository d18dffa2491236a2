# SPDX-License-Identifier: GPL-3.0-or-later
"""Action keys as they are stored on a character, and the list of them.

Blender reads the annotations of a PropertyGroup as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import math
from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)

from ..nsm_blender.shot.goals import WITHOUT_GOAL
from .goals import is_goal
from .label_settings import NSM_PG_labels

FASTEST_KEPT = 3.8
"""Meters per second that the faster of the shipped networks keeps; its card, which tells more exactly, is not read for
a tooltip."""

ACTION_ITEMS = (
    ("idle", "Wait", "Stand in place, with the facing of the key or of the goal", "PAUSE", 0),
    ("walk", "Walk", "Walk to the goal", "FORWARD", 1),
    ("run", "Run", "Run to the goal", "FF", 2),
    ("sit", "Sit", "Sit down on the goal's seat", "USER", 3),
    ("open", "Open", "Open the goal's door and go through", "UNLOCKED", 4),
    ("pick_up", "Pick Up", "Pick up the goal's box", "TRIA_UP", 5),
    ("put_down", "Put Down", "Put the carried box down on the goal's surface", "TRIA_DOWN", 6),
    ("climb", "Climb", "Climb on the goal's step", "MOD_ARRAY", 7),
    ("jump", "Jump", "Jump to the goal with both feet; without a goal, on the spot", "TRIA_UP_BAR", 8),
)
"""The engine's actions, in its order. The numbers are stored in files and keyframes: never change them."""

GAIT_ITEMS = (
    ("walk", "Walk", "Walk to the goal", 0),
    ("jog", "Jog", "Jog or run to the goal, depending on the speed", 1),
    ("crouch", "Crouch", "Walk with bent knees", 2),
)
"""Gaits on the way. The numbers are stored in files: never change them."""

START_ITEMS = (
    ("ARRIVAL", "After Previous", "Start when the previous action is done; the first action at the first frame", 0),
    ("FRAME", "At Frame", "Start at a frame, which has a marker on the timeline", 1),
)
"""When to set off. The numbers are stored in files: never change them."""

TIMING_ITEMS = (
    ("FREE", "Any Time", "Arrive whenever the usual speed brings the character there", 0),
    ("ARRIVE", "At Frame", "Arrive at a frame; the speed follows, and the start where it is left open", 1),
    ("DURATION", "After Duration", "Arrive so many frames after setting off; the speed follows", 2),
)
"""When to arrive. The numbers are stored in files: never change them."""

ACTIONS = {item[0]: item[1] for item in ACTION_ITEMS}
"""Names of the actions as they are shown."""

_COPIED = (
    *("action", "goal", "start", "frame", "hold", "timing", "arrive", "duration"),
    *("gait", "speed", "use_facing", "facing", "lean"),
)
"""Properties of a key that its copy has, too."""

NEVER = -(2**31)
"""Stands for the frame of what did not happen."""
NOT_MEASURED = -1.0
"""Stands for an error that was not measured."""

OVERRIDE: set[Any] = {"LIBRARY_OVERRIDABLE"}
"""Kept in a library override of a linked character."""

_FIXED: set[str] = set()
"""Options of a property that cannot be keyed: a bake reads it once."""


def _is_goal(_key: bpy.types.PropertyGroup, obj: bpy.types.Object) -> bool:
    return is_goal(obj)


def _is_curve(_key: bpy.types.PropertyGroup, obj: bpy.types.Object) -> bool:
    return obj.type == "CURVE"


def _forget_problem(key: Any, _context: bpy.types.Context) -> None:
    """What was found is no longer true of a key that was changed."""
    key.problem, key.is_fatal = "", False


class NSM_PG_action_key(bpy.types.PropertyGroup):
    """One thing that a character is to do."""

    action: EnumProperty(
        name="Action",
        description="Action to carry out",
        items=ACTION_ITEMS,
        default="walk",
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    goal: PointerProperty(
        name="Goal",
        description="Where to go, or what to use",
        type=bpy.types.Object,
        poll=_is_goal,
        override=OVERRIDE,
        update=_forget_problem,
    )
    start: EnumProperty(
        name="Start",
        description="When the action starts",
        items=START_ITEMS,
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    frame: IntProperty(
        name="Frame",
        description="Frame at which the action starts; its marker on the timeline can be moved as well",
        default=1,
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    hold: FloatProperty(
        name="Hold",
        description="Seconds to stay after the action",
        default=0.0,
        min=0.0,
        soft_max=10.0,
        subtype="TIME_ABSOLUTE",
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    timing: EnumProperty(
        name="Arrival",
        description="When the character is there, sits, or has taken or put down the thing",
        items=TIMING_ITEMS,
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    arrive: IntProperty(
        name="Arrive",
        description="Frame at which the character arrives; Check tells whether it can",
        default=100,
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    duration: IntProperty(
        name="Duration",
        description="Frames from setting off to arriving; Check tells whether they suffice",
        default=100,
        min=1,
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    lean: BoolProperty(
        name="Lean Back",
        description="Lean on the backrest while sitting, where one is within reach",
        default=True,
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    gait: EnumProperty(
        name="Gait",
        description="Gait on the path to the goal",
        items=GAIT_ITEMS,
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    speed: FloatProperty(
        name="Speed",
        description="Meters per second on the path; 0 is the usual speed of the gait. The fastest that is kept is "
        f"{FASTEST_KEPT:.1f}",
        default=0.0,
        min=0.0,
        soft_max=FASTEST_KEPT,
        max=6.0,
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    use_facing: BoolProperty(
        name="Override Facing",
        description="Face this direction at the end, whatever the goal's arrow says",
        default=False,
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    facing: FloatProperty(
        name="Facing",
        description="Facing at the end: 0 along -Y, counter-clockwise as seen from above",
        subtype="ANGLE",
        default=0.0,
        soft_min=-math.pi,
        soft_max=math.pi,
        options=_FIXED,
        override=OVERRIDE,
        update=_forget_problem,
    )
    route: PointerProperty(
        name="Route",
        description="Curve to follow when it was edited or chosen by hand; otherwise a path is found",
        type=bpy.types.Object,
        poll=_is_curve,
        override=OVERRIDE,
        update=_forget_problem,
    )
    problem: StringProperty(name="Problem", description="What the last check found", options=_FIXED)
    is_fatal: BoolProperty(name="Cannot Be Baked", description="The bake would refuse this key", options=_FIXED)
    was_baked: BoolProperty(name="Baked", description="The last bake carried it out", options=_FIXED)
    set_off: IntProperty(
        name="Set Off", description="Frame at which it set off in the last bake", default=NEVER, options=_FIXED
    )
    arrived: IntProperty(
        name="Arrived", description="Frame at which it arrived in the last bake", default=NEVER, options=_FIXED
    )
    done: IntProperty(
        name="Done", description="Frame at which it was done in the last bake", default=NEVER, options=_FIXED
    )
    error_cm: FloatProperty(
        name="Goal Error",
        description="Distance of the hips from the goal in cm when it was done in the last bake",
        default=NOT_MEASURED,
        options=_FIXED,
    )
    error_deg: FloatProperty(
        name="Facing Error",
        description="Angle from the requested facing, in degrees, when it was done in the last bake",
        default=NOT_MEASURED,
        options=_FIXED,
    )

    marker: StringProperty(name="Marker", description="Name of its marker on the timeline", options=_FIXED)
    shown: IntProperty(name="Shown", description="Frame at which marker and keyframe were put", options=_FIXED)


class NSM_PG_routes(bpy.types.PropertyGroup):
    """Navigation settings: how a character finds its paths."""

    radius: FloatProperty(
        name="Body Radius",
        description="Distance in meters that the middle of the body keeps from obstacles",
        default=0.3,
        min=0.1,
        max=1.0,
        options=_FIXED,
        override=OVERRIDE,
    )
    crouch: BoolProperty(
        name="Crouch",
        description="Let the character crouch under low beams",
        default=True,
        options=_FIXED,
        override=OVERRIDE,
    )
    sideways: BoolProperty(
        name="Pass Sideways",
        description="Let the character go sideways through short gaps that are too narrow to walk through",
        default=True,
        options=_FIXED,
        override=OVERRIDE,
    )


class NSM_PG_armature(bpy.types.PropertyGroup):
    """On the armature's data: what the dope sheet shows of the action keys, and the labels of a capture.

    It is there and not on the object, where each bake assigns an action of its own.
    """

    action: EnumProperty(
        name="Action Keys",
        description="The action keys that start at a frame; move a keyframe to move the key",
        items=ACTION_ITEMS,
    )
    labels: PointerProperty(type=NSM_PG_labels)


def of_character(armature: bpy.types.Object) -> Any:
    """The character's list of action keys."""
    return armature.nsm.keys


def active(armature: bpy.types.Object) -> NSM_PG_action_key | None:
    """The key that is chosen in the list."""
    keys, index = of_character(armature), armature.nsm.key_index
    return keys[index] if 0 <= index < len(keys) else None


def needs_goal(action: str) -> bool:
    """Whether there is no such action without a goal."""
    return action not in WITHOUT_GOAL


def stays(key: Any) -> bool:
    """Whether a key leads nowhere, so that it has no arrival: a wait, or a jump on the spot."""
    return key.action == "idle" or (key.action in WITHOUT_GOAL and key.goal is None)


def label(key: NSM_PG_action_key) -> str:
    """What the key does, in a few words."""
    place = key.goal.name if key.goal is not None else ""
    return f"{ACTIONS[key.action]} {place}".strip()


def copy(source: NSM_PG_action_key, target: NSM_PG_action_key) -> None:
    """Give a key what another asks for, but not its marker nor its route, which was found from another place."""
    for name in _COPIED:
        setattr(target, name, getattr(source, name))
