# SPDX-License-Identifier: GPL-3.0-or-later
"""What the viewport is asked to show of colliders, handles and sensors.

Blender reads the annotations of a PropertyGroup as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from typing import Any

import bpy
from bpy.props import BoolProperty, FloatVectorProperty, PointerProperty

_OPTIONS: set[Any] = set()

_COLORS = {
    "obstacle": (0.75, 0.78, 0.82),
    "seat": (0.25, 0.75, 1.0),
    "door": (1.0, 0.65, 0.15),
    "carryable": (1.0, 0.9, 0.2),
    "surface": (0.45, 0.95, 0.45),
    "climbable": (0.8, 0.5, 1.0),
    "ground": (0.55, 0.45, 0.35),
}
"""Colors of the roles at first, as linear RGB."""


def _sense_again(settings: "NSM_PG_overlay", _context: bpy.types.Context) -> None:
    """Have the dependency graph's handler called, which works out what is sensed."""
    settings.id_data.update_tag()


def _color(name: str, description: str, role: str) -> Any:
    """The color of a role's lines, which is the legend, too."""
    return FloatVectorProperty(
        name=name,
        description=description,
        subtype="COLOR",
        size=3,
        min=0.0,
        max=1.0,
        default=_COLORS[role],
        options=_OPTIONS,
    )


class NSM_PG_overlay(bpy.types.PropertyGroup):
    """What is shown in the viewport, and in which colors."""

    seat: _color("Seats", "Color of what the character sits on", "seat")
    door: _color("Doors", "Color of what the character opens", "door")
    carryable: _color("Carryables", "Color of what the character carries", "carryable")
    surface: _color("Surfaces", "Color of what things are put on", "surface")
    climbable: _color("Steps", "Color of what the character climbs", "climbable")
    ground: _color("Ground", "Color of what the character walks on", "ground")
    obstacle: _color("Obstacles", "Color of what the character keeps off", "obstacle")

    show_colliders: BoolProperty(
        name="Colliders",
        description="Show the cuboids of the colliders, colored by role",
        default=True,
        options=_OPTIONS,
    )
    show_handles: BoolProperty(
        name="Handles",
        description="Show where seats face, doors swing and hands take hold",
        default=True,
        options=_OPTIONS,
    )
    show_environment: BoolProperty(
        name="Environment",
        description="Show what the character senses around itself; what is nearer to a collider is more opaque",
        default=False,
        options=_OPTIONS,
        update=_sense_again,
    )
    show_interaction: BoolProperty(
        name="Interaction",
        description="Show what is sensed of the active collider when it is used",
        default=False,
        options=_OPTIONS,
        update=_sense_again,
    )
    source: PointerProperty(
        name="Origin",
        description="Object that senses, such as an empty to drag about; without one it is the character",
        type=bpy.types.Object,
        update=_sense_again,
    )
