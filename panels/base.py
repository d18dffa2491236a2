# SPDX-License-Identifier: GPL-3.0-or-later
"""What all panels of the sidebar share: the tab, and texts that take the same room whatever they say.

A panel has the same height whatever is selected: what cannot be used now is grayed out, and a line says why.
"""

from __future__ import annotations

import textwrap
from typing import Any

import bpy

from ..scene import lookup
from ..scene.manifold import NSM_PG_manifold, of_character
from ..scene.properties import blank

TAB = "Acting"
"""Name of the sidebar's tab; Blender 5 has one named Animation."""
_LINE = 33
"""Letters in a line of the sidebar at its usual width, beside an icon."""
BIG = 1.6
"""Height of a panel's main button, in rows."""


class Panel(bpy.types.Panel):
    """Base of the sidebar's panels."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = TAB


class Subpanel(Panel):
    """Base of the panels below others, closed at first."""

    bl_options = {"DEFAULT_CLOSED"}


def hint(layout: bpy.types.UILayout, text: str, icon: Any = "INFO", lines: int = 1) -> None:
    """A sentence in so many lines, whatever its length; what does not fit ends in dots."""
    column = layout.column(align=True)
    column.scale_y = 0.8
    told = textwrap.wrap(text, _LINE, max_lines=lines, placeholder=" ...")
    for number in range(lines):
        column.label(text=told[number] if number < len(told) else "", icon="BLANK1" if number or not text else icon)


def sentence(layout: bpy.types.UILayout, text: str, icon: Any = "INFO") -> None:
    """A sentence in as many lines as it takes."""
    hint(layout, text, icon, max(len(textwrap.wrap(text, _LINE)), 1))


def manifold(context: bpy.types.Context) -> NSM_PG_manifold:
    """What the motion manifold stores on the character; empty settings where there is none."""
    armature = lookup.character(context)
    return blank(context).blank.manifold if armature is None else of_character(armature)


def figures(layout: bpy.types.UILayout, rows: list[tuple[str, str]]) -> None:
    """Names and values, a row each."""
    column = layout.column(align=True)
    for name, value in rows:
        split = column.split(factor=0.45)
        split.label(text=name)
        split.label(text=value)
