# SPDX-License-Identifier: GPL-3.0-or-later
"""What the viewport is asked to show of colliders, handles and sensors.

Blender reads the annotations of a PropertyGroup as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import bpy
from bpy.props import BoolProperty, PointerProperty

_OPTIONS: set[str] = set()


def _sense_again(settings: "NSM_PG_overlay", _context: bpy.types.Context) -> None:
    """Have the dependency graph's handler called, which works out what is sensed."""
    settings.id_data.update_tag()


class NSM_PG_overlay(bpy.types.PropertyGroup):
    """What is shown in the viewport."""

    show_colliders: BoolProperty(
        name="Colliders",
        description="Show the cuboids of the colliders, colored by role",
        default=True,
        options=_OPTIONS,
    )
    show_handles: BoolProperty(
        name="Facings and Handles",
        description="Show where seats face, doors swing and hands take hold",
        default=True,
        options=_OPTIONS,
    )
    show_environment: BoolProperty(
        name="Environment Sensor",
        description="Show what the character senses around itself; what is nearer to a collider is more opaque",
        default=False,
        options=_OPTIONS,
        update=_sense_again,
    )
    show_interaction: BoolProperty(
        name="Interaction Sensor",
        description="Show what is sensed of the active collider when it is used",
        default=False,
        options=_OPTIONS,
        update=_sense_again,
    )
    source: PointerProperty(
        name="Sensor Origin",
        description="Object that senses, such as an empty to drag about; without one it is the character",
        type=bpy.types.Object,
        update=_sense_again,
    )
