# SPDX-License-Identifier: GPL-3.0-or-later
"""Drives the Blender window of `make gui` as a user would: with the mouse and the keyboard, and with screenshots.

Runs inside the chroot, next to gui_session.py, which runs inside Blender.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import gui_newcomer
from gui_hand import (
    FOLDER,
    PATIENCE,
    Failure,
    click,
    command,
    drag,
    expect,
    find_button,
    point_at,
    report,
    screenshot,
    send,
    settle,
    state,
    told,
    wait,
)

WIDTH, HEIGHT = 1280, 1200
GROUPS = 8
"""Groups of panels that fit into the window together."""
WIDE = 450
"""Pixels of a sidebar that was dragged wide."""
CANCEL_LIMIT = 0.1
"""Seconds from the ESC key to the end of the bake."""
OVERLAY_LIMIT = 4.0
"""Milliseconds that the overlay's drawing may take."""
SIDEBAR_LIMIT = 1.0
"""Milliseconds that the drawing of the sidebar's panels may take."""
PREVIEW_LIMIT = 1.3
"""Longest time of a bake with its preview over that of one without."""
PARTS = os.environ.get("PARTS", "").split() or [
    "newcomer",
    "demo",
    "panels",
    "mouse",
    "chair",
    "rigs",
    "bake",
    "rooms",
]
"""What is done."""
ERRORS = re.compile(r"Traceback|^\w*Error:|^Error[ :]|bl_ext\.user_default\.nsm_blender.*[Ee]rror")
"""What a log must not have, beside the warnings that software rendering in a chroot gives."""


def bake_the_demo() -> None:
    """What a new user does: open the tab, press Demo Shot, press Bake. The clicks, and the seconds from the first."""
    command("state_empty")
    time.sleep(PATIENCE)
    command("open_tab")  # the first click
    began = time.time()
    wait("our tab", 20, lambda now: now["tab"] == "Acting")
    time.sleep(PATIENCE)
    screenshot("0-empty")
    scanning = time.time()
    button = find_button("bpy.ops.nsm.add_demo_shot(")
    scanned = time.time() - scanning
    click(button)
    wait("the demo shot", 30, lambda now: "Armchair" in now["data"]["objects"])
    time.sleep(PATIENCE)
    screenshot("0-demo")
    scanning = time.time()
    button = find_button("bpy.ops.nsm.bake(")
    scanned += time.time() - scanning
    click(button)
    wait("the demo's bake to end", 300, lambda now: not now["baking"] and "Mannequin" in now["keyed"])
    # A person sees the buttons; the run has to feel for them.
    report({"gui.demo.clicks": 3, "gui.demo.seconds": time.time() - began - scanned})
    time.sleep(PATIENCE)
    screenshot("0-baked")


