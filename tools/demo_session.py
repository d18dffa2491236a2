# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in the child process of `nsm-blender demo`: does with the installed extension what a user would do.

First a shot is baked, exported and saved; then its walk is restyled, with a hand on a rail, and a crowd is made.
Then action keys send the character through a furnished room, and last it walks over stairs, a gap and a ramp.

Arguments: the extension's zip, the folder for the results. The environment names a private Blender profile.
"""
# It calls our own operators, which no stub knows:
# mypy: disable-error-code="union-attr,attr-defined,arg-type,assignment"

from __future__ import annotations

import importlib
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

import bpy

PACKAGE = "bl_ext.user_default.nsm_blender"
FPS = 30
FRAMES = 450
PICTURES = 12

# Meters. Straight ahead, a turn back within a meter and a half, then a long bend to jog along.
CURVE = ((0, 0), (0, -2.6), (0.75, -3.5), (1.6, -2.7), (1.8, -1.0), (2.6, 2.2), (4.4, 5.0), (6.6, 6.3), (9.0, 6.6))

# (frame, meters per second)
SPEED = ((1, 0), (45, 0), (60, 1.3), (180, 1.3), (205, 2.7), (280, 2.7), (305, 0), (350, 0), (362, 0.6), (415, 0.6),
         (428, 0))  # fmt: skip
# (frame, gait), each until the next
GAIT = ((1, "stand"), (45, "walk"), (182, "jog"), (296, "walk"), (306, "stand"), (350, "walk"), (428, "stand"))
# (frame, degrees left of the way); a quarter turn while standing makes the last part a sidestep
FACING = ((1, 0), (306, 0), (340, 90))

STYLE = "old"
WALK = (40, 190)
"""First and last frame of the shot that are restyled."""
RAIL = ((-0.46, 0.1), (-0.46, -3.15))
"""Ends of the rail to the right of the first straight, meters."""
RAIL_TOP, RAIL_SIZE = 0.91, 0.05
WRIST_ABOVE = 0.075
"""Meters from the rail's top to the wrist when the hand lies on it."""
# (frame, meters along -Y): the hand glides on the rail for a second and a half
HAND = ((65, 0.75), (110, 2.78))
STYLE_PICTURES = 8
RED = (0.55, 0.06, 0.04, 1.0)

ROOM_START = (5.0, -0.6)
"""Before the door, meters."""
OUTSIDE = "Outside"
"""Name of the goal there; the others lie on the things that they are named after."""


class Errand(NamedTuple):
    """An action key of the room. start: frame to set off at, None when the one before is done. hold: seconds.
    near: degrees about +Z, 0 from -Y, from where what is done there can be seen."""

    action: str
    thing: str
    start: int | None = None
    hold: float = 0.0
    near: float = 0.0


ACTS = (
    Errand("open", "Door", 15, near=50),
    Errand("pick_up", "Box", near=75),
    Errand("put_down", "Shelf", hold=0.3, near=10),
    Errand("sit", "Armchair", hold=2.5, near=-20),
    Errand("walk", OUTSIDE),
)
"""In through the shut door, the box from the table to the shelf, round the low beam to the armchair, and out again."""
ACTS_FRAMES = 1320
ERRANDS = (Errand("walk", "Box", 15, 1.0), Errand("walk", "Armchair", hold=0.5), Errand("run", "Shelf", hold=1.0))
"""What the locomotion network can do there: to the table, round the low beam to the armchair, and to the shelf."""
ERRANDS_FRAMES = 780
HALVES, THIRDS = (2, (480, 300)), (3, (420, 266))
"""Pictures in a row, and the size of each in pixels."""

# (meters along x, whether on the way back, what is there, degrees about +Z from where it is seen; None for all)
COURSE = (
    (-4.6, False, "before the stairs", None), (-3.0, False, "up the stairs", -20), (-2.5, False, "up the stairs", 40),
    (-1.4, False, "on the platform", None), (-0.2, False, "over the gap", 10), (2.4, False, "down the ramp", -30),
    (4.9, True, "turns", None), (3.1, True, "under the low beam", -70), (1.0, True, "stands", None),
)  # fmt: skip

