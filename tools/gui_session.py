# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside the Blender window of `make gui`: installs the extension, sets shots up, tells what it sees.

The mouse is moved from outside, by gui_window.py; the two talk through files in this script's folder. A command is
the name of one of `COMMANDS`, written into the file `command`; `state.json` says what is going on.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import bpy

FOLDER = Path(__file__).resolve().parent
PACKAGE = "bl_ext.user_default.nsm_blender"
TAB = "Acting"
BAKE = "NSM_OT_bake"
TICK = 0.03
"""Seconds between two looks at Blender's state, which cost time of a busy machine."""
GROUPS = (
    ("NSM_PT_character", "NSM_PT_mapping", "NSM_PT_root_ik"),
    ("NSM_PT_shot", "NSM_PT_shot_advanced", "NSM_PT_navigation", "NSM_PT_shot_file"),
    ("NSM_PT_bake", "NSM_PT_report", "NSM_PT_network"),
    ("NSM_PT_things", "NSM_PT_handles", "NSM_PT_goals"),
    ("NSM_PT_things", "NSM_PT_overlays"),
    ("NSM_PT_refine", "NSM_PT_edit", "NSM_PT_contacts"),
    ("NSM_PT_refine", "NSM_PT_style", "NSM_PT_style_search"),
    ("NSM_PT_generate", "NSM_PT_synthesis", "NSM_PT_stepping", "NSM_PT_crowd", "NSM_PT_strike", "NSM_PT_motion_files"),
)
"""Panels that fit into the window together, for pictures of them."""
_NOT_COPIED = ("bl_rna", "__dict__", "__weakref__")
"""What belongs to one class alone."""
DRAWS = 50
"""Drawings of the overlay that are timed."""


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


def clear() -> None:
    """Take all objects away, and the cursor to the origin."""
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    bpy.context.scene.cursor.location = (0.0, 0.0, 0.0)
    bpy.context.scene.frame_set(bpy.context.scene.frame_start)


def with_active(thing: bpy.types.Object) -> None:
    """Select one object alone."""
    for other in bpy.context.selected_objects:
        other.select_set(False)
    thing.select_set(True)
    bpy.context.view_layer.objects.active = thing


def look_near() -> None:
    """Look at what is sensed."""
    in_viewport(bpy.ops.view3d.view_selected)
    viewport().tag_redraw()


def time_overlay() -> None:
    """Draw the viewport again and again, and write down what the time inside the overlay's handler was.

    What else the machine does only adds to the wall clock, so the thread's own time is told beside it.
    """
    running = importlib.import_module(f"{PACKAGE}.scene.overlays").Overlay.running
    wall: list[float] = []
    thread: list[float] = []

    def timed() -> None:
        started, started_thread = time.perf_counter(), time.thread_time()
        running.draw()
        wall.append(1e3 * (time.perf_counter() - started))
        thread.append(1e3 * (time.thread_time() - started_thread))

    view = bpy.types.SpaceView3D
    view.draw_handler_remove(running.handle, "WINDOW")
    own = view.draw_handler_add(timed, (), "WINDOW", "POST_VIEW")
    try:
        # The first drawing uploads what is new and is told apart from the others.
        in_viewport(bpy.ops.wm.redraw_timer, type="DRAW_WIN_SWAP", iterations=DRAWS + 1)
    finally:
        view.draw_handler_remove(own, "WINDOW")
        running.handle = view.draw_handler_add(running.draw, (), "WINDOW", "POST_VIEW")
    wrapped = [thing.nsm.collider.count for thing in bpy.data.objects if thing.nsm.collider.count]
    figures = {
        "colliders": len(wrapped),
        "cuboids": sum(wrapped),
        "draws": len(wall) - 1,
        "first_ms": wall[0],
        "median_ms": statistics.median(wall[1:]),
        "min_ms": min(wall[1:]),
        "thread_median_ms": statistics.median(thread[1:]),
        "thread_min_ms": min(thread[1:]),
    }
    (FOLDER / "overlay.json").write_text(json.dumps(figures))


def show_group(number: int) -> None:
    """Show some of the panels, all open, in a tab of their own: Blender keeps a panel that it has drawn as it is."""
    classes = importlib.import_module(f"{PACKAGE}.panels").CLASSES
    panels = {cls.__name__: cls for cls in classes if issubclass(cls, bpy.types.Panel)}
    tab = f"Group {number}"
    for name in GROUPS[number]:
        copied = f"{name}_{number}"
        if hasattr(bpy.types, copied):
            continue
        parent = getattr(panels[name], "bl_parent_id", "")
        options = {"bl_idname": copied, "bl_category": tab, "bl_options": set()}
        if parent:
            options["bl_parent_id"] = f"{parent}_{number}"
        own = {key: value for key, value in vars(panels[name]).items() if key not in _NOT_COPIED}
        bpy.utils.register_class(type(copied, panels[name].__bases__, own | options))
    viewport().spaces.active.show_region_ui = True
    viewport().tag_redraw()


