# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of action keys: add, remove, reorder, duplicate, and go to what a key names.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import math
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

from ..nsm_blender import ShotError
from ..scene import keys, lookup
from ..scene.properties import animate_by
from .base import Operation
from .key_goals import goal_at_cursor, goal_of_selection

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class KeyOperation(Operation):
    """Base of operators on the character's list of keys: put the work into `change`.

    Markers and keyframes are brought up to date before and after it.
    """

    needs_key = True
    """Whether the operator needs a key in the list."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character, and a key where one is needed."""
        armature = lookup.character(context)
        if armature is None:
            cls.poll_message_set("Select a character's armature first")
            return False
        if armature.library is not None:
            cls.poll_message_set("The character is linked from another file; make a library override of it first")
            return False
        if cls.needs_key and not keys.of_character(armature):
            cls.poll_message_set("Add an action first")
            return False
        return True

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Change the list."""
        from ..scene import schedule

        armature = lookup.character(context)
        assert armature is not None
        schedule.update(context.scene, armature)
        self.change(context, armature)
        schedule.update(context.scene, armature)
        return {"FINISHED"}

    def change(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Do the work. Raises UserError for what the user should correct."""
        raise NotImplementedError


class OnOneKey(KeyOperation):
    """Base of operators on one key."""

    index: IntProperty(
        name="Index",
        description="Number of the action key, from 0; -1 is the active one",
        default=-1,
        min=-1,
        options={"SKIP_SAVE"},
    )

    def found(self, armature: bpy.types.Object) -> int:
        """The key's index. Raises ShotError when there is none."""
        index = armature.nsm.key_index if self.index < 0 else self.index
        count = len(keys.of_character(armature))
        if not 0 <= index < count:
            raise ShotError(f"There is no action key {index + 1}; '{armature.name}' has {count}.")
        return int(index)