GOALS_ON_GROUND = (("On Platform", (-1.2, 0.0, 0.85)), ("On Far Platform", (0.8, 0.0, 0.85)))
"""Goals of keys: up the stairs, and then, as no way leads over the gap, down again and round to the ramp."""
KEYS_FRAMES = 900

LANES, IN_LANE = 6, 3
CROWD_FRAMES, CROWD_PICTURE = 120, 80


def main() -> int:
    """Make the demo; the exit code is 1 when a step fails, after a line that says which and why."""
    extension, out = Path(sys.argv[1]), Path(sys.argv[2])
    tell = _own_output()
    steps = _Steps(tell)
    try:
        with steps("install the extension in a private profile"):
            install(extension)
        with steps("add the character"):
            bpy.ops.nsm.add_character()
        character = bpy.context.active_object
        with steps("draw the curve; key speed, gait and facing"):
            curve = draw(character)
        with steps(f"bake {FRAMES} frames"):
            bpy.ops.nsm.bake()
            if character.animation_data is None or character.animation_data.action is None:
                raise RuntimeError("The bake ended without an action on the character.")
        with steps("export demo.fbx"):
            bpy.ops.nsm.export_fbx(filepath=str(out / "demo.fbx"), preset="UNITY")
        with steps("save shot.json and report.json"):
            bpy.ops.nsm.save_shot(filepath=str(out / "shot.json"))
            bpy.ops.nsm.save_report(filepath=str(out / "report.json"))
        with steps("save demo.blend"):
            bpy.ops.wm.save_as_mainfile(filepath=str(out / "demo.blend"), compress=True)
        with steps(f"render preview.png, {PICTURES} pictures"):
            preview(character, curve, out / "preview.png")
        show(out / "report.json", tell)
        with steps(f"restyle the walk: {STYLE}"):
            restyle(character)
            figures = told(character, "restyle")
        with steps("pin the right hand to a rail"):
            rail = pin_to_rail(character)
            figures |= told(character, "rail")
        with steps("save report_style.json"):
            save_style_report(character, figures, out / "report_style.json")
        with steps(f"render preview_style.png, {STYLE_PICTURES} pictures"):
            preview_style(character, curve, rail, out / "preview_style.png")
        show(out / "report_style.json", tell)
        with steps(f"synthesize a crowd of {LANES * IN_LANE} on curves"):
            characters = crowd()
        with steps("render crowd.png"):
            preview_crowd(characters, out / "crowd.png")
        with steps("furnish a room; add goals and action keys"):
            acts = can_act()
            errands, frames = (ACTS, ACTS_FRAMES) if acts else (ERRANDS, ERRANDS_FRAMES)
            character = furnish(errands, frames, door_open=not acts)
        with steps(f"bake {frames} frames of action keys"):
            bpy.ops.nsm.bake()
        with steps("save shot_room.json and report_room.json"):
            bpy.ops.nsm.save_shot(filepath=str(out / "shot_room.json"))
            bpy.ops.nsm.save_report(filepath=str(out / "report_room.json"))
        with steps("save room.blend"):
            bpy.ops.wm.save_as_mainfile(filepath=str(out / "room.blend"), compress=True)
        pictures = acted(character) if acts else walked(character)
        with steps(f"render preview_room.png, {len(pictures)} pictures"):
            preview_room(character, pictures, out / "preview_room.png", *(THIRDS if acts else HALVES))
        show(out / "report_room.json", tell)
        with steps("lay stairs, a ramp and a path over them"):
            character = over_ground()
        with steps(f"bake {bpy.context.scene.frame_end} frames on ground"):
            bpy.ops.nsm.bake()
        with steps("save shot_ground.json, report_ground.json and ground.blend"):
            bpy.ops.nsm.save_shot(filepath=str(out / "shot_ground.json"))
            bpy.ops.nsm.save_report(filepath=str(out / "report_ground.json"))
            bpy.ops.wm.save_as_mainfile(filepath=str(out / "ground.blend"), compress=True)
        with steps(f"render preview_ground.png, {len(COURSE)} pictures"):
            preview_room(character, along_course(character), out / "preview_ground.png", *THIRDS)
        show(out / "report_ground.json", tell)
        with steps("send it up the stairs, and round to the ramp, by action keys"):
            send_over_ground()
            bpy.ops.nsm.bake()
        pictures = sent_over_ground(character)
        with steps(f"render preview_ground_keys.png, {len(pictures)} pictures"):
            preview_room(character, pictures, out / "preview_ground_keys.png", *THIRDS)
    except Exception as error:  # noqa: BLE001 - any failure ends the demo with its sentence; the log has the rest
        print(f"demo: {steps.current}: {str(error).strip()}", file=tell)
        return 1
    return 0