def open_group(number: int) -> None:
    """Open the tab of a group, which exists only after the sidebar was drawn once."""
    sidebar().active_panel_category = f"Group {number}"
    viewport().tag_redraw()


def bind() -> None:
    """Press Bind."""
    in_viewport(bpy.ops.nsm.bind)
    viewport().tag_redraw()


def read_row() -> None:
    """Go down the list to the joint of which least is sure."""
    binding = bpy.context.view_layer.objects.active.nsm.binding
    rows = [(row.confidence if row.bone else -1.0, number) for number, row in enumerate(binding.matches)]
    binding.index = min(rows)[1]
    viewport().tag_redraw()


def walk() -> None:
    """Bake the rig's way along a curve, and look at it in the middle of the shot."""
    rig = bpy.context.view_layer.objects.active
    bpy.context.scene.frame_end = 120
    in_viewport(bpy.ops.nsm.add_path)
    with_active(rig)
    in_viewport(bpy.ops.nsm.bake)
    frame_character()


def add_demo() -> None:
    """The demo shot."""
    in_viewport(bpy.ops.nsm.add_demo_shot)


def bake_demo() -> None:
    """Bake what the sidebar's character is to do, and go to the end of it."""
    in_viewport(bpy.ops.nsm.bake)
    bpy.context.scene.frame_set(bpy.context.scene.frame_end)


def look_at_all() -> None:
    """Show everything in the viewport."""
    in_viewport(bpy.ops.view3d.view_all)


def redraw() -> None:
    """Draw the window, and wait for it."""
    bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=1)


def rest() -> None:
    """Do nothing."""


def clear_clipboard() -> None:
    """Forget what was copied, so that it is not taken for what will be."""
    bpy.context.window_manager.clipboard = ""


def leave() -> None:
    """Quit without asking."""
    bpy.ops.wm.quit_blender()


COMMANDS = {
    command.__name__: command
    for command in (
        install,
        make_scene,
        open_tab,
        long_shot,
        watch_cancel,
        frame_character,
        look_near,
        time_overlay,
        bind,
        read_row,
        walk,
        add_demo,
        bake_demo,
        look_at_all,
        redraw,
        rest,
        clear_clipboard,
        leave,
    )
}
sys.path.insert(0, str(FOLDER))
for _module in ("gui_measure", "gui_scenes"):
    for _command in importlib.import_module(_module).COMMANDS:
        COMMANDS[_command.__name__] = partial(_command, sys.modules[__name__])
for _number in range(len(GROUPS)):
    COMMANDS[f"show_group_{_number}"] = partial(show_group, _number)
    COMMANDS[f"open_group_{_number}"] = partial(open_group, _number)


def data_blocks() -> dict[str, list[str]]:
    """The names of everything in the file, by kind."""
    kinds = ("actions", "armatures", "collections", "curves", "materials", "meshes", "objects")
    return {kind: sorted(block.name for block in getattr(bpy.data, kind)) for kind in kinds}


def action_of(thing: bpy.types.Object) -> bpy.types.Action | None:
    """The action that moves an object."""
    return thing.animation_data.action if thing.animation_data else None


def chosen_file() -> str:
    """The name of the file that is chosen in the file browser; empty without one."""
    areas = [area for other in bpy.context.window_manager.windows for area in other.screen.areas]
    found = [area.spaces.active.params for area in areas if area.type == "FILE_BROWSER"]
    return found[0].filename if found and found[0] is not None else ""


def describe() -> dict[str, Any]:
    """What the driver wants to know."""
    region = sidebar()
    return {
        "version": bpy.app.version_string,
        "sidebar": [region.x, region.y, region.width, region.height],
        "window": [window().width, window().height],
        "opened": [other.screen.areas[0].type for other in list(bpy.context.window_manager.windows)[1:]],
        "section": bpy.context.preferences.active_section,
        "chosen_file": chosen_file(),
        "enabled": PACKAGE in bpy.context.preferences.addons,
        "selected": sorted(thing.name for thing in window().view_layer.objects if thing.select_get()),
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
# Views are there at once, not after a flight that slow drawing stretches.
bpy.context.preferences.view.smooth_view = 0
bpy.app.timers.register(Session().tick, first_interval=0.5, persistent=True)
