# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast meshes become colliders, how fast the sensors feel them (NSM 4.3), and how fast ways round them are found.

Run as a module, it prints its result as JSON: `measure_apart` does so in a process of its own, for one thread, and so
that the largest memory is that of the voxels alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter, process_time

import numpy as np

from ..geometry.colliders import Collider, Cuboids, Surroundings
from ..geometry.cuboids import cuboids_of
from ..geometry.furniture import KINDS, make
from ..geometry.mesh import TriangleMesh
from ..geometry.rooms import WALL, WALL_HEIGHT, Furnishing
from ..geometry.sensors import Environment, Interaction
from ..motion.rotations import Array, from_yaw
from ..planning.path_search import find_route
from ..shot.goals import RouteOptions
from .bench import ONE_THREAD

OBJECTS, ROOM, FRAMES = 60, 10.0, 120
"""Things in the sensors' room, meters of its edges, and frames in which all of them move."""
HALL, CORNER = 20.0, 9.3
"""Meters of a hall's edges, and how far from its middle along X and Y its corners' free places are."""
_REACH = 2.6
"""Meters around the root that hold both sensors."""
_REPETITIONS = 5
"""Timings of which the median counts."""

Figures = dict[str, float]


def measure_apart() -> Figures:
    """All figures by name, each part measured in another process, on one thread."""
    out: Figures = {}
    for part in _PARTS:
        command = [sys.executable, "-m", __name__, part]
        done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
        out |= json.loads(done.stdout)
    return out


def voxels_of_a_piece() -> Figures:
    """Seconds from 100 k triangles to cuboids of 4 cm."""
    mesh = blob(224, 224)
    return {"bench.voxels.100k_s": _seconds(lambda: cuboids_of(mesh))}


def voxels_of_a_scan() -> Figures:
    """Seconds from a scan of 1 M triangles to cuboids of 4 cm, and the largest MB of the whole process meanwhile."""
    mesh = scan(708, 708)
    out = {"bench.voxels.1m_s": _seconds(lambda: cuboids_of(mesh), 2)}
    memory = _peak_memory()
    return out if memory is None else out | {"bench.voxels.1m_mb": memory / 1e6}


def sensors() -> Figures:
    """Milliseconds a frame for placing a room's near colliders and reading both sensors: the median over frames.

    The interaction sensor feels all that is near, not only its goal's thing. Also the room's cuboids.
    """
    surroundings, environment, interaction = room(), Environment(), Interaction()
    rng = np.random.default_rng(1)
    roots = np.column_stack((rng.uniform(-3, 3, (FRAMES, 2)), np.zeros(FRAMES), rng.uniform(-3, 3, FRAMES)))
    goals = roots + np.array([0.6, 0.4, 0.5, 0.3])
    best = np.full(FRAMES, np.inf)
    for _ in range(_REPETITIONS):
        for frame in range(FRAMES):
            started = perf_counter()
            placed = surroundings.near(frame, roots[frame, :3], _REACH)
            environment.values(placed, roots[frame])
            interaction.values(placed, goals[frame], roots[frame])
            best[frame] = min(best[frame], perf_counter() - started)
    return {"bench.sensors.frame_ms": 1e3 * float(np.median(best)), "bench.sensors.cuboids": len(surroundings.at(0))}


def route() -> Figures:
    """Seconds for a way from one corner of the hall to the other."""
    things, corner = hall(), np.full(2, CORNER)
    return {"bench.route.hall_s": _seconds(lambda: find_route(things, -corner, corner, RouteOptions()))}


def blob(rows: int, columns: int) -> TriangleMesh:
    """A closed, bumpy thing of some 1.2 m: 2 x rows x columns triangles."""
    polar, around = _angles(rows, columns, np.pi)
    radius = 0.6 + 0.05 * np.sin(7 * around) * np.sin(9 * polar)
    return _surface(radius[..., None] * _directions(polar, around))