class _Steps:
    """Prints a line for each step with its seconds."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self.current = ""

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self.current, start = name, time.perf_counter()
        yield
        print(f"{time.perf_counter() - start:7.2f} s  {name}", file=self._output, flush=True)


def _own_output() -> TextIO:
    """A stream to this process's output, while Blender's own chatter, which it writes there too, is dropped."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.close(sink)
    return stream


def show(report: Path, output: TextIO) -> None:
    """Print a report's figures."""
    for name, value in json.loads(report.read_text()).items():
        if isinstance(value, float | int):
            print(f"{value:11.3f}  {name}", file=output, flush=True)


def install(extension: Path) -> None:
    """Install and enable the zip as from the preferences, in an empty file."""
    bpy.ops.extensions.package_install_files(
        filepath=str(extension), repo="user_default", enable_on_install=True, overwrite=True
    )
    if PACKAGE not in bpy.context.preferences.addons:
        raise RuntimeError("The extension was installed but could not be enabled.")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def draw(character: bpy.types.Object) -> bpy.types.Object:
    """The character's path, with its keyed settings, and the shot's length and rate."""
    scene = bpy.context.scene
    scene.render.fps = FPS
    scene.frame_start, scene.frame_end = 1, FRAMES
    data = bpy.data.curves.new("Path", "CURVE")
    data.dimensions = "3D"
    spline = data.splines.new("BEZIER")
    spline.bezier_points.add(len(CURVE) - 1)
    for point, (x, y) in zip(spline.bezier_points, CURVE, strict=True):
        point.co = (x, y, 0.0)
        point.handle_left_type = point.handle_right_type = "AUTO"
    curve = bpy.data.objects.new("Path", data)
    scene.collection.objects.link(curve)
    character.nsm.path = curve
    for frame, speed in SPEED:
        curve.nsm.speed = speed
        curve.keyframe_insert("nsm.speed", frame=frame)
    for frame, gait in GAIT:
        curve.nsm.gait = gait
        curve.keyframe_insert("nsm.gait", frame=frame)
    for frame, degrees in FACING:
        curve.nsm.facing = degrees * 3.14159265 / 180
        curve.keyframe_insert("nsm.facing", frame=frame)
    return curve


def restyle(character: bpy.types.Object) -> None:
    """The walking seconds of the bake in another style, as a new action."""
    settings = bpy.context.scene.nsm
    settings.use_custom_range, settings.frame_start, settings.frame_end = True, *WALK
    character.nsm.manifold.style.source.bundled = STYLE
    bpy.ops.nsm.apply_style()


def pin_to_rail(character: bpy.types.Object) -> bpy.types.Object:
    """A rail beside the way, and the walk with the right hand on it, as a new action; returns the rail."""
    rail = draw_rail()
    place = bpy.data.objects.new("Hand on Rail", None)
    bpy.context.scene.collection.objects.link(place)
    for frame, along in HAND:
        place.location = (RAIL[0][0], -along, RAIL_TOP + WRIST_ABOVE)
        place.keyframe_insert("location", frame=frame)
    for curve in importlib.import_module(f"{PACKAGE}.scene.actions").of(place):
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"
    for kind in ("PIN", "FEET"):  # a pin keeps the trajectory by itself
        bpy.ops.nsm.add_constraint(kind=kind)
    pin = character.nsm.manifold.edit.constraints[0]
    pin.joint, pin.target = "RightHand", place
    pin.use_range, pin.frame_start, pin.frame_end = True, HAND[0][0], HAND[-1][0]
    bpy.ops.nsm.edit_motion()
    return rail


