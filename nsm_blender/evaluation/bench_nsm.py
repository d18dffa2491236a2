# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast the NSM is: the network alone, and a step of the rollout with both sensors, in a furnished room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..geometry.colliders import Surroundings
from ..geometry.rooms import random_room
from ..geometry.scene_state import Scenery
from ..models.nsm import ENVIRONMENT, FRAME, GOAL, INTERACTION
from ..paths import weights_folder
from ..rollout.nsm import SceneCharacter
from ..rollout.nsm_network import load, standing_of
from ..tasks.sit import seat_aim
from . import bench_manifold, bench_steps
from .bench import ONE_THREAD, median_seconds

ROOM = 0
"""Seed of the room."""
_STILL_FOR = 60
"""Frames of different inputs that are predicted in turn; the rollout begins again after five times as many."""
_FELT = 0.15
"""Share of the environment's spheres that touch something."""


def measure_apart(weights: Path) -> dict[str, Any]:
    """`measure` in another process, on one thread; and the longest pieces of all kinds of work in one more, where the
    manifold's weights are there too."""
    command = [sys.executable, "-m", __name__, str(weights)]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    lacking = bench_manifold.missing(weights_folder())
    return result if lacking else result | bench_steps.measure_apart()


def measure(weights: Path) -> dict[str, Any]:
    """bench.nsm.frame_ms and bench.nsm.step_ms, of median frames. Raises WeightsError."""
    return {"bench.nsm.frame_ms": 1e3 * frame_seconds(weights), "bench.nsm.step_ms": 1e3 * step_seconds(weights)}


def frame_seconds(weights: Path) -> float:
    """One prediction after the other, all inputs new in each."""
    network, rng = load(weights), np.random.default_rng(0)
    frames = rng.standard_normal((_STILL_FOR, FRAME.size)).astype(np.float32)
    around = np.maximum(rng.standard_normal((_STILL_FOR, ENVIRONMENT.size)), 0).astype(np.float32)
    around[rng.random(around.shape) > _FELT] = 0
    volumes = np.maximum(rng.standard_normal((_STILL_FOR, INTERACTION.size)), 0).astype(np.float32)
    goal = rng.standard_normal(GOAL.size).astype(np.float32)
    numbers = iter(range(1 << 60))

    def frame() -> None:
        n = next(numbers) % _STILL_FOR
        network.predict(frames[n], goal, volumes[n], around[n], 0.1 * n)

    return median_seconds(frame)


def step_seconds(weights: Path) -> float:
    """One step after the other on the way to a seat in a room, again from the start after some seconds."""
    network, room = load(weights), random_room(ROOM)
    seat = next(collider for collider in room.colliders if collider.role == "seat")
    scenery, aim = Scenery(Surroundings(room.colliders)), seat_aim(seat, np.asarray(seat.poses, dtype=float)[0])
    start = np.array([*room.free[0], 0.0, 0.0])
    first = SceneCharacter(network, standing_of(network), start, scenery, aim)
    state = {"character": first.fork()}

    def step() -> None:
        if state["character"].frame >= 5 * _STILL_FOR:
            state["character"] = first.fork()
        state["character"].step()

    return median_seconds(step)


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
