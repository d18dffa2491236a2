# SPDX-License-Identifier: GPL-3.0-or-later
"""What test rigs are asked to do: the shipped networks' own motion, with the arms, trunk and head kept busy."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..baking.bake import Bake
from ..manifold.strike import StrikeShot, StrikeSynthesis, Target
from ..models.pfnn import FPS
from ..motion.motion import Motion
from ..motion.rotations import Array, from_axis_angle, multiply, normalize
from ..motion.skeleton import MODEL_SKELETON
from ..shot.shot import PathFollow, Shot

FRAMES = 600
"""Frames of the motion `moves`: 10 s, whose keys are timed."""
STRIKE_FRAMES = 240
"""Frames of the motion of a strike."""
HANDS = ("LeftHand", "RightHand")

# Meters. Ahead, a turn back within a meter and a half, then a bend.
_WAY = ((0, 0), (0, -2.2), (0.7, -3.0), (1.5, -2.3), (1.7, -0.6), (2.4, 1.6), (4.0, 3.4), (6.5, 4.4), (12.0, 5.0))
# (first frame, meters per second, gait), each until the next
_COURSE = ((0, 0.0, "stand"), (30, 1.3, "walk"), (190, 0.8, "crouch"), (330, 1.2, "walk"), (400, 2.6, "jog"),
           (500, 0.9, "walk"), (540, 0.0, "stand"))  # fmt: skip
_SPEED_FRAMES = 20
"""Frames over which the speed goes from one value to the next."""
# (frame, radians left of the way): a quarter turn on the spot at the end
_FACING = ((0, 0.0), (545, 0.0), (580, 0.5 * math.pi))
_EASE = 0.5
"""Seconds in which gestures begin and end."""
_HELD = (120, 300)
"""Frames of `moves` in which the hands hold something in the motion `hold`."""
_GRASP = 60
"""Frames over which hands come to what they hold."""


def motions(weights: Path | None = None) -> dict[str, Motion]:
    """All motions by name, at FPS: "moves" (600 frames of standing, walking, turning, crouching and jogging with
    gestures), "strikes" (a punch and a kick), "hold" (a walk whose hands hold something from its second second on).

    weights: of the PFNN; None takes the shipped ones. Raises WeightsError.
    """
    walked = _walked(weights)
    return {"moves": _gesturing(walked), "strikes": _striking(), "hold": _holding(walked)}


def _walked(weights: Path | None) -> Motion:
    frames = np.arange(FRAMES)
    starts = [start for start, _, _ in _COURSE]
    which = np.searchsorted(starts, frames, side="right") - 1
    speeds = np.array([speed for _, speed, _ in _COURSE])[which]
    padded = np.pad(speeds, _SPEED_FRAMES // 2, mode="edge")
    speeds = np.convolve(padded, np.full(_SPEED_FRAMES + 1, 1 / (_SPEED_FRAMES + 1)), mode="valid")
    way = PathFollow(
        [[float(x), float(y), 0.0] for x, y in _rounded(np.array(_WAY, dtype=float))],
        speeds.tolist(),
        [_COURSE[i][2] for i in which.tolist()],
        np.interp(frames, [frame for frame, _ in _FACING], [angle for _, angle in _FACING]).tolist(),
    )
    return Bake(Shot("Moves", FPS, FRAMES, path=way), weights).motion()


def _rounded(corners: Array) -> Array:
    """A polyline (P, 2) with its corners cut, four times over."""
    for _ in range(4):
        first, second = 0.75 * corners[:-1] + 0.25 * corners[1:], 0.25 * corners[:-1] + 0.75 * corners[1:]
        cut = np.stack((first, second), axis=1).reshape(-1, 2)
        corners = np.concatenate((corners[:1], cut, corners[-1:]))
    return corners


def _gesturing(motion: Motion) -> Motion:
    """The motion with arms that are raised, crossed and bent, a trunk that leans and turns, and a head that looks."""
    t = np.arange(len(motion)) / motion.fps
    ends = np.minimum(t, t[-1] - t)
    on = np.clip(ends / _EASE, 0.0, 1.0)
    local = MODEL_SKELETON.local_rotations(motion.rotations.astype(np.float64))

    def turn(joint: str, axis: tuple[float, float, float], angle: Array) -> None:
        number = MODEL_SKELETON.index(joint)
        about = np.broadcast_to(normalize(np.array(axis)), (len(t), 3))
        local[:, number] = multiply(from_axis_angle(about, on * angle), local[:, number])

    def wave(seconds: float, begin: float = 0.0) -> Array:
        """From 0 to 1 and back."""
        out: Array = 0.5 - 0.5 * np.cos(2 * math.pi * (t / seconds - begin))
        return out

    for side, sign, begin in (("Left", 1.0, 0.0), ("Right", -1.0, 0.35)):
        # From hanging beside the body over the horizontal to above the head, and forward across the chest.
        turn(f"{side}Arm", (0.0, -sign, 0.0), 2.2 * wave(3.1, begin))
        turn(f"{side}Arm", (0.0, 0.0, -sign), 1.1 * wave(4.3, begin))
        turn(f"{side}ForeArm", (0.0, 0.0, -sign), 1.5 * wave(2.3, begin))
        turn(f"{side}Hand", (0.0, 1.0, 0.3), 0.6 * (wave(1.7, begin) - 0.5))
        turn(f"{side}Shoulder", (0.0, -sign, 0.2), 0.2 * wave(3.1, begin))
    turn("Spine1", (1.0, 0.0, 0.0), 0.35 * wave(3.7))
    turn("Spine2", (0.0, 0.3, 1.0), 0.7 * (wave(2.9, 0.25) - 0.5))
    turn("Neck", (0.2, 0.0, 1.0), 0.6 * (wave(2.1, 0.1) - 0.5))
    turn("Head", (1.0, 0.5, 1.0), 0.8 * (wave(1.9, 0.3) - 0.5))
    return _from_local(motion, local)


def _holding(motion: Motion) -> Motion:
    """A part of the motion with the hands before the belly, as if they carried a box that sways."""
    first, last = _HELD
    part = replace(motion, **{name: getattr(motion, name)[first:last] for name in _PER_FRAME})
    t = np.arange(len(part)) / part.fps
    world = part.rotations.astype(np.float64)
    local = MODEL_SKELETON.local_rotations(world)
    sway = np.sin(2 * math.pi * t / 1.5)
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        down = from_axis_angle(np.array([0.0, sign, 0.0]), 1.15 + 0.1 * sway)
        ahead = from_axis_angle(np.array([0.0, 0.0, -sign]), np.full(len(t), 0.35))
        local[:, MODEL_SKELETON.index(f"{side}Arm")] = multiply(ahead, down)
        local[:, MODEL_SKELETON.index(f"{side}ForeArm")] = from_axis_angle(
            np.array([0.0, 0.0, -sign]), 1.5 + 0.15 * sway
        )
    grasp = np.clip((np.arange(len(part)) - 0.5 * _GRASP) / (0.5 * _GRASP), 0.0, 1.0).astype(np.float32)
    contacts = np.concatenate((part.contacts, np.repeat(grasp[:, None], len(HANDS), axis=1)), axis=1)
    return replace(_from_local(part, local), contacts=contacts, contact_names=(*part.contact_names, *HANDS))


_PER_FRAME = ("positions", "rotations", "root", "contacts", "phase", "actions")


def _striking() -> Motion:
    """A punch with the right hand and a kick with the left foot."""
    targets = [
        Target("RightHand", (-0.15, -0.75, 1.35), 1.2),
        Target("LeftToe", (0.1, -0.8, 0.75), 2.8),
    ]
    shot = StrikeShot("Strikes", FPS, STRIKE_FRAMES, targets, start=(0.0, 0.0, 0.0), facing=0.0)
    return StrikeSynthesis(shot).motion()


def _from_local(motion: Motion, local: Array) -> Motion:
    """The motion with other rotations (T, J, 4), local to the parents; the hips' place stays."""
    positions, rotations = MODEL_SKELETON.forward(motion.positions[:, 0].astype(np.float64), local)
    return replace(motion, positions=positions.astype(np.float32), rotations=rotations.astype(np.float32))