def draw_rail() -> bpy.types.Object:
    """A long box on three posts."""
    (x, first), (_, last) = RAIL
    middle, half = (first + last) / 2, RAIL_SIZE / 2
    boxes = [((x, middle, RAIL_TOP - half), (half, abs(last - first) / 2, half))]
    height = (RAIL_TOP - RAIL_SIZE) / 2
    boxes += [((x, y, height), (0.6 * half, 0.6 * half, height)) for y in (first - 0.1, middle, last + 0.1)]
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    for center, size in boxes:
        start = len(vertices)
        for corner in range(8):
            signs = [1 if corner >> axis & 1 else -1 for axis in range(3)]
            vertices.append([c + sign * h for c, sign, h in zip(center, signs, size, strict=True)])
        sides = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
        faces += [[start + corner for corner in side] for side in sides]
    mesh = bpy.data.meshes.new("Rail")
    mesh.from_pydata(vertices, [], faces)
    material = bpy.data.materials.new("Rail")
    if material.node_tree is None:  # always there from 5.0 on
        material.use_nodes = True
    material.diffuse_color = material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = RED
    mesh.materials.append(material)
    rail = bpy.data.objects.new("Rail", mesh)
    bpy.context.scene.collection.objects.link(rail)
    return rail


def told(character: bpy.types.Object, step: str) -> dict[str, float]:
    """What the panel shows of the last edit, named after the step."""
    out = {}
    for figure in character.nsm.manifold.edit.figures:
        name = f"{figure.label} {figure.unit}".lower().replace("/", " per ").replace(" ", "_")
        out[f"{step}.{name}.before"], out[f"{step}.{name}.after"] = figure.before, figure.after
    return out


def save_style_report(character: bpy.types.Object, figures: dict[str, float], file: Path) -> None:
    """The report of the last action, the figures of both edits, and how far the wrist is from its place on the rail.

    That distance is measured on the posed armature, frame by frame.
    """
    bpy.ops.nsm.save_report(filepath=str(file))
    report = json.loads(file.read_text())
    report |= {"style": STYLE, "frames_on_rail": HAND[-1][0] - HAND[0][0] + 1, **figures}
    place, apart = bpy.data.objects["Hand on Rail"], []
    for frame in range(HAND[0][0], HAND[-1][0] + 1):
        bpy.context.scene.frame_set(frame)
        hand = character.matrix_world @ character.pose.bones["RightHand"].head
        apart.append(100 * (hand - place.matrix_world.translation).length)
    report |= {"hand_error_cm.mean": sum(apart) / len(apart), "hand_error_cm.max": max(apart)}
    file.write_text(json.dumps(report, indent=2) + "\n")


def crowd() -> list[bpy.types.Object]:
    """In a new file, a crowd on lanes side by side that take turns in their direction; returns its armatures."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.render.fps = FPS
    scene.frame_start, scene.frame_end = 1, CROWD_FRAMES
    bpy.ops.nsm.add_character()
    curves = [draw_lane(lane, place) for lane in range(LANES) for place in range(IN_LANE)]
    bpy.context.active_object.nsm.path = curves[0]
    for curve in curves:
        curve.select_set(True)
    bpy.ops.nsm.synthesize_crowd()
    return [obj for obj in scene.objects if obj.type == "ARMATURE"]


def draw_lane(lane: int, place: int) -> bpy.types.Object:
    """The curve of one character of the crowd, with its speed."""
    way = -1 if lane % 2 else 1
    speed = 1.15 + 0.07 * ((2 * lane + 3 * place) % 5)
    # halfway through the shot, all are near the middle
    begin = 2.7 * (place - (IN_LANE - 1) / 2) + 0.45 * lane - speed * CROWD_PICTURE / FPS
    data = bpy.data.curves.new(f"Lane {lane} {place}", "CURVE")
    data.dimensions = "3D"
    spline = data.splines.new("BEZIER")
    spline.bezier_points.add(5)
    for number, point in enumerate(spline.bezier_points):
        along = way * (begin + 1.6 * number)
        point.co = (1.15 * lane + 0.12 * (place - 1) + 0.5 * math.sin(0.5 * along), -along, 0.0)
        point.handle_left_type = point.handle_right_type = "AUTO"
    curve = bpy.data.objects.new(data.name, data)
    bpy.context.scene.collection.objects.link(curve)
    curve.nsm.speed = speed
    return curve


def can_act() -> bool:
    """Whether the extension has the weights for what is to be done in the room."""
    able = importlib.import_module(f"{PACKAGE}.nsm_blender").supported_actions()
    return {errand.action for errand in ACTS} <= set(able)


def furnish(errands: Sequence[Errand], frames: int, door_open: bool) -> bpy.types.Object:
    """In a new file, the demo room with a character before its door and what it is to do; returns the armature."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.render.fps = FPS
    scene.frame_start, scene.frame_end = 1, frames
    bpy.ops.nsm.add_demo_room(door_open=door_open)
    bpy.ops.nsm.add_character()
    character = bpy.context.active_object
    character.location.xy = ROOM_START
    character.rotation_euler.z = -math.pi / 2
    for errand in errands:
        name = errand.thing if errand.thing == OUTSIDE else f"At {errand.thing}"
        if errand.thing == OUTSIDE:
            bpy.ops.nsm.add_goal(name=name, attach=False, location=(*ROOM_START, 0.0), use_facing=False)
        else:
            bpy.ops.nsm.add_goal(name=name, collider=errand.thing)
        starting = {} if errand.start is None else {"frame": errand.start}
        bpy.ops.nsm.add_action_key(action=errand.action, goal=name, hold=errand.hold, **starting)
    bpy.ops.nsm.show_routes()
    return character


