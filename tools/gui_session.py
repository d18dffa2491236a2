# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside the Blender window of `make gui`: installs the extension, sets shots up, tells what it sees.

The mouse is moved from outside, by gui_window.py; the two talk through files in this script's folder. A command is
the name of one of `COMMANDS`, written into the file `command`; `state.json` says what is going on.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy

FOLDER = Path(__file__).resolve().parent
PACKAGE = "bl_ext.user_default.nsm_blender"
TAB = "NSM"
BAKE = "NSM_OT_bake"
TICK = 0.005


def log(text: str) -> None:
    """Add a line to session.log."""
    with (FOLDER / "session.log").open("a") as file:
        file.write(f"{text}\n")


def window() -> bpy.types.Window:
    """The only window."""
    return bpy.context.window_manager.windows[0]


def viewport() -> bpy.types.Area:
    """The 3D viewport."""
    return next(area for area in window().screen.areas if area.type == "VIEW_3D")


def sidebar() -> bpy.types.Region:
    """The viewport's sidebar."""
    return next(region for region in viewport().regions if region.type == "UI")


def in_viewport(operator: Callable[..., set[str]], **arguments: Any) -> None:
    """Run an operator as from the viewport; timers have no area of their own."""
    area = viewport()
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window(), area=area, region=region):
        log(f"{operator.idname_py()}: {operator(**arguments)}")


def install() -> None:
    """Install and enable the zip, as from the preferences' file browser."""
    bpy.ops.extensions.package_install_files(
        filepath=str(FOLDER / "extension.zip"), repo="user_default", enable_on_install=True, overwrite=True
    )
    if PACKAGE not in bpy.context.preferences.addons:
        raise RuntimeError("the extension was not enabled")


def watch_cancel() -> None:
    """Note when the operator gives up: what the state tells is as late as the redraw that follows."""
    operator = bpy.types.NSM_OT_bake
    modal = operator.modal

    def watched(self: bpy.types.Operator, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        result = modal(self, context, event)
        if "CANCELLED" in result:
            (FOLDER / "cancelled").write_text(str(time.time()))
        return result

    operator.modal = watched


def make_scene() -> None:
    """An empty scene with the character and a curve to walk along, and the sidebar open."""
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    in_viewport(bpy.ops.nsm.add_character)
    in_viewport(bpy.ops.nsm.add_path)
    viewport().spaces.active.show_region_ui = True


def open_tab() -> None:
    """Show our tab; it exists only after the sidebar was drawn once."""
    sidebar().active_panel_category = TAB
    viewport().tag_redraw()


def long_shot() -> None:
    """A shot long enough to be stopped half-way."""
    bpy.context.scene.frame_end = 5000


def frame_character() -> None:
    """Go to the middle of the shot and look at the character."""
    scene = bpy.context.scene
    scene.frame_set((scene.frame_start + scene.frame_end) // 2)
    for thing in scene.objects:
        thing.select_set(action_of(thing) is not None)
    in_viewport(bpy.ops.view3d.view_selected)


def leave() -> None:
    """Quit without asking."""
    bpy.ops.wm.quit_blender()


COMMANDS = {
    command.__name__: command
    for command in (install, make_scene, open_tab, long_shot, watch_cancel, frame_character, leave)
}


def data_blocks() -> dict[str, list[str]]:
    """The names of everything in the file, by kind."""
    kinds = ("actions", "armatures", "collections", "curves", "materials", "meshes", "objects")
    return {kind: sorted(block.name for block in getattr(bpy.data, kind)) for kind in kinds}


def action_of(thing: bpy.types.Object) -> bpy.types.Action | None:
    """The action that moves an object."""
    return thing.animation_data.action if thing.animation_data else None


def describe() -> dict[str, Any]:
    """What the driver wants to know."""
    region = sidebar()
    return {
        "version": bpy.app.version_string,
        "sidebar": [region.x, region.y, region.width, region.height],
        "window": [window().width, window().height],
        "tab": region.active_panel_category if region.width > 1 else "",
        "clipboard": bpy.context.window_manager.clipboard,
        "baking": any(operator.bl_idname == BAKE for operator in window().modal_operators),
        "data": data_blocks(),
        "keyed": sorted(
            thing.name for thing in bpy.data.objects if thing.animation_data and thing.animation_data.action
        ),
    }


class Session:
    """The timer's state."""

    def __init__(self) -> None:
        self.seen: dict[str, Any] = {}
        self.done = 0
        self.failed = ""

    def tick(self) -> float | None:
        """Obey a waiting command, then write the state down if it changed."""
        command = FOLDER / "command"
        if command.exists():
            name = command.read_text().strip()
            command.unlink()
            try:
                COMMANDS[name]()
            except Exception:  # noqa: BLE001 - whatever it is belongs into the log, which fails the run
                log(traceback.format_exc())
                self.failed = name
            self.done += 1
        self.write()
        return TICK

    def write(self) -> None:
        """Write `state.json` whole, so that the reader never sees half of it."""
        state = {**describe(), "done": self.done, "failed": self.failed}
        if state == self.seen:
            return
        self.seen = state
        draft = FOLDER / "state.tmp"
        draft.write_text(json.dumps(state))
        draft.rename(FOLDER / "state.json")


bpy.context.preferences.view.show_splash = False
bpy.app.timers.register(Session().tick, first_interval=0.5, persistent=True)
