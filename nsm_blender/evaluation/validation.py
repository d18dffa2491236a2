# SPDX-License-Identifier: GPL-3.0-or-later
"""A short closed-loop run for training: the loss alone does not say whether a rollout walks.

Its paths and commands are not those of the evaluation, so that choosing weights by it tunes to nothing
that is reported.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..baking.bake import Bake
from ..geometry.ground import Ground, GroundMesh
from ..models.pfnn import FPS, INPUT
from ..models.pfnn_kernels import PFNN
from ..motion.root import direction
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from ..naturalness.metrics import foot_slide, settled_speed
from ..shot.shot import PathFollow, Shot, VelocityFollow


def _path(points: list[list[float]], speed: float, gait: str, offset: float) -> Shot:
    frames = int(8 * FPS)
    follow = PathFollow(points, [speed] * frames, [gait] * frames, [offset] * frames)
    return Shot("validation", FPS, frames, path=follow)


def _start(turn: float, speed: float, gait: str) -> Shot:
    frames, idle = int(4 * FPS), int(0.8 * FPS)
    way = (direction(np.array(turn)) * speed).tolist()
    follow = VelocityFollow(
        [[0.0, 0.0]] * idle + [way] * (frames - idle),
        [0.0] * idle + [turn] * (frames - idle),
        ["stand"] * idle + [gait] * (frames - idle),
    )
    return Shot("validation", FPS, frames, velocity=follow)


def _over_ground(weights: Path) -> float:
    """Mean distance in cm of toes in contact from the ground, before they are planted on it, over steps and a ramp."""
    corners = np.array([[x, y, z] for x, z in _PROFILE for y in (-2.0, 2.0)])
    first = 2 * np.arange(len(_PROFILE) - 1)[:, None]
    triangles = (first[:, None] + np.array([[0, 2, 1], [1, 2, 3]])).reshape(-1, 3)
    mesh = GroundMesh("ground", corners.tolist(), triangles.tolist())
    errors = []
    for speed, gait in ((1.1, "walk"), (2.2, "jog")):
        shot = replace(_path([[0.0, 0.0, 0.0], [20.0, 0.0, 0.0]], speed, gait, 0.0), ground=[mesh])
        bake = Bake(shot, weights)
        bake.motion()
        motion, ground = bake.unlocked(), Ground.of([mesh.mesh()])
        for side in ("Left", "Right"):
            place = motion.positions[:, MODEL_SKELETON.index(side + "Toe")].astype(np.float64)
            down = motion.contacts[:, CONTACT_JOINTS.index(side + "Toe")] > 0.5
            errors.append(np.abs(place[:, 2] - TOE_HEIGHT - ground.height(place[:, :2]))[down])
    return 100 * float(np.concatenate(errors).mean())


_PROFILE = (
    (2.0, 0.0),
    (2.02, 0.12),
    (2.6, 0.12),
    (2.62, 0.24),
    (3.2, 0.24),
    (3.22, 0.12),
    (4.0, 0.12),
    (6.0, 0.6),
    (9.0, 0.0),
)
"""x and height in meters of ground to validate on, nothing that is reported on: steps, and ramps up and down."""


def closed_loop(weights: Path) -> dict[str, float]:
    """Path error (cm), start-up time (s), foot slide before locking (cm/s) and their sum as "score".

    Of weights that feel the ground the distance of toes from it is in the sum, too.
    """
    x = np.linspace(0, 40, 2000)
    bend = np.stack((x, 0.7 * np.sin(2 * np.pi * x / 5), 0 * x), axis=1).tolist()
    errors, raw = [], []
    for shot in (
        _path(bend, 1.2, "walk", 0.0),
        _path(bend, 2.6, "jog", 0.0),
        _path(bend, 0.9, "walk", 0.5 * math.pi),
        _path(bend, 0.9, "walk", math.pi),
        _path(bend, 0.8, "crouch", 0.0),
    ):
        bake = Bake(shot, weights)
        motion = bake.motion()
        assert bake.path is not None
        errors.append(100 * float(bake.path.distance(motion.root[:, :2].astype(np.float64)).mean()))
        raw.append(foot_slide(bake.unlocked()))
    times = []
    for turn, speed, gait in ((0.5, 1.3, "walk"), (-2.2, 1.3, "walk"), (0.5, 2.8, "jog"), (-2.2, 2.8, "jog")):
        speeds = settled_speed(Bake(_start(turn, speed, gait), weights).motion().root, FPS)
        reached = np.flatnonzero(speeds > 0.9 * speed)
        times.append(reached[0] / FPS - 0.8 if len(reached) else 4.0)
    figures = {"path_cm": float(np.mean(errors)), "start_s": float(np.mean(times)), "raw_slide": float(np.mean(raw))}
    figures["score"] = figures["path_cm"] + 10 * figures["start_s"] + 0.3 * figures["raw_slide"]
    if PFNN.load(weights).uses(INPUT.terrain_height):
        figures["ground_cm"] = _over_ground(weights)
        figures["score"] += figures["ground_cm"]
    return figures


def of_tensors(save: Callable[[Path], None]) -> dict[str, float]:
    """`closed_loop` of weights that `save` writes to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pfnn.safetensors"
        save(path)
        return closed_loop(path)
