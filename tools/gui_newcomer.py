# SPDX-License-Identifier: GPL-3.0-or-later
"""What a new user does, by mouse alone: install the zip, take the demo shot, bake it, export it; and sit on a chair.

Runs inside the chroot. The clicks are counted, and the seconds from each click to what it does; looking for a button
is not, which a person sees.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gui_hand import (
    FOLDER,
    Failure,
    click,
    command,
    expect,
    find_button,
    find_entry,
    report,
    screenshot,
    settle,
    state,
    told,
    wait,
    xdotool,
)

ZIP = "nsm_blender.zip"
_WINDOW = (90, 230)
"""Where a window that opens is put, as a window manager would, which the chroot does not have."""
_EDIT, _PREFERENCES = (83, 14), (131, 283)
"""Where a new window has the menu Edit, and that its entry."""
_ROW, _FIRST_ROW, _NAME = 21, 80, 300
"""Pixels in the file browser's window: between two files, from its top to the first, and from its left to the names."""
_SWITCH_ABOVE = 50
"""Pixels from the button Add Path up to the switch between a path and actions, two rows above it."""
_SIT_CLICKS = 5
"""Clicks that it may take from an own chair to a sit."""


@dataclass(frozen=True)
class _Layout:
    """Where a version of Blender draws what no command can be copied from. addons: pixels from the top of the
    preferences' window to that section's button. tab: pixels from the top of the screen to our tab, which is the last.
    """

    addons: int
    tab: int


_LAYOUTS = {"4": _Layout(addons=198, tab=250), "5": _Layout(addons=228, tab=323)}
"""By the first figure of the version."""


class Diary:
    """Clicks and seconds of one phase after the other, with a picture after each click."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pictures = self.clicks = self.all_clicks = 0
        self.seconds = self.all_seconds = 0.0

    def click(
        self,
        what: str,
        place: tuple[int, int],
        seen: Callable[[dict[str, Any]], bool] = lambda now: True,
        limit: float = 30.0,
    ) -> None:
        """Click on something and wait until it is seen to have worked. limit: seconds."""
        self.do(what, lambda: click(place), seen, limit)

    def do(
        self,
        what: str,
        action: Callable[[], None],
        seen: Callable[[dict[str, Any]], bool] = lambda now: True,
        limit: float = 30.0,
    ) -> None:
        """Do what is a click for a user, and wait until it is seen to have worked. limit: seconds."""
        began = time.time()
        action()
        wait(what, limit, seen)
        self.clicks += 1
        self.seconds += time.time() - began
        settle()
        screenshot(f"{self.name}-{self.pictures:02d}-{what.lower().replace(' ', '-')}")
        self.pictures += 1

    def end_phase(self, phase: str) -> None:
        """Report what the phase took, and begin the next."""
        report({f"gui.{self.name}.{phase}.clicks": self.clicks, f"gui.{self.name}.{phase}.seconds": self.seconds})
        self.all_clicks += self.clicks
        self.all_seconds += self.seconds
        self.clicks, self.seconds = 0, 0.0

    def close(self) -> None:
        """Report what all phases took."""
        report({f"gui.{self.name}.clicks": self.all_clicks, f"gui.{self.name}.seconds": self.all_seconds})
        print(f"{self.name}: {self.all_clicks} clicks, {self.all_seconds:.1f} s")


def play_newcomer() -> None:
    """From a Blender without the extension to an FBX file."""
    layout = _LAYOUTS[state()["version"][0]]
    diary = Diary("newcomer")
    screenshot("newcomer-new-window")
    _install(diary, layout)
    _open_tab(diary, layout)
    button = find_button("bpy.ops.nsm.add_demo_shot(", across=(0.65,))
    diary.click("Demo Shot", button, lambda now: "Armchair" in now["data"]["objects"])
    diary.end_phase("demo")
    _bake(diary, "Mannequin")
    _export(diary)
    diary.close()


def _install(diary: Diary, layout: _Layout) -> None:
    """Edit > Preferences > Add-ons > Install from Disk, and the zip in the home folder."""
    home = Path(os.environ["HOME"])
    shutil.copy(FOLDER / "extension.zip", home / ZIP)
    diary.click("Edit", _EDIT)
    diary.click("Preferences", _PREFERENCES, lambda now: "PREFERENCES" in now["opened"])
    right = _put_window("Preferences")[0]
    left, top = _WINDOW
    diary.click("Add-ons", (left + 40, top + layout.addons), lambda now: now["section"] == "ADDONS")
    diary.click("Menu of Add-ons", (right - 19, top + 18))
    diary.click("Install from Disk", (right - 119, top + 71), lambda now: "FILE_BROWSER" in now["opened"])
    right, bottom = _put_window("Blender File View")
    folders = sum(path.is_dir() and not path.name.startswith(".") for path in home.iterdir())
    row = (left + _NAME, top + _FIRST_ROW + folders * _ROW)
    diary.click("Zip", row, lambda now: now["chosen_file"] == ZIP)
    diary.click("Install", (right - 73, bottom - 21), lambda now: now["enabled"], limit=120.0)
    diary.do("Close Preferences", lambda: _close_window("Preferences"))
    diary.end_phase("install")


def _open_tab(diary: Diary, layout: _Layout) -> None:
    """The arrow at the viewport's right edge, which opens the sidebar, and our tab."""
    left = state()["sidebar"][0]
    diary.click("Sidebar", (left - 4, 108), lambda now: now["sidebar"][2] > 1)
    left, _, width, _ = state()["sidebar"]
    diary.click("Tab", (left + width - 15, layout.tab), lambda now: now["tab"] == "Acting")
    diary.end_phase("tab")


