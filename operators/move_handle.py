# SPDX-License-Identifier: GPL-3.0-or-later
"""Move, raise and turn the area where a character uses a thing, with the mouse.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import math
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty
from mathutils import Matrix, Vector
from mathutils.geometry import intersect_line_line

from ..nsm_blender import Array
from ..scene import handles, lookup, marks, picking
from ..scene.selection import shown_collider
from .mouse import MouseOperation

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class NSM_OT_move_handle(MouseOperation):
    """Move, raise or turn where the character sits, puts things down or climbs on the selected collider"""

    bl_idname = "nsm.move_handle"
    bl_label = "Move Handle"
    bl_options = {"REGISTER", "UNDO"}

    way: EnumProperty(
        name="Way",
        description="What the mouse does with the handle",
        items=(
            ("MOVE", "Move", "Move it level"),
            ("RAISE", "Raise", "Move it up and down"),
            ("TURN", "Turn", "Turn its facing"),
        ),
        options={"SKIP_SAVE"},
    )
    offset: FloatVectorProperty(
        name="Move", description="By how much the handle moves", subtype="TRANSLATION", size=3, options={"SKIP_SAVE"}
    )
    angle: FloatProperty(
        name="Turn",
        description="How far the handle turns, counter-clockwise from above",
        subtype="ANGLE",
        soft_min=-math.pi,
        soft_max=math.pi,
        options={"SKIP_SAVE"},
    )
    release_confirm: BoolProperty(
        name="Confirm on Release", description="End when the mouse button is let go", options={"SKIP_SAVE", "HIDDEN"}
    )

    _from: Any = None

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a collider with such a handle."""
        if lookup.baking(context):
            cls.poll_message_set("A bake is running; Esc cancels it")
        elif context.mode != "OBJECT":
            cls.poll_message_set("Go to object mode first")
        elif handles.main(shown_collider(context)) is None:
            cls.poll_message_set("Select a seat, surface or step whose handles are shown")
        else:
            return True
        return False

    def begin(self, _context: bpy.types.Context) -> None:
        """A gizmo is dragged with the button down."""
        self.held = self.release_confirm
        self._from = None

    def aim(self, context: bpy.types.Context, view: picking.View, x: float, y: float, *, pressed: bool) -> list[Array]:
        """Move by as much as the mouse did."""
        empty = handles.main(shown_collider(context))
        if empty is None:
            return []
        place = empty.matrix_world.translation
        to = _on_axis(view, x, y, place) if self.way == "RAISE" else view.on_level(x, y, place.z)
        if to is not None:
            self._from = self._from or to.copy()
            if self.way == "TURN":
                self.angle = _heading(to - place) - _heading(self._from - place)
            else:
                self.offset = to - self._from
        return [marks.area(self._moved(empty), empty.empty_display_size)]

    def hints(self) -> str:
        """How far it is moved."""
        told = f"{math.degrees(self.angle):.0f}°" if self.way == "TURN" else f"{Vector(self.offset).length:.3f}"
        return f"{'Release' if self.held else 'Left Mouse'}: {self.way.title()} by {told}"

    def ready(self) -> bool:
        """The mouse has to have been over the viewport."""
        return self._from is not None

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Move the empty, which the collider's handles follow."""
        empty = handles.main(shown_collider(context))
        assert empty is not None
        empty.matrix_world = self._moved(empty)
        context.view_layer.update()
        return {"FINISHED"}

    def _moved(self, empty: bpy.types.Object) -> Matrix:
        """The world matrix that the handle will have."""
        place, turn, size = empty.matrix_world.decompose()
        about = Matrix.Rotation(self.angle, 3, "Z").to_quaternion()
        return Matrix.LocRotScale(place + Vector(self.offset), about @ turn, size)


def _heading(away: Vector) -> float:
    """The angle of a direction about +Z."""
    return math.atan2(away.y, away.x)


def _on_axis(view: picking.View, x: float, y: float, place: Vector) -> Vector | None:
    """The point above or below a place that is nearest to the look through a pixel."""
    origin, direction = view.ray(x, y)
    found = intersect_line_line(origin, origin + direction, place, place + Vector((0.0, 0.0, 1.0)))
    return None if found is None else found[1]


CLASSES = (NSM_OT_move_handle,)
