# SPDX-License-Identifier: GPL-3.0-or-later
"""Shortcuts of the extension, which the user can change and switch on and off in its preferences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy

_MENU = "wm.call_menu"


@dataclass(frozen=True)
class _Shortcut:
    """A key with Ctrl, Alt and Shift, what it runs, and whether it is on at first. menu: for the operator that opens
    one."""

    operator: str
    key: Any
    ctrl: bool = False
    alt: bool = False
    shift: bool = False
    menu: str = ""
    active: bool = False


SHORTCUTS = (
    _Shortcut(_MENU, "A", ctrl=True, alt=True, menu="NSM_MT_animate", active=True),
    _Shortcut("nsm.bake", "B", alt=True, shift=True),
    _Shortcut("nsm.place_goal", "P", ctrl=True, alt=True),
    _Shortcut("nsm.check_keys", "K", ctrl=True, alt=True),
)
"""None of them is Blender's own in object mode. Only the menu, from which all can be reached, is on at first: the
others might be the user's own."""
KEYMAP = "Object Mode"
"""Blender's name of the keymap in which they are: above a 3D viewport, in object mode."""


def start() -> None:
    """Add the shortcuts; without a window there may be no keymaps."""
    configuration = bpy.context.window_manager.keyconfigs.addon
    if configuration is None:
        return
    keymap = configuration.keymaps.new(KEYMAP, space_type="EMPTY")
    for one in SHORTCUTS:
        item = keymap.keymap_items.new(one.operator, one.key, "PRESS", ctrl=one.ctrl, alt=one.alt, shift=one.shift)
        if one.menu:
            item.properties.name = one.menu
        item.active = one.active


def stop() -> None:
    """Take them away; what the user has changed about them stays in the user's own keymap."""
    configuration = bpy.context.window_manager.keyconfigs.addon
    keymap = None if configuration is None else configuration.keymaps.get(KEYMAP)
    if keymap is None:
        return
    for item in [item for item in keymap.keymap_items if is_ours(item)]:
        keymap.keymap_items.remove(item)


def is_ours(item: bpy.types.KeyMapItem) -> bool:
    """Whether a shortcut runs an operator of the extension, or opens its menu."""
    if item.idname == _MENU:
        return bool(item.properties is not None and item.properties.name.startswith("NSM_MT_"))
    return item.idname.startswith("nsm.")


def draw(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """The shortcuts as the user has them, as Blender's preferences show shortcuts."""
    import rna_keymap_ui

    configuration = context.window_manager.keyconfigs.user
    keymap = None if configuration is None else configuration.keymaps.get(KEYMAP)
    if keymap is None:
        return
    for item in keymap.keymap_items:
        if is_ours(item):
            rna_keymap_ui.draw_kmi([], configuration, keymap, item, layout, 0)