class NSM_OT_add_action_key(KeyOperation):
    """Add an action at the selected goal or with the selected object; without one, at the 3D cursor"""

    bl_idname = "nsm.add_action_key"
    bl_label = "Add Action"
    bl_options = {"REGISTER", "UNDO"}

    needs_key = False

    action: EnumProperty(name="Action", description="Action to carry out", items=keys.ACTION_ITEMS, default="walk")
    goal: StringProperty(
        name="Goal", description="Name of the goal; the selected one when it is not given", options={"SKIP_SAVE"}
    )
    place: EnumProperty(
        name="Where",
        description="Where the goal is when none is named",
        items=(
            ("SELECTION", "Selection", "The selected goal or object; without one, the 3D cursor"),
            ("CURSOR", "3D Cursor", "The object at the 3D cursor, or the cursor itself"),
        ),
        options={"SKIP_SAVE"},
    )
    start: EnumProperty(name="Start", description="When the action starts", items=keys.START_ITEMS)
    frame: IntProperty(
        name="Frame",
        description="Frame at which the action starts; the current frame when it is not given",
        options={"SKIP_SAVE"},
    )
    hold: FloatProperty(name="Hold", description="Seconds to stay after the action", min=0.0, options={"SKIP_SAVE"})
    timing: EnumProperty(
        name="Arrival",
        description="When the character arrives; at the frame or after the duration that is given",
        items=keys.TIMING_ITEMS,
        options={"SKIP_SAVE"},
    )
    arrive: IntProperty(name="Arrive", description="Frame at which the character arrives", options={"SKIP_SAVE"})
    duration: IntProperty(
        name="Duration", description="Frames from setting off to arriving", min=1, default=100, options={"SKIP_SAVE"}
    )
    gait: EnumProperty(
        name="Gait", description="Gait on the path to the goal", items=keys.GAIT_ITEMS, options={"SKIP_SAVE"}
    )
    speed: FloatProperty(
        name="Speed",
        description="Meters per second on the path; 0 is the usual speed of the gait",
        min=0.0,
        max=6.0,
        options={"SKIP_SAVE"},
    )
    use_facing: BoolProperty(
        name="Override Facing",
        description="Set another facing at the end than the goal's arrow",
        options={"SKIP_SAVE"},
    )
    facing: FloatProperty(
        name="Facing",
        description="Facing at the end: 0 along -Y, counter-clockwise as seen from above",
        subtype="ANGLE",
        soft_min=-math.pi,
        soft_max=math.pi,
        options={"SKIP_SAVE"},
    )
    route: StringProperty(
        name="Route", description="Name of a curve to follow; without a curve a path is found", options={"SKIP_SAVE"}
    )

    def change(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Add the key at the end of the list and choose it."""
        goal, route = self._goal(context), self._route()
        given = self.properties.is_property_set
        key = _append(armature, self.action, goal)
        key.route = route
        key.start = "FRAME" if given("frame") and not given("start") else self.start
        key.frame = self.frame if given("frame") else context.scene.frame_current
        key.hold, key.gait, key.speed = self.hold, self.gait, self.speed
        given_timing = "ARRIVE" if given("arrive") else "DURATION" if given("duration") else "FREE"
        key.timing = self.timing if given("timing") else given_timing
        key.arrive = self.arrive if given("arrive") else context.scene.frame_end
        key.duration = self.duration
        key.use_facing = self.use_facing or (given("facing") and not given("use_facing"))
        key.facing = self.facing
        listed = keys.of_character(armature)
        self.report({"INFO"}, f"Added action {len(listed)}: {keys.label(key)}")

    def _goal(self, context: bpy.types.Context) -> bpy.types.Object | None:
        """The goal that is meant; made when there is none and the action needs one. Raises ShotError."""
        from ..scene import goals

        if self.goal:
            named = bpy.data.objects.get(self.goal)
            if not goals.is_goal(named):
                raise ShotError(f"There is no goal '{self.goal}'; add it with 'Add Goal'.")
            return named
        return (
            goal_of_selection(context, self.action)
            if self.place == "SELECTION"
            else goal_at_cursor(context, self.action)
        )

    def _route(self) -> bpy.types.Object | None:
        if not self.route:
            return None
        curve = bpy.data.objects.get(self.route)
        if curve is None or curve.type != "CURVE":
            raise ShotError(f"There is no curve '{self.route}'; draw it, or leave the route to be found.")
        return curve


class NSM_OT_remove_action_key(OnOneKey):
    """Remove the active action from the list; its goal stays"""

    bl_idname = "nsm.remove_action_key"
    bl_label = "Remove Action"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Remove it with its marker and the route that was found for it."""
        from ..scene import routes, schedule

        index, listed = self.found(armature), keys.of_character(armature)
        schedule.forget(context.scene, armature, listed[index])
        if not routes.is_own(listed[index].route):
            routes.forget(listed[index])
        listed.remove(index)
        if not len(listed):
            animate_by(armature, "UNDECIDED")
        armature.nsm.key_index = max(0, min(armature.nsm.key_index, len(listed) - 1))


class NSM_OT_move_action_key(OnOneKey):
    """Move the active action up or down in the list, to be done earlier or later"""

    bl_idname = "nsm.move_action_key"
    bl_label = "Move Action"
    bl_options = {"REGISTER", "UNDO"}

    direction: EnumProperty(
        name="Direction",
        description="Direction in the list",
        items=(("UP", "Up", "Do it earlier", 0), ("DOWN", "Down", "Do it later", 1)),
    )

    def change(self, _context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Swap the key with its neighbor, if there is one."""
        index, listed = self.found(armature), keys.of_character(armature)
        target = index + (-1 if self.direction == "UP" else 1)
        if not 0 <= target < len(listed):
            return
        listed.move(index, target)
        armature.nsm.key_index = target


class NSM_OT_duplicate_action_key(OnOneKey):
    """Add a copy of the active action below it"""

    bl_idname = "nsm.duplicate_action_key"
    bl_label = "Duplicate Action"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, _context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Copy the key to the end of the list and move the copy up."""
        index, listed = self.found(armature), keys.of_character(armature)
        new = listed.add()
        keys.copy(listed[index], new)
        listed.move(len(listed) - 1, index + 1)
        armature.nsm.key_index = index + 1


class NSM_OT_go_to_action_key(OnOneKey):
    """Go to the frame at which the active action starts: its own, or that of the last bake"""

    bl_idname = "nsm.go_to_action_key"
    bl_label = "Go to Frame of Action"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Set the frame. Raises ShotError when a key that waits for its turn was never baked."""
        key = keys.of_character(armature)[self.found(armature)]
        if key.start == "FRAME":
            context.scene.frame_set(key.frame)
            return
        if not key.was_baked:
            raise ShotError("This action starts when the previous one is done; bake once to know when that is.")
        context.scene.frame_set(key.set_off)


class NSM_OT_select_goal(OnOneKey):
    """Select the goal of the active action"""

    bl_idname = "nsm.select_goal"
    bl_label = "Select Goal of Action"
    bl_options = {"REGISTER", "UNDO"}

    def change(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Select it alone. Raises ShotError when the key has none or it is not in the scene."""
        from ..scene import goals

        goal = keys.of_character(armature)[self.found(armature)].goal
        if goal is None:
            raise ShotError("This action has no goal; choose one.")
        if goal.name not in context.view_layer.objects:
            raise ShotError(f"The goal '{goal.name}' is not in this scene, or its collection is excluded.")
        goals.select(context, goal)


def _append(armature: bpy.types.Object, action: str, goal: bpy.types.Object | None) -> keys.NSM_PG_action_key:
    """Add a key at the end of the list, choose it, and let the next bake carry out the actions."""
    listed = keys.of_character(armature)
    key = listed.add()
    key.action, key.goal = action, goal
    armature.nsm.key_index = len(listed) - 1
    animate_by(armature, "ACTIONS")
    return key


def add_key(context: bpy.types.Context, armature: bpy.types.Object, action: str, goal: bpy.types.Object) -> None:
    """Add an action that starts after the previous one, with markers and keyframes brought up to date."""
    from ..scene import schedule

    schedule.update(context.scene, armature)
    _append(armature, action, goal).frame = context.scene.frame_current
    schedule.update(context.scene, armature)


def check_editable(armature: bpy.types.Object) -> None:
    """Raises ShotError when the keys of a character cannot be changed here."""
    if armature.library is not None:
        raise ShotError(f"'{armature.name}' is linked from another file; make a library override of it first.")


CLASSES: tuple[Any, ...] = (
    NSM_OT_add_action_key,
    NSM_OT_remove_action_key,
    NSM_OT_move_action_key,
    NSM_OT_duplicate_action_key,
    NSM_OT_go_to_action_key,
    NSM_OT_select_goal,
)
