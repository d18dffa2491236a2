# SPDX-License-Identifier: GPL-3.0-or-later
"""The hand and the eye of `make gui`: mouse, keyboard, screenshots, and what Blender tells of itself.

Runs inside the chroot, next to gui_session.py, which runs inside Blender.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
COMMAND_LIMIT = 400
"""Seconds that one of the session's commands may take: wrapping a hall on a busy machine is the longest."""
PATIENCE = float(os.environ.get("PATIENCE") or 1)
"""Factor on all waiting: what a busy machine needs more."""


class Failure(Exception):
    """The run failed; the text says how."""


def state() -> dict[str, Any]:
    """What Blender last told; empty before it told anything."""
    path = FOLDER / "state.json"
    told: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return told


def wait(what: str, seconds: float, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait until the state fulfils the condition, and return it."""
    end = time.time() + PATIENCE * seconds
    while time.time() < end:
        now = state()
        if now.get("failed"):
            raise Failure(f"{now['failed']} went wrong in Blender")
        if now and condition(now):
            return now
        time.sleep(0.03)
    raise Failure(f"waited {seconds:g} s in vain for: {what}")


def send(name: str) -> None:
    """Give Blender one of the session's commands."""
    draft = FOLDER / "command.tmp"
    draft.write_text(name)
    draft.rename(FOLDER / "command")


def command(name: str) -> None:
    """Have Blender do one of the session's commands and wait until it is done."""
    done = state()["done"]
    send(name)
    wait(name, COMMAND_LIMIT, lambda now: now["done"] > done)


def settle() -> None:
    """Wait until Blender has come to what the mouse and the keyboard did, and has drawn it, however slow it is."""
    time.sleep(0.05)
    # A round of Blender's loop obeys a command, then handles events, then draws: two commands have a whole round
    # between them.
    for _ in range(2):
        command("rest")


def xdotool(*arguments: object) -> None:
    """Move the mouse, press a key."""
    subprocess.run(["xdotool", *map(str, arguments)], check=True)


def screenshot(name: str) -> None:
    """The whole screen as a picture."""
    subprocess.run(["import", "-window", "root", str(FOLDER / f"{name}.png")], check=True)


def point_at(x: int, y: int) -> None:
    """Move the mouse in two steps, as Blender notices what it moves over, not where it appears."""
    xdotool("mousemove", x - 3, y - 2, "mousemove", x, y)
    settle()


_ACROSS = (0.3, 0.65)
"""Where in the sidebar's width buttons are looked for, as shares: a row may have two, and the tabs take a strip at the
right edge."""
_STEP = 8
"""Pixels between two rows in which a button is looked for: a button is 18 high at the least."""


def find_button(operator: str, across: tuple[float, ...] = _ACROSS) -> tuple[int, int]:
    """Where on the screen the sidebar has the button of an operator. across: shares of the width to look at."""
    left, bottom, width, height = state()["sidebar"]
    top = state()["window"][1] - bottom - height
    rows = range(top + 10, top + height - 4, _STEP)
    return _feel(operator, [(left + round(share * width), y) for y in rows for share in across])


def find_entry(operator: str, opened_at: tuple[int, int], height: int = 300) -> tuple[int, int]:
    """Where on the screen the menu that a click has opened, downward, has the entry of an operator."""
    x, y = opened_at
    return _feel(operator, [(x, below) for below in range(y + 2 * _STEP, y + height, _STEP)])


def _feel(operator: str, places: list[tuple[int, int]]) -> tuple[int, int]:
    """The place at which an operator's button is. Raises Failure.

    Points at one place after the other and presses Ctrl+C, which copies a button's Python command: so nothing is
    pressed but the button that is looked for.
    """
    command("clear_clipboard")
    seen = set()
    for x, y in places:
        point_at(x, y)
        xdotool("key", "ctrl+c")
        settle()
        # One version quotes singly.
        copied = state()["clipboard"].replace("'", '"')
        seen.add(copied)
        if copied.startswith(operator):
            return x, y + 3
    raise Failure(f"no button {operator}, only {sorted(seen)}")


def click(place: tuple[int, int]) -> None:
    """Press and release the left button."""
    point_at(*place)
    xdotool("mousedown", 1)
    settle()
    xdotool("mouseup", 1)


def told() -> dict[str, Any]:
    """Where the objects are on the screen, and what became of the goals."""
    command("tell_places")
    found: dict[str, Any] = json.loads((FOLDER / "places.json").read_text())
    return found


def drag(start: tuple[int, int], end: tuple[int, int], button: int = 1) -> None:
    """Press at one place, move in steps, release at another."""
    point_at(*start)
    time.sleep(0.3 * PATIENCE)
    xdotool("mousedown", button)
    # Blender asks where the mouse is when it comes to the press, which a busy machine does late.
    time.sleep(0.7 * PATIENCE)
    for step in range(1, 9):
        x, y = (round(a + (b - a) * step / 8) for a, b in zip(start, end, strict=True))
        xdotool("mousemove", x, y)
        time.sleep(0.05 * PATIENCE)
    time.sleep(0.3 * PATIENCE)
    xdotool("mouseup", button)
    time.sleep(0.5 * PATIENCE)


def expect(what: str, *, holds: bool) -> None:
    """Fail unless something holds."""
    if not holds:
        screenshot("failed-mouse")
        raise Failure(f"expected in the window: {what}")


def report(figures: dict[str, float]) -> None:
    """Add figures to report.json."""
    path = FOLDER / "report.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | figures, indent=1) + "\n")