def over_ground() -> bpy.types.Object:
    """In a new file, the demo shot on ground; returns its character."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.nsm.add_demo_shot(place="GROUND")
    return bpy.context.active_object


def send_over_ground() -> None:
    """Goals on both platforms, and keys that walk there one after the other."""
    bpy.context.scene.frame_end = KEYS_FRAMES
    for name, place in GOALS_ON_GROUND:
        bpy.ops.nsm.add_goal(name=name, attach=False, location=place, use_facing=False)
        bpy.ops.nsm.add_action_key(action="walk", goal=name, hold=0.5)
    bpy.context.active_object.nsm.animate_by = "ACTIONS"
    bpy.ops.nsm.show_routes()


def sent_over_ground(character: bpy.types.Object) -> list[tuple[int, str, float | None]]:
    """On the way to both goals, and at the second."""
    first, second = (_Moments(key) for key in character.nsm.keys)
    return [
        (first.between(0.55), "up the stairs by a key", -20),
        (second.between(0.5), "round to the ramp", None),
        (second.arrived, "at its second goal", None),
    ]


def along_course(character: bpy.types.Object) -> list[tuple[int, str, float | None]]:
    """The frames at which the character comes to the places of COURSE."""
    scene, places = bpy.context.scene, {}
    for frame in range(1, scene.frame_end + 1):
        scene.frame_set(frame)
        hips = character.matrix_world @ character.pose.bones["Hips"].head
        places[frame] = (hips.x, hips.y)
    back = {True: [f for f, (_, y) in places.items() if y < -1.2], False: [f for f, (_, y) in places.items() if y > -1]}
    return [(min(back[way], key=lambda f: abs(places[f][0] - x)), text, near) for x, way, text, near in COURSE]


def acted(character: bpy.types.Object) -> list[tuple[int, str, float | None]]:
    """The story in pictures: frame, what it shows, and from where (see `Errand.near`; None for the whole room)."""
    opened, taken, put, sat, left = (_Moments(key) for key in character.nsm.keys)
    door, took, shelf, chair = (errand.near for errand in ACTS[:4])
    return [
        (1, "before the door", None),
        (opened.arrived - round(1.3 * FPS), "opens it", door),
        (opened.arrived, "comes in", None),
        (taken.arrived, "takes the box from the table", took),
        (put.between(0.4), "carries it", None),
        (put.arrived - round(1.3 * FPS), "puts it", shelf),
        (put.arrived, "on the shelf", shelf),
        (sat.between(0.4), "round the low beam", None),
        (sat.arrived - round(1.8 * FPS), "sits down", chair),
        (sat.done - FPS // 2, "rests between arm rests", chair),
        (left.set_off + round(0.6 * FPS), "stands up", chair),
        (left.arrived - FPS // 2, "leaves", None),
    ]


def walked(character: bpy.types.Object) -> list[tuple[int, str, float | None]]:
    """The same of errands without hands: at each goal and on the ways between them."""
    moments: list[tuple[int, str, float | None]] = [(1, "stand", None)]
    for key in character.nsm.keys:
        at = _Moments(key)
        moments += [(at.between(0.5), key.action, None), (at.done - FPS // 4, key.goal.name, None)]
    moments.insert(3, (_Moments(character.nsm.keys[1]).between(0.25), "walk", None))
    return moments


class _Moments:
    """Frames of a key of the last bake; what never came to pass is put at the end of the shot."""

    def __init__(self, key: bpy.types.PropertyGroup) -> None:
        last = bpy.context.scene.frame_end
        self.set_off, self.arrived, self.done = (
            frame if frame > 0 else last for frame in (key.set_off, key.arrived, key.done)
        )

    def between(self, share: float) -> int:
        """Frame on the way."""
        return round((1 - share) * self.set_off + share * self.arrived)


def preview_room(
    character: bpy.types.Object,
    moments: Sequence[tuple[int, str, float | None]],
    file: Path,
    columns: int,
    size: tuple[int, int],
) -> None:
    """The room with the character at these moments, and the routes."""
    module = importlib.import_module(f"{PACKAGE}.scene.preview")
    pictures = [module.Picture(frame, f"{(frame - 1) / FPS:.1f} s  {text}", near) for frame, text, near in moments]
    room = [obj for obj in bpy.data.objects if obj.nsm.collider.count]
    ways = [polyline(key.route) for key in character.nsm.keys] or [polyline(character.nsm.path)]
    module.room_sheet(character, pictures, ways, file, around=room, columns=columns, size=size)


def preview(character: bpy.types.Object, curve: bpy.types.Object, file: Path) -> None:
    """The contact sheet, with time, frame and gait below each picture."""
    pictures = []
    for number in range(PICTURES):
        frame = 1 + round(number * (FRAMES - 1) / (PICTURES - 1))
        gait = [name for first, name in GAIT if first <= frame][-1]
        sideways = " sideways" if gait == "walk" and frame > FACING[-1][0] else ""
        pictures.append((frame, f"{gait}{sideways}"))
    sheet(character, curve, pictures, file)


def preview_style(character: bpy.types.Object, curve: bpy.types.Object, rail: bpy.types.Object, file: Path) -> None:
    """The contact sheet of the restyled walk with the rail: most of it while the hand is on the rail."""
    first, last = HAND[0][0], HAND[-1][0]
    frames = [first - 8, *(round(first + (last - first) * part / 4) for part in range(5)), last + 15, last + 50]
    pictures = [(frame, f"{'on the rail' if first <= frame <= last else STYLE}") for frame in frames]
    sheet(character, curve, pictures, file, size=280, around=[rail])


def sheet(
    character: bpy.types.Object, curve: bpy.types.Object, pictures: list[tuple[int, str]], file: Path, **others: object
) -> None:
    """A contact sheet of pictures (frame, what it shows), four in a row."""
    module = importlib.import_module(f"{PACKAGE}.scene.preview")
    labeled = [module.Picture(frame, f"{(frame - 1) / FPS:.1f} s  frame {frame}  {label}") for frame, label in pictures]
    module.contact_sheet(character, labeled, polyline(curve), file, columns=4, **others)


def preview_crowd(characters: list[bpy.types.Object], file: Path) -> None:
    """The whole crowd at one frame, with its curves."""
    module = importlib.import_module(f"{PACKAGE}.scene.preview")
    lines = [polyline(armature.nsm.path) for armature in characters]
    label = f"{(CROWD_PICTURE - 1) / FPS:.1f} s  frame {CROWD_PICTURE}  {len(characters)} characters"
    module.group_picture(characters, module.Picture(CROWD_PICTURE, label), lines, file, size=(1120, 630))


def polyline(curve: bpy.types.Object) -> Sequence[Sequence[float]]:
    """Places along a curve, meters."""
    return importlib.import_module(f"{PACKAGE}.scene.curves").polyline(bpy.context, curve).points


if __name__ == "__main__":
    code = 1
    try:
        code = main()
    except Exception:  # noqa: BLE001 - printed, and the exit code says so
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # bpy 4.2 crashes at interpreter exit after it rendered.
        os._exit(code)
