# SPDX-License-Identifier: GPL-3.0-or-later
"""A valid file of each kind that comes from outside, made here, and what reads it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...baking.bake import Bake
from ...geometry.colliders import Collider, Cuboids
from ...geometry.obj_file import read_obj, write_obj
from ...geometry.roles import Door, Seat
from ...geometry.shapes import block
from ...manifold import constraints
from ...manifold.style import Style, load_styles
from ...models.manifold import UNITS
from ...models.weights import read_tensors
from ...motion.clip import Clip
from ...motion.clip_file import CLIPS_FOLDER, INDEX_NAME, load_clip, load_library, update_library
from ...motion.label_file import Labeled, load_labels, save_labels
from ...motion.labels import label
from ...motion.load import load_motion
from ...motion.motion import Motion
from ...motion.rotations import Array
from ...motion.skeleton import MODEL_SKELETON
from ...paths import weights_folder
from ...rigging.mapping import Mapping
from ...shot.goals import ActionKey, Goal
from ...shot.shot import PathFollow, Shot, VelocityFollow

FRAMES = 120
"""Frames of the motions and shots, at 60 fps."""


@dataclass(frozen=True)
class Sample:
    """A valid file and its reader. form: see `mutations.mutated`. read: reads the file, or raises."""

    path: Path
    form: str
    read: Callable[[Path], Any]


def samples(folder: Path) -> dict[str, Sample]:
    """Valid files in a folder, by kind; each has a folder of its own, with what it needs beside it."""
    motion = Bake(path_shot()).motion()
    local = MODEL_SKELETON.local_rotations(motion.rotations)
    clip = Clip(MODEL_SKELETON, motion.positions[:, 0], local, motion.fps, {"name": "walk", "tags": ["walk"]})
    kinds = ("path", "keys", "velocity", "motion", "library", "labels", "constraints", "mapping", "style", "bvh", "amc",
             "asf", "obj", "weights", "card")  # fmt: skip
    place = {kind: folder / kind for kind in kinds}
    for made in place.values():
        made.mkdir(parents=True, exist_ok=True)
    for kind, shot in (("path", path_shot()), ("keys", key_shot()), ("velocity", velocity_shot())):
        shot.save(place[kind] / "shot.json")
    motion.save(place["motion"] / "motion.npz")
    update_library(place["library"], [clip])
    labels = place["labels"] / "walk.labels.json"
    save_labels(label(clip), Labeled.of(clip), labels)
    _text(place["constraints"] / "edit.json", constraints.to_json([kind() for kind in constraints.KINDS.values()]))
    joints = {name: f"bone {name}" for name in MODEL_SKELETON.names}
    _text(place["mapping"] / "rig.json", json.dumps({"version": 1, "joints": joints}))
    Style("still", np.eye(UNITS, dtype=np.float32), "made up", "CC0").save(place["style"] / "still.npz")
    _text(place["bvh"] / "walk.bvh", bvh_text(clip.root))
    _text(place["amc"] / "walk.asf", asf_text())
    _text(place["amc"] / "walk.amc", amc_text(clip.root))
    shutil.copytree(place["amc"], place["asf"], dirs_exist_ok=True)
    write_obj(block((0, 0, 0), (1, 1, 1)).mesh, place["obj"] / "box.obj")
    for name in ("styles.safetensors", "styles.json"):
        shutil.copy(weights_folder() / name, place["card"] / name)
    shutil.copy(weights_folder() / "footsteps.safetensors", place["weights"] / "footsteps.safetensors")
    clips = place["library"] / CLIPS_FOLDER
    return {
        "shot of a path": Sample(place["path"] / "shot.json", "json", Shot.load),
        "shot of keys": Sample(place["keys"] / "shot.json", "json", Shot.load),
        "shot of velocities": Sample(place["velocity"] / "shot.json", "json", Shot.load),
        "motion": Sample(place["motion"] / "motion.npz", "npz", Motion.load),
        "clip": Sample(clips / "walk.npz", "npz", load_clip),
        "index": Sample(place["library"] / INDEX_NAME, "json", lambda path: load_library(path.parent)),
        "labels": Sample(labels, "json", lambda path: load_labels(path, clip)),
        "constraints": Sample(place["constraints"] / "edit.json", "json", _constraints),
        "mapping": Sample(place["mapping"] / "rig.json", "json", Mapping.load),
        "style": Sample(place["style"] / "still.npz", "npz", Style.load),
        "bvh": Sample(place["bvh"] / "walk.bvh", "text", load_motion),
        "amc": Sample(place["amc"] / "walk.amc", "text", load_motion),
        "asf": Sample(place["asf"] / "walk.asf", "text", lambda path: load_motion(path.with_suffix(".amc"))),
        "obj": Sample(place["obj"] / "box.obj", "text", read_obj),
        "weights": Sample(place["weights"] / "footsteps.safetensors", "safetensors", read_tensors),
        "card": Sample(
            place["card"] / "styles.json", "json", lambda path: load_styles(path.with_suffix(".safetensors"))
        ),
    }


def path_shot(frames: int = FRAMES) -> Shot:
    """A walk along a bent line."""
    points = [[0.0, 0.0, 0.0], [0.0, -2.0, 0.0], [2.0, -3.0, 0.0]]
    follow = PathFollow(points, [1.2] * frames, ["walk"] * frames, [0.0] * frames, [1.0, 0.8, 1.0])
    return Shot("walker", 60.0, frames, path=follow, start=[0.0, 0.0, 0.0, 0.0])


def velocity_shot(frames: int = FRAMES) -> Shot:
    """A walk as from a game pad."""
    follow = VelocityFollow([[0.0, -1.2]] * frames, [0.0] * frames, ["walk"] * frames)
    return Shot("walker", 60.0, frames, velocity=follow)


def key_shot(frames: int = FRAMES) -> Shot:
    """A walk to a place and to a chair, beside a door that moves."""
    seat = Seat([0.0, 0.0, 0.45], [0.0, -1.0, 0.0], 0.5, 0.5, [[0.3, 0.0, 0.65]], ["front", "left"])
    chair = Collider("chair", Cuboids(np.array([[0.0, 0.0, 0.22]]), np.array([[0.25, 0.25, 0.22]])), role="seat",
                     handles=seat)  # fmt: skip
    opened = np.tile([3.0, 3.0, 0.0, 1.0, 0.0, 0.0, 0.0], (frames, 1))
    opened[:, 6] = np.linspace(0, 0.5, frames)
    leaf = Door([0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.8, 0.0, 1.0], 0.9, 2.0, 1.4)
    door = Collider("door", Cuboids(np.array([[0.45, 0.0, 1.0]]), np.array([[0.45, 0.02, 1.0]])), opened, "door", leaf)
    goals = [Goal("there", [1.0, -2.0, 0.0], 0.5), Goal("chair", [0.0, 0.0, 0.0], collider="chair", by_place=True)]
    keys = [ActionKey("walk", "there", start=5, hold=0.2, speed=1.2), ActionKey("idle", hold=0.5)]
    return Shot("walker", 60.0, frames, keys=keys, goals=goals, colliders=[chair, door], start=[2.0, 0.0, 0.0, 0.0])


def _constraints(path: Path) -> None:
    constraints.from_json(path.read_text(encoding="utf-8", errors="replace"), str(path))


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def bvh_text(root: Array) -> str:
    """A figure in the T-pose, gliding along `root` (T, 3) in meters, as a BVH file in cm with Y up."""
    lines: list[str] = ["HIERARCHY"]

    def emit(joint: int, level: int) -> None:
        pad = "\t" * level
        x, y, z = MODEL_SKELETON.offsets[joint] * 100
        lines.append(f"{pad}{'JOINT' if level else 'ROOT'} {MODEL_SKELETON.names[joint]}")
        lines.extend((f"{pad}{{", f"{pad}\tOFFSET {x:.4f} {z:.4f} {-y:.4f}"))
        moves = "3" if level else "6 Xposition Yposition Zposition"
        lines.append(f"{pad}\tCHANNELS {moves} Zrotation Xrotation Yrotation")
        children = [child for child, parent in enumerate(MODEL_SKELETON.parents) if parent == joint]
        for child in children:
            emit(child, level + 1)
        if not children:
            lines.extend((f"{pad}\tEnd Site", f"{pad}\t{{", f"{pad}\t\tOFFSET 0 0 5", f"{pad}\t}}"))
        lines.append(f"{pad}}}")

    emit(0, 0)
    turns = " ".join(["0.0"] * (3 * len(MODEL_SKELETON.names)))
    lines += ["MOTION", f"Frames: {len(root)}", "Frame Time: 0.0166667"]
    lines += [f"{x * 100:.3f} {z * 100:.3f} {-y * 100:.3f} {turns}" for x, y, z in root]
    return "\n".join(lines) + "\n"


def asf_text() -> str:
    """The model skeleton as an ASF file in inches of 0.0254 m, each bone to its first child."""
    names, parents = MODEL_SKELETON.names, MODEL_SKELETON.parents
    lines = [":version 1.10", ":name figure", ":units", "  length 1.0", "  angle deg", ":root",
             "  order TX TY TZ RX RY RZ", "  axis XYZ", "  position 0 0 0", "  orientation 0 0 0",
             ":bonedata"]  # fmt: skip
    for number, (name, offset) in enumerate(zip(names[1:], MODEL_SKELETON.offsets[1:], strict=True), 1):
        x, y, z = offset / 0.0254
        length = float(np.linalg.norm((x, y, z))) or 1.0
        lines += ["  begin", f"     id {number}", f"     name {_bone(name)}"]
        lines += [f"     direction {x / length:.6f} {z / length:.6f} {-y / length:.6f}", f"     length {length:.6f}"]
        lines += ["     axis 0 0 0 XYZ", "     dof rx ry rz", "  end"]
    lines += [":hierarchy", "  begin"]
    for joint, name in enumerate(names):
        children = [_bone(names[c]) for c, parent in enumerate(parents) if parent == joint]
        if children:
            lines.append(f"    {_bone(name) if joint else 'root'} {' '.join(children)}")
    return "\n".join([*lines, "  end"]) + "\n"


def amc_text(root: Array) -> str:
    """The motion of `bvh_text` as an AMC file for `asf_text`."""
    lines = [":FULLY-SPECIFIED", ":DEGREES"]
    for number, (x, y, z) in enumerate(root / 0.0254, 1):
        lines += [str(number), f"root {x:.4f} {z:.4f} {-y:.4f} 0 0 0"]
        lines += [f"{_bone(name)} 0 0 0" for name in MODEL_SKELETON.names[1:]]
    return "\n".join(lines) + "\n"


def _bone(name: str) -> str:
    """CMU's name of the bone that ends at a joint."""
    side, part = (name[0].lower(), name[4:] if name.startswith("Left") else name[5:])
    if name.startswith(("Left", "Right")):
        return side + _SIDED[part]
    return _MIDDLE[name]


_SIDED = {"UpLeg": "hipjoint", "Leg": "femur", "Foot": "tibia", "Toe": "foot", "Shoulder": "clavicle_",
          "Arm": "clavicle", "ForeArm": "humerus", "Hand": "radius"}  # fmt: skip
_MIDDLE = {"Spine": "lowerback_", "Spine1": "lowerback", "Spine2": "upperback", "Neck": "thorax", "Head": "lowerneck"}