def scan(rows: int, columns: int) -> TriangleMesh:
    """A room of 6 x 5 x 2.5 m seen from inside, one-sided, with noise of 5 mm and one face in fifty missing."""
    polar, around = _angles(rows, columns, 0.9 * np.pi)
    rng = np.random.default_rng(0)
    directions = _directions(np.pi - polar, around)
    cube = directions / np.maximum(np.abs(directions).max(-1, keepdims=True), 1e-9)
    bumps = 1 - 0.15 * (np.sin(6 * around) * np.sin(5 * polar))[..., None] ** 2
    mesh = _surface(cube * bumps * [3.0, 2.5, 1.25] + rng.normal(0, 0.005, cube.shape))
    return TriangleMesh(mesh.vertices, mesh.triangles[rng.random(len(mesh.triangles)) > 0.02])


def room() -> Surroundings:
    """Furniture standing about at random, every piece turning and drifting, two of them fallen over."""
    rng = np.random.default_rng(0)
    colliders = []
    for number in range(OBJECTS):
        piece = make(KINDS[number % len(KINDS)], number)
        poses = np.zeros((FRAMES, 7))
        poses[:, :2] = rng.uniform(-ROOM / 2, ROOM / 2, 2) + np.linspace(0, 1, FRAMES)[:, None] * rng.uniform(-1, 1, 2)
        poses[:, 3:] = from_yaw(rng.uniform(-np.pi, np.pi) + np.linspace(0, 1, FRAMES))
        if number % 30 == 0:
            poses[:, 3:] = rng.normal(size=4)
        colliders.append(Collider(f"{piece.kind} {number}", piece.boxes, poses, piece.role, piece.handles))
    return Surroundings(colliders)


def hall() -> Surroundings:
    """A walled hall in which as many pieces as in the sensors' room stand about at random, but for the corners."""
    rng = np.random.default_rng(0)
    out, low = HALL / 2 + WALL / 2, WALL_HEIGHT / 2
    center = np.array([[out, 0.0, low], [-out, 0.0, low], [0.0, out, low], [0.0, -out, low]])
    half = np.where(np.abs(center) < out, HALL / 2 + WALL, WALL / 2)
    half[:, 2] = low
    colliders = [Collider("Walls", Cuboids(center, half))]
    for number in range(OBJECTS):
        piece = make(KINDS[number % len(KINDS)], number)
        place = np.append(rng.uniform(2 - HALL / 2, HALL / 2 - 2, 2), 0.0)
        colliders.append(Furnishing(f"{piece.kind} {number}", piece, place, rng.uniform(-np.pi, np.pi)).collider())
    return Surroundings(colliders)


def _angles(rows: int, columns: int, reach: float) -> tuple[Array, Array]:
    polar, around = np.linspace(0, reach, rows + 1), np.arange(columns) * (2 * np.pi / columns)
    grid = np.meshgrid(polar, around, indexing="ij")
    return grid[0], grid[1]


def _directions(polar: Array, around: Array) -> Array:
    return np.stack((np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)), -1)


def _surface(points: Array) -> TriangleMesh:
    """Points (R, C, 3), closed around the columns, joined by triangles."""
    rows, columns = points.shape[:2]
    r, c = np.meshgrid(np.arange(rows - 1), np.arange(columns), indexing="ij")
    on = (c + 1) % columns
    corners = np.stack((r * columns + c, (r + 1) * columns + c, (r + 1) * columns + on, r * columns + on), -1)
    corners = corners.reshape(-1, 4)
    return TriangleMesh(points.reshape(-1, 3), np.concatenate((corners[:, [0, 1, 2]], corners[:, [0, 2, 3]])))


def _seconds(call: Callable[[], object], repetitions: int = _REPETITIONS) -> float:
    """Seconds of the processor, the least of several: what else the machine does only adds to them."""
    times = []
    for _ in range(repetitions):
        started = process_time()
        call()
        times.append(process_time() - started)
    return min(times)


def _peak_memory() -> float | None:
    """Bytes of the process's largest memory so far, or None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(largest if sys.platform == "darwin" else 1024 * largest)


_PARTS = {"piece": voxels_of_a_piece, "scan": voxels_of_a_scan, "sensors": sensors, "route": route}


if __name__ == "__main__":
    print(json.dumps(_PARTS[sys.argv[1]]()))
