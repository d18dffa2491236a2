# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast a motion is taken to a rig and back.

Run as a module with a weights file, it prints its result as JSON: `measure_apart` does so in a process of its own, on
one thread.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from ..baking.bake import Bake
from ..models.pfnn import FPS
from ..motion.motion import Motion
from ..motion.skeleton import MODEL_SKELETON
from ..rigging.joints import BoneInfo, RigInfo
from ..rigging.mapping import Mapping, Match
from ..rigging.retarget import Retargeter
from ..shot.shot import PathFollow, Shot
from .bench import ONE_THREAD

FRAMES = 600
"""Frames of the motion that is retargeted."""
_RADIUS, _SPEED = 3.0, 1.4
"""Meters of the circle that is walked, and m/s on it."""
_TALLER = 1.12
"""Size of the rig over the model's, so that no joint is where it was."""
_TIP = 0.1
"""Meters of a bone that has no other after it."""
_REPETITIONS = 3
"""Timings of which the median counts."""

Figures = dict[str, float]


def measure_apart(weights: Path) -> Figures:
    """`measure` in another process, on one thread."""
    command = [sys.executable, "-m", __name__, str(weights)]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
    result: Figures = json.loads(done.stdout)
    return result


def measure(weights: Path) -> Figures:
    """Milliseconds of FRAMES of walking to the rig, and from it. Raises WeightsError."""
    motion, rig = walk(weights), other_rig()
    retargeter = Retargeter(rig, mapping_of(rig))
    there = retargeter.to_rig(motion)
    return {
        "bench.rig.to_ms": _milliseconds(lambda: retargeter.to_rig(motion)),
        "bench.rig.from_ms": _milliseconds(lambda: retargeter.from_rig(there.hips, there.rotations, there.fps)),
    }


def walk(weights: Path) -> Motion:
    """FRAMES of walking round a circle at 60 fps. Raises WeightsError."""
    angles = np.linspace(0, 2 * math.pi, 65)
    points = [[_RADIUS * math.cos(a), _RADIUS * math.sin(a), 0.0] for a in angles.tolist()]
    follow = PathFollow(points, [_SPEED] * FRAMES, ["walk"] * FRAMES, [0.0] * FRAMES, closed=True)
    return Bake(Shot("Walk", FPS, FRAMES, path=follow), weights).motion()


def other_rig() -> RigInfo:
    """A rig of the model's bones, larger, under other names, and with every bone rolled by another angle."""
    rng = np.random.default_rng(0)
    names, parents = MODEL_SKELETON.names, MODEL_SKELETON.parents
    places = _TALLER * MODEL_SKELETON.rest_positions()
    bones = []
    for number, parent in enumerate(parents):
        after = [child for child, above in enumerate(parents) if above == number]
        tail = places[after[0]] if after else places[number] + [0.0, 0.0, _TIP]
        above = _bone(names[parent]) if parent >= 0 else None
        bones.append(BoneInfo(_bone(names[number]), above, places[number], tail, rng.normal(size=3)))
    return RigInfo("Other", tuple(bones), np.eye(4))


def mapping_of(rig: RigInfo) -> Mapping:
    """Which bone of `other_rig` is which joint."""
    return Mapping(
        {joint: Match(bone, 1.0, "Made for it.") for joint, bone in zip(MODEL_SKELETON.names, rig.names, strict=True)}
    )


def _bone(joint: str) -> str:
    return f"b_{joint.lower()}"


def _milliseconds(call: Callable[[], Any]) -> float:
    """Of the processor, the least of several: what else the machine does only adds to them."""
    times = []
    for _ in range(_REPETITIONS):
        started = process_time()
        call()
        times.append(process_time() - started)
    return 1e3 * min(times)


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
