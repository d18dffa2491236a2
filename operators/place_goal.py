# SPDX-License-Identifier: GPL-3.0-or-later
"""Place a goal with the mouse, drop one on a thing, and turn its arrow.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import math
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty, StringProperty
from mathutils import Vector

from ..nsm_blender import KINDS, Array, ShotError
from ..scene import colliders, goals, keys, lookup, marks, picking, selection
from .mouse import MouseOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

_GOAL_ONLY = ("NONE", "Goal Only", "Place a goal, and add no action", "EMPTY_SINGLE_ARROW", 100)


class NSM_OT_place_goal(MouseOperation):
    """Click on a place or a thing to put a goal there, and drag to turn its arrow; on a thing it stays with that"""

    bl_idname = "nsm.place_goal"
    bl_label = "Place Goal"
    bl_options = {"REGISTER", "UNDO"}

    action: EnumProperty(
        name="Action",
        description="Action to add for the character at the goal",
        items=(_GOAL_ONLY, *keys.ACTION_ITEMS),
        default="NONE",
        options={"SKIP_SAVE"},
    )
    goal: StringProperty(
        name="Goal", description="Name of a goal to move; without one a goal is added", options={"SKIP_SAVE"}
    )
    thing: StringProperty(
        name="Thing", description="Name of the object to put the goal on; none for the floor", options={"SKIP_SAVE"}
    )
    location: FloatVectorProperty(
        name="Location", description="The place in the world", subtype="TRANSLATION", size=3, options={"SKIP_SAVE"}
    )
    use_facing: BoolProperty(
        name="Facing", description="Set the facing at the end", default=False, options={"SKIP_SAVE"}
    )
    facing: FloatProperty(
        name="Angle",
        description="Facing at the end: 0 along -Y, counter-clockwise as seen from above",
        subtype="ANGLE",
        soft_min=-math.pi,
        soft_max=math.pi,
        options={"SKIP_SAVE"},
    )
    move_selected: BoolProperty(
        name="Move Selected Goal",
        description="Drag the selected goal until the mouse button is let go",
        options={"SKIP_SAVE", "HIDDEN"},
    )

    _found: Any = None

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Objects are added in object mode, and not while the character is baked."""
        if lookup.baking(context):
            cls.poll_message_set("A bake is running; Esc cancels it")
        elif context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
        else:
            return True
        return False

    def begin(self, context: bpy.types.Context) -> None:
        """Take up the selected goal where that is to be moved; it keeps its facing."""
        self.held = self.move_selected
        self._found = None
        if self.move_selected:
            chosen = goals.selected(context.selected_objects)
            if chosen is None:
                raise ShotError("Select one goal to move.")
            self.goal = chosen.name
            facing = goals.facing_of(np.array(chosen.matrix_world))
            self.use_facing, self.facing = facing is not None, facing or 0.0

    def aim(self, context: bpy.types.Context, view: picking.View, x: float, y: float, *, pressed: bool) -> list[Array]:
        """Find what is under the mouse; once the button is down, turn the arrow toward the mouse."""
        if pressed and not self.held and self._found is not None:
            to = view.on_level(x, y, self.location[2])
            away = Vector() if to is None else to - Vector(self.location)
            self.use_facing = away.length > marks.inner_radius(context)
            if self.use_facing:
                self.facing = math.atan2(away.x, -away.y)
        else:
            self._found = picking.under(context, view, x, y)
            if self._found is not None:
                self.location = self._found.place
                self.thing = "" if self._found.thing is None else self._found.thing.name
        if self._found is None:
            return []
        thing = bpy.data.objects.get(self.thing)
        lines = [marks.arrow(context, self.location, self.facing if self.use_facing else None)]
        return lines if thing is None else [*lines, marks.outline(thing)]

    def hints(self) -> str:
        """Where the goal would land."""
        where = f"on {self.thing}" if self.thing else "here"
        if self.held:
            return f"Release: Drop {where}"
        return f"Left Mouse: Place {where}    Drag: Turn the Arrow"

    def ready(self) -> bool:
        """There has to be a place under the mouse."""
        return self._found is not None

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Add or move the goal, and add the action."""
        from .key import add_key, check_editable

        character = lookup.character(context)
        if self.action != "NONE" and character is not None:
            check_editable(character)
        goal = self._named_goal()
        facing = self.facing if self.use_facing else None
        thing = self._thing(context)
        place = Vector(self.location)
        if thing is not None and colliders.of(thing).role not in (*KINDS, "obstacle"):
            thing = None  # The ground is walked on, not used.
        if goal is None:
            goal = goals.add(context, place, facing, None)
        if thing is None:
            goals.put(goal, place, facing, None)
        elif colliders.of(thing).role == "obstacle":
            goals.put_on(context, goal, thing)
        else:
            goals.put(goal, place, facing, thing, by_place=True)
        if self.action != "NONE" and character is not None:
            add_key(context, character, self.action, goal)
        goals.select(context, goal)
        where = "" if thing is None else f" on '{thing.name}'"
        self.report({"INFO"}, f"Placed '{goal.name}'{where}")
        return {"FINISHED"}

    def _named_goal(self) -> bpy.types.Object | None:
        """The goal to move, or None. Raises ShotError."""
        if not self.goal:
            return None
        named = bpy.data.objects.get(self.goal)
        if not goals.is_goal(named):
            raise ShotError(f"There is no goal '{self.goal}'; add it with 'Add Goal'.")
        return named

    def _thing(self, context: bpy.types.Context) -> bpy.types.Object | None:
        """The collider to put the goal on; what an action uses becomes one. Raises ShotError, ColliderError."""
        from .key_goals import give_role

        if not self.thing:
            return None
        thing = bpy.data.objects.get(self.thing)
        if thing is None:
            raise ShotError(f"There is no object '{self.thing}'.")
        role = selection.ROLES.get(self.action)
        if role is not None and picking.is_thing(thing):
            give_role(context, thing, role)
        return thing if colliders.is_collider(thing) else None


class NSM_OT_turn_goal(MouseOperation):
    """Turn the arrow of the selected goal, which is the facing at the end, toward the mouse"""

    bl_idname = "nsm.turn_goal"
    bl_label = "Turn Goal"
    bl_options = {"REGISTER", "UNDO"}

    use_facing: BoolProperty(
        name="Facing", description="Set the facing at the end; off leaves it open", default=True, options={"SKIP_SAVE"}
    )
    facing: FloatProperty(
        name="Angle",
        description="Facing at the end: 0 along -Y, counter-clockwise as seen from above",
        subtype="ANGLE",
        soft_min=-math.pi,
        soft_max=math.pi,
        options={"SKIP_SAVE"},
    )
    release_confirm: BoolProperty(
        name="Confirm on Release", description="End when the mouse button is let go", options={"SKIP_SAVE", "HIDDEN"}
    )

    _turned: Any = False

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be one selected goal."""
        if goals.selected(context.selected_objects) is None:
            cls.poll_message_set("Select one goal")
            return False
        return True

    def begin(self, _context: bpy.types.Context) -> None:
        """A gizmo is dragged with the button down."""
        self.held = self.release_confirm
        self._turned = False

    def aim(self, context: bpy.types.Context, view: picking.View, x: float, y: float, *, pressed: bool) -> list[Array]:
        """Turn toward where the mouse is over the ground."""
        goal = goals.selected(context.selected_objects)
        if goal is None:
            return []
        place = goal.matrix_world.translation
        to = view.on_level(x, y, place.z)
        if to is not None and (to - place).length > 0 and (pressed or not self.held):
            self.facing, self._turned = math.atan2(to.x - place.x, place.y - to.y), True
        return [marks.arrow(context, place, self.facing)] if self._turned else []

    def hints(self) -> str:
        """The angle."""
        angle = f"{math.degrees(self.facing):.0f}°"
        return f"{'Release' if self.held else 'Left Mouse'}: Face {angle}"

    def ready(self) -> bool:
        """The mouse has to point somewhere."""
        return bool(self._turned)

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Lay the arrow down along the facing, or stand it upright."""
        goal = goals.selected(context.selected_objects)
        assert goal is not None
        goals.face(goal, self.facing if self.use_facing else None)
        return {"FINISHED"}


CLASSES = (NSM_OT_place_goal, NSM_OT_turn_goal)