def picture(name: str) -> None:
    """A picture for the documents: half as large a file as a screenshot, with the mouse out of the way."""
    point_at(WIDTH // 3, HEIGHT - 40)
    time.sleep(PATIENCE)
    file = FOLDER / f"tutorial-{name}.png"
    subprocess.run(
        ["import", "-window", "root", "-resize", "1000x", "-dither", "None", "-colors", "128", str(file)], check=True
    )


def show_tutorial() -> None:
    """The pictures of the tutorial, in its order."""
    command("state_empty")
    time.sleep(PATIENCE)
    command("open_tab")
    picture("empty")
    command("add_demo")
    picture("demo")
    command("bake_demo")
    picture("baked")
    command("make_scene")
    command("look_at_all")
    picture("path")
    command("bake_demo")
    command("frame_character")
    picture("walk")
    command("furnish_room")
    picture("room")


def show_panels() -> None:
    """Pictures of all panels, open, in three states, at the sidebar's usual width and dragged wide."""
    for width in ("default", "wide"):
        if width == "wide":
            widen_sidebar()
        for state_name in ("empty", "unbound", "baked"):
            command(f"state_{state_name}")
            for number in range(GROUPS):
                show(number, f"8-{width}-{state_name}-{number}")


def widen_sidebar() -> None:
    """Drag the sidebar's left edge, until the sidebar is wide."""
    left, bottom, width, height = state()["sidebar"]
    # Over the view, the sidebar is there only where a panel is drawn, and its edge a few pixels within it.
    edge, row = left + 6, HEIGHT - bottom - height + 70
    drag((edge, row), (edge - (WIDE - width), row))
    settle()
    reached = state()["sidebar"][2]
    expect(f"the sidebar is about {WIDE} pixels wide, not {reached}", holds=abs(reached - WIDE) < 0.1 * WIDE)
    report({"gui.sidebar.default_px": width, "gui.sidebar.wide_px": reached})


def show(number: int, name: str) -> None:
    """A picture of one group of panels."""
    for step in (f"show_group_{number}", f"open_group_{number}"):
        command(step)
        # Drawn at once, as a busy machine may draw later than the picture is taken.
        command("redraw")
    screenshot(name)


def bind_rigs() -> None:
    """Bind two rigs, see what the list tells, and let them walk."""
    for name in ("mixamo", "rigify"):
        command(f"add_{name}")
        time.sleep(PATIENCE)
        command("show_group_0")
        time.sleep(PATIENCE)
        command("open_group_0")
        time.sleep(PATIENCE)
        command("bind")
        time.sleep(PATIENCE)
        screenshot(f"7-{name}-bound")
        command("read_row")
        time.sleep(PATIENCE)
        screenshot(f"7-{name}-row")
        command("walk")
        wait("keys on the rig", 5, lambda now: bool(now["keyed"]))
        time.sleep(PATIENCE)
        screenshot(f"7-{name}-walk")


def bake_a_shot() -> tuple[int, int]:
    """Bake with the mouse, to the end. Returns the button's place."""
    command("make_scene")
    time.sleep(PATIENCE)
    command("open_tab")
    wait("our tab", 20, lambda now: now["tab"] == "Acting")
    time.sleep(PATIENCE)
    screenshot("1-before")
    button = find_button("bpy.ops.nsm.bake(")
    click(button)
    clicked = time.time()
    wait("the bake to start", 20, lambda now: now["baking"] or bool(now["keyed"]))
    wait("the bake to end", 300, lambda now: not now["baking"])
    after = wait("keys on the character", 5, lambda now: bool(now["keyed"]))
    report({"gui.bake.seconds": time.time() - clicked})
    command("frame_character")
    time.sleep(PATIENCE)
    screenshot("2-after")
    print(f"baked: {', '.join(after['keyed'])}")
    return button


def cancel_bakes(button: tuple[int, int]) -> None:
    """Start a long bake and stop it with ESC, three times: at once, and without a trace."""
    command("long_shot")
    command("watch_cancel")
    before = state()["data"]
    seconds = sorted(seconds_to_cancel(button) for _ in range(3))
    screenshot("4-cancelled")
    print(f"ESC stopped the bake after {', '.join(f'{one:.3f}' for one in seconds)} s")
    report({"gui.cancel.median_s": seconds[1], "gui.cancel.min_s": seconds[0]})
    # The median, as whatever else the machine does may keep one of them waiting.
    if seconds[1] > CANCEL_LIMIT:
        raise Failure(f"ESC took {seconds[1]:.3f} s, more than {CANCEL_LIMIT:g} s")
    if state()["data"] != before:
        raise Failure(f"the cancelled bakes left something behind: {before} became {state()['data']}")


def seconds_to_cancel(button: tuple[int, int]) -> float:
    """From the ESC key to the end of a bake that is under way."""
    click(button)
    wait("another bake to start", 20, lambda now: now["baking"])
    time.sleep(1.5)
    screenshot("3-during")
    # Running already when the key is pressed, as the start of a program takes a while, too.
    with subprocess.Popen(["xdotool", "-"], stdin=subprocess.PIPE, text=True) as keyboard:
        assert keyboard.stdin is not None
        time.sleep(0.2)
        pressed = time.time()
        keyboard.stdin.write("key Escape\n")
    wait("the cancelled bake to stop", 20, lambda now: not now["baking"])
    time.sleep(PATIENCE)
    return float((FOLDER / "cancelled").read_text()) - pressed


def show_rooms() -> None:
    """The overlay in the demo room and in a hall of 60 pieces, with routes and sensors: seen, and fast."""
    usual = {}
    for number, name in ((5, "room"), (6, "hall")):
        command(f"furnish_{name}")
        time.sleep(PATIENCE)
        screenshot(f"{number}-{name}")
        command("time_overlay")
        told = json.loads((FOLDER / "overlay.json").read_text())
        report({f"gui.overlay.{name}.{figure}": value for figure, value in told.items()})
        usual[name] = told["thread_median_ms"]
        print(f"overlay of the {name}, {told['colliders']} colliders: median {told['median_ms']:.2f} ms, "
              f"minimum {told['min_ms']:.2f}, of its thread {told['thread_median_ms']:.2f}, "
              f"{told['thread_min_ms']:.2f}")  # fmt: skip
        command("look_near")
        time.sleep(PATIENCE)
        screenshot(f"{number}-{name}-near")
    # The thread's own time: drawing without a graphics card uses all cores, and waits for them.
    slow = {name: spent for name, spent in usual.items() if spent > OVERLAY_LIMIT}
    if slow:
        raise Failure(f"the overlay usually takes {slow} ms, more than {OVERLAY_LIMIT:g} ms")


def use_the_mouse() -> None:
    """Place a goal on the floor, drag it onto a chair by its gizmo, turn it, and look around meanwhile."""
    command("own_chair")
    time.sleep(PATIENCE)
    chair = tuple(told()["places"]["My Chair+"])
    floor = (chair[0] - 220, chair[1] + 60)
    command("place_goal")
    point_at(*floor)
    time.sleep(0.5 * PATIENCE)
    screenshot("9-placing")
    view = told()["view"]
    drag(floor, (floor[0] + 60, floor[1] - 40), button=2)
    now = told()
    expect("the view turns while a goal is placed", holds=now["view"] != view)
    expect("the operator goes on meanwhile", holds="NSM_OT_place_goal" in now["modal"])
    drag(floor, (floor[0] - 120, floor[1]))
    (goal,) = told()["goals"].items()
    expect("the goal lies on the floor", holds=goal[1]["uses"] == "" and abs(goal[1]["place"][2]) < 0.01)
    expect("its arrow was turned", holds=abs(goal[1]["turn"][0]) > 1)
    screenshot("9-gizmo")
    places = told()["places"]
    drag(tuple(places[goal[0]]), tuple(places["My Chair+"]))
    screenshot("9-dropped")
    before = told()["goals"][goal[0]]
    expect("the goal was dragged by its gizmo", holds=before["place"] != goal[1]["place"])
    command("show_preferences")
    time.sleep(2 * PATIENCE)
    screenshot("9-preferences")
    command("close_preferences")


def measure() -> None:
    """The sidebar's drawing, and bakes with a preview beside a bake without."""
    command("state_baked")
    time.sleep(PATIENCE)
    command("open_tab")
    time.sleep(PATIENCE)
    command("time_panels")
    panels = json.loads((FOLDER / "panels.json").read_text())
    report({f"gui.sidebar.{name}": value for name, value in panels.items()})
    print(f"sidebar: median {panels['thread_median_ms']:.2f} ms of {panels['draws']} draws")
    command("add_demo")
    time.sleep(PATIENCE)
    command("time_bakes")
    end = time.time() + 600 * PATIENCE
    while not (FOLDER / "bakes.json").exists():
        if time.time() > end:
            raise Failure("the bakes did not end")
        time.sleep(0.2)
    bakes = json.loads((FOLDER / "bakes.json").read_text())
    report({f"gui.preview.{name}": value for name, value in bakes.items()})
    ratios = {name: value / bakes["without"] for name, value in bakes.items() if name.startswith("with_")}
    print(f"bake {bakes['without']:.1f} s; with a preview over that: {ratios}")
    expect(f"the sidebar is drawn in {SIDEBAR_LIMIT} ms", holds=panels["thread_median_ms"] <= SIDEBAR_LIMIT)
    expect(f"a preview takes {PREVIEW_LIMIT} times as long at most", holds=max(ratios.values()) <= PREVIEW_LIMIT)


def check_logs() -> None:
    """Fail on a Python error in any log."""
    for path in sorted(FOLDER.glob("*.log")):
        lines = path.read_text(errors="replace").splitlines()
        wrong = [number for number, line in enumerate(lines) if ERRORS.search(line)]
        if wrong:
            raise Failure(f"{path.name} has an error:\n" + "\n".join(lines[wrong[0] : wrong[0] + 30]))


def start_display() -> subprocess.Popen[bytes]:
    """An X server without a screen, on the first free display."""
    reader, writer = os.pipe()
    log = (FOLDER / "xvfb.log").open("wb")
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writer), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp"],
        pass_fds=[writer],
        stderr=log,
    )
    os.close(writer)
    with os.fdopen(reader) as display:
        os.environ["DISPLAY"] = f":{display.readline().strip()}"
    return server