def _bake(diary: Diary, character: str) -> None:
    """Press Bake and wait for its end."""
    button = find_button("bpy.ops.nsm.bake(", across=(0.5,))
    diary.click("Bake", button, lambda now: not now["baking"] and character in now["keyed"], limit=300.0)
    diary.end_phase("bake")
    command("tell_keys")
    keys = json.loads((FOLDER / "keys.json").read_text())
    expect("the character's action has keys", holds=keys.get(character, 0) > 0)
    report({f"gui.{diary.name}.keys": keys[character]})


def _export(diary: Diary) -> None:
    """The panel's menu Export, FBX, and the file browser's button: the name is there already."""
    button = find_button('bpy.ops.wm.call_menu(name="NSM_MT_export")', across=(0.65,))
    diary.click("Export", button)
    entry = find_entry("bpy.ops.nsm.export_fbx(", button)
    diary.click("FBX", entry, lambda now: "FILE_BROWSER" in now["opened"])
    right, bottom = _put_window("Blender File View")
    diary.click("Export FBX", (right - 73, bottom - 21), lambda now: "FILE_BROWSER" not in now["opened"], limit=120.0)
    diary.end_phase("export")
    files = list(Path(os.environ["HOME"]).glob("*.fbx"))
    expect("there is one FBX file", holds=len(files) == 1)
    report({"gui.newcomer.fbx_bytes": files[0].stat().st_size})


def _put_window(title: str) -> tuple[int, int]:
    """Put an opened window where all of it is on the screen. Returns its right and its bottom edge."""
    number = _find_window(title)
    xdotool("windowmove", "--sync", number, *_WINDOW)
    settle()
    size = dict(line.split("=") for line in _asked("getwindowgeometry", "--shell", number).split())
    return _WINDOW[0] + int(size["WIDTH"]), _WINDOW[1] + int(size["HEIGHT"])


def _find_window(title: str) -> str:
    """The number of the window with a title."""
    (number,) = _asked("search", "--name", f"^{title}$").split()
    return number


def _asked(*arguments: str) -> str:
    """What xdotool answers."""
    return subprocess.run(["xdotool", *arguments], check=True, capture_output=True, text=True).stdout


def _close_window(title: str) -> None:
    """What a click on the cross in a window's frame is to the user: the chroot has no window manager, whose frame
    would have it, so the window is put beside the screen, and the keyboard goes to the first window."""
    xdotool("windowmove", "--sync", _find_window(title), -4000, 0)
    xdotool("windowfocus", _asked("search", "--name", "Blender [0-9]").split()[0])


def sit_on_own_chair() -> None:
    """From a chair that nothing has been done to, and a character beside it, to a baked sit."""
    for step in ("own_chair", "redraw", "open_tab", "redraw"):
        command(step)
    diary = Diary("chair")
    screenshot("chair-before")
    chair = tuple(told()["places"]["My Chair+"])
    diary.click("Chair", chair, lambda now: now["selected"] == ["My Chair"])
    # Blender 4 copies nothing from a switch.
    below = find_button("bpy.ops.nsm.add_path(", across=(0.3,))
    left, _, width, _ = state()["sidebar"]
    diary.click("Actions", (left + round(0.65 * width), below[1] - _SWITCH_ABOVE))
    button = find_button('bpy.ops.wm.call_menu(name="NSM_MT_add_action")', across=(0.87,))
    diary.click("Add Action", button)
    entry = find_entry('bpy.ops.nsm.add_action_key(action="sit"', button)
    diary.click("Sit Here", entry, lambda now: any(name.startswith("Goal") for name in now["data"]["objects"]))
    diary.end_phase("shot")
    _bake(diary, "Mannequin")
    diary.close()
    if diary.all_clicks > _SIT_CLICKS:
        raise Failure(f"a sit on an own chair took {diary.all_clicks} clicks, more than {_SIT_CLICKS}")