def start_blender(name: str) -> subprocess.Popen[bytes]:
    """Blender with factory settings, filling the screen. name: of its log."""
    log = (FOLDER / f"blender-{name}.log").open("wb")
    arguments = ["--factory-startup", "-p", "0", "0", str(WIDTH), str(HEIGHT), "--python", "gui_session.py"]
    return subprocess.Popen(["blender", *arguments], cwd=FOLDER, stdout=log, stderr=subprocess.STDOUT)


def main() -> int:
    """Run it all. Returns the exit code."""
    server = start_display()
    # A new user has a new window, and at first no extension.
    windows = (("newcomer",), ("demo", "panels"), ("mouse",), ("chair",), ("rigs",), ("bake", "rooms"), ("tutorial",))
    codes = [in_window(part) for part in windows if set(part) & set(PARTS)]
    server.terminate()
    try:
        check_logs()
    except Failure as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        codes.append(1)
    return max(codes)


def in_window(parts: tuple[str, ...]) -> int:
    """Do those of the `parts` that are wanted in one window. Returns the exit code."""
    (FOLDER / "state.json").unlink(missing_ok=True)
    blender, code = start_blender(parts[0]), 0
    try:
        print("Blender", wait("Blender's window", 120, lambda now: True)["version"], flush=True)
        if "newcomer" in parts:
            gui_newcomer.play_newcomer()
        else:
            command("install")
        if "demo" in parts and "demo" in PARTS:
            bake_the_demo()
        if "panels" in parts and "panels" in PARTS:
            show_panels()
        if "mouse" in parts:
            use_the_mouse()
            measure()
        if "chair" in parts:
            gui_newcomer.sit_on_own_chair()
        if "rigs" in parts:
            bind_rigs()
        if "tutorial" in parts:
            show_tutorial()
        if "bake" in parts and "bake" in PARTS:
            cancel_bakes(bake_a_shot())
        if "rooms" in parts and "rooms" in PARTS:
            show_rooms()
        send("leave")
    except Failure as failure:
        screenshot(f"failed-{parts[0]}")
        print(f"FAILED: {failure}", file=sys.stderr)
        code = 1
    try:
        blender.wait(10 * PATIENCE)
    except subprocess.TimeoutExpired:
        blender.kill()
    return code


if __name__ == "__main__":
    sys.exit(main())
