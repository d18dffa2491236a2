# SPDX-License-Identifier: GPL-3.0-or-later
"""The PFNN on made-up ground: stairs, ramps, noise, gaps, boxes and drops, walked and run (table "ground").

Every case is a shot like an animator's, with meshes to walk on and a straight path over them, baked with planted feet.
The weights are used as they are: those that were trained on level ground alone feel nothing of it, and leave leaps to
those beside them that can jump.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..baking.bake import Bake
from ..geometry.ground import Ground, GroundMesh
from ..geometry.mesh import TriangleMesh
from ..geometry.shapes import block
from ..models.pfnn import FPS
from ..motion.motion import Motion
from ..motion.rotations import Array
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from ..naturalness.metrics import acceleration
from ..planning.path_on_ground import BlockedPathError
from ..shot.shot import PathFollow, Shot

WALK_SPEED, RUN_SPEED = 1.1, 2.4
"""Speeds in m/s that are asked for over ground; people climb stairs at about two thirds of their level speed."""
FLIGHTS = 40
"""Flights of stairs, each walked and run, up one side and down the other."""
RAMPS, NOISES, JUMPS = 8, 6, 12
"""Ramps and fields of noise, each walked and run, and jumps of each kind."""
STEEPEST = math.radians(20)
"""Steepest of the ramps."""
ROUGH = 0.3
"""Meters from the lowest to the highest place of a field of noise."""
APPROACH, BEYOND = 2.0, 2.0
"""Meters of level ground before and after what is crossed."""
LANDING = 1.5
"""Meters of level ground on top of stairs and ramps."""
ARRIVED = 0.3
"""Meters before the end of the path from which a course counts as crossed."""
THROUGH = 0.02
"""Meters by which a joint of a foot is inside the ground when it goes through a riser or an edge."""
MISSED = 0.1
"""Meters below the surface to be stood on at which a foot has missed it."""
_WIDTH = 3.0
"""Meters across of everything that is walked on."""
_SPARE = 2.5
"""Factor on the time that the path takes at the speed asked for: a walk takes stairs at half of it."""
_GRID = 0.1
"""Meters between the vertices of a field of noise."""
_BELOW = 1.0
"""Depth in meters of gaps."""

Figures = dict[str, float]
Log = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Course:
    """What lies along +x from APPROACH on, and how long it is in meters. treads: x of the first and last edge of each
    tread (S, 2). floor: the height in meters to start from."""

    meshes: Sequence[TriangleMesh]
    length: float
    treads: Array
    floor: float = 0.0


@dataclass(frozen=True, eq=False)
class Crossing:
    """How a course was crossed.

    depth: meters of the joints of feet in the ground. height: meters above it of feet in contact, each of its lower
    joint that is, as a foot overhangs the edge of a tread. hips, feet: accelerations in m/s^2. All are empty where the
    path is refused. done: the end was reached, no foot went through an edge or missed what it was to stand on, and each
    tread was stood on where each is to be.
    """

    depth: Array
    height: Array
    hips: Array
    feet: Array
    done: bool


REFUSED = Crossing(np.empty(0), np.empty(0), np.empty(0), np.empty(0), done=False)
"""A course whose path is refused."""


def stairs(rng: np.random.Generator) -> Course:
    """Up one flight, over a landing, down the same: treads of 15 to 20 cm, 26 to 34 cm deep."""
    rise, going, count = rng.uniform(0.15, 0.2), rng.uniform(0.26, 0.34), int(rng.integers(5, 13))
    top = count * going
    end = 2 * top + LANDING
    solids = [_solid(i * going, end - i * going, (i + 1) * rise) for i in range(count)]
    up = [(i * going, (i + 1) * going) for i in range(count - 1)]
    down = [(end - b, end - a) for a, b in up]
    return Course(solids, end, np.array([*up, *down]))


def ramp(rng: np.random.Generator) -> Course:
    """Up a ramp, over a landing, down the same, of 5 to 20 degrees."""
    slope, run = math.tan(rng.uniform(math.radians(5), STEEPEST)), rng.uniform(2.0, 4.0)
    x = np.array([0.0, run, run + LANDING, 2 * run + LANDING])
    return Course([_ribbon(x, slope * run * np.array([0.0, 1.0, 1.0, 0.0]))], float(x[-1]), np.zeros((0, 2)))


def noise(rng: np.random.Generator) -> Course:
    """A field of smooth noise, level at both ends."""
    x, y = np.arange(0.0, 8.0 + _GRID / 2, _GRID), np.arange(-_WIDTH / 2, _WIDTH / 2 + _GRID / 2, _GRID)
    return Course([_field(x, y, rng, np.clip(np.minimum(x, x[-1] - x), 0, 1))], float(x[-1]), np.zeros((0, 2)))


def rough(points: Array, rng: np.random.Generator) -> TriangleMesh:
    """A field of smooth noise under a path through points (N, 2 or 3), and some meters around it."""
    low, high = points[:, :2].min(axis=0) - BEYOND, points[:, :2].max(axis=0) + BEYOND
    x, y = (np.arange(a, b + _GRID, _GRID) for a, b in zip(low, high, strict=True))
    return _field(x, y, rng, np.ones(len(x)))


def _field(x: Array, y: Array, rng: np.random.Generator, share: Array) -> TriangleMesh:
    """Smooth noise over a grid, of which no wave is shorter than 1 m, times a share (N,) of its height along x (N,)."""
    z = np.zeros((len(y), len(x)))
    for _ in range(12):
        wave, way, start = 2 * math.pi / rng.uniform(1.0, 4.0), rng.uniform(0, 2 * math.pi), rng.uniform(0, 2 * math.pi)
        z += np.sin(wave * (math.cos(way) * x + math.sin(way) * y[:, None]) + start)
    z = ROUGH * (z - z.min()) / np.ptp(z) * share
    corners = np.stack((*np.broadcast_arrays(x, y[:, None]), z), axis=-1).reshape(-1, 3)
    first = (np.arange(len(y) - 1)[:, None] * len(x) + np.arange(len(x) - 1)).ravel()
    halves = np.array([[0, 1, len(x)], [1, len(x) + 1, len(x)]])
    return TriangleMesh(corners, (first[:, None, None] + halves).reshape(-1, 3))


def gap(rng: np.random.Generator) -> Course:
    """A gap of 0.5 to 1.2 m between two platforms."""
    return gap_of(rng.uniform(0.5, 1.2))


def gap_of(width: float) -> Course:
    """A gap of a width in meters between two platforms."""
    before, after = _solid(-APPROACH - 1, 0.0, _BELOW), _solid(width, width + BEYOND + 1, _BELOW)
    return Course([before, after], width, np.zeros((0, 2)), _BELOW)


def box(rng: np.random.Generator) -> Course:
    """A box of 0.2 to 0.4 m to come onto, and to stay on."""
    return Course([_solid(0.0, BEYOND + 1, rng.uniform(0.2, 0.4))], 0.0, np.zeros((0, 2)))


def drop(rng: np.random.Generator) -> Course:
    """A platform of 0.3 to 0.8 m to come off."""
    height = rng.uniform(0.3, 0.8)
    return Course([_solid(-APPROACH - 1, 0.0, height)], 0.0, np.zeros((0, 2)), height)


def _solid(start: float, end: float, height: float) -> TriangleMesh:
    """A block along x that stands on the floor."""
    return block((start, -_WIDTH / 2, 0.0), (end, _WIDTH / 2, height)).mesh


def _ribbon(x: Array, z: Array) -> TriangleMesh:
    """A band across y through heights z (N,) at x (N,)."""
    sides = [np.stack((x, np.full(len(x), side * _WIDTH / 2), z), axis=1) for side in (-1, 1)]
    i, n = np.arange(len(x) - 1), len(x)
    triangles = np.concatenate((np.stack((i, i + 1, i + n), 1), np.stack((i + 1, i + n + 1, i + n), 1)))
    return TriangleMesh(np.concatenate(sides), triangles)


def cross(course: Course, gait: str, weights: Path, treads: bool = False) -> Crossing:
    """Bake a straight path over a course and measure it. treads: each is to be stood on."""
    bake = begun(course, gait, weights)
    return REFUSED if bake is None else crossing(course, bake.motion(), treads)


def begun(course: Course, gait: str, weights: Path, without: Collection[str] = ()) -> Bake | None:
    """The bake of a straight path over a course, None where the path is refused. without: GROUND_PARTS of bakes that
    are left out."""
    speed = RUN_SPEED if gait == "jog" else WALK_SPEED
    length = APPROACH + course.length + BEYOND
    frames = int(_SPARE * length / speed * FPS) + int(FPS)
    path = [[-APPROACH, 0.0, course.floor], [course.length + BEYOND, 0.0, course.floor]]
    follow = PathFollow(path, [speed] * frames, [gait] * frames, [0.0] * frames)
    meshes = [
        GroundMesh(f"ground {i}", mesh.vertices.tolist(), mesh.triangles.tolist())
        for i, mesh in enumerate(course.meshes)
    ]
    try:
        return Bake(Shot("ground", FPS, frames, path=follow, ground=meshes), weights, without=without)
    except BlockedPathError:
        return None


def crossing(course: Course, motion: Motion, treads: bool = False) -> Crossing:
    """How a motion crosses a course. treads: each is to be stood on."""
    ground = Ground.of(course.meshes)
    above, contact, places = _feet(motion, ground)
    arrived = motion.root[:, 0].max() > course.length + BEYOND - ARRIVED
    clean = above.min() > -THROUGH and not (contact & (_under(places, course) < -MISSED)).any()
    used = not treads or all(((places[..., 0] > a) & (places[..., 0] < b) & contact).any() for a, b in course.treads)
    lower = np.where(contact, above, np.inf).reshape(len(above), 2, 2).min(axis=2)
    joints = acceleration(motion.positions.astype(np.float64), FPS)
    hips, feet = joints[:, 0], joints[:, MODEL_SKELETON.indices(["LeftFoot", "RightFoot"])].ravel()
    depth = np.maximum(-above, 0).ravel()
    return Crossing(depth, lower[np.isfinite(lower)], hips, feet, bool(arrived and clean and used))


def _feet(motion: Motion, ground: Ground) -> tuple[Array, Array, Array]:
    """Heights (T, 4) of CONTACT_JOINTS above where they stand on the ground, contacts (T, 4), and places (T, 4, 3)."""
    places = motion.positions[:, MODEL_SKELETON.indices(CONTACT_JOINTS)].astype(np.float64)
    soles = np.array([ANKLE_HEIGHT if name.endswith("Foot") else TOE_HEIGHT for name in CONTACT_JOINTS])
    under = ground.height(places[..., :2], motion.root[:, 2:3].astype(np.float64))
    return places[..., 2] - soles - under, motion.contacts > 0.5, places


def _under(places: Array, course: Course) -> Array:
    """Heights (T, 4) of places above the floor that a gap is not to be stood below; infinite on other courses."""
    if course.floor != _BELOW:
        return np.full(places.shape[:2], np.inf)
    return places[..., 2] - course.floor


def ground_figures(weights: Path, log: Log, quick: bool = False) -> Figures:
    """Figures `pfnn.ground.*`; `quick` crosses a tenth of the courses.

    foot_depth_cm, foot_height_cm: 99th percentiles over stairs, ramps and noise, and of each, of the feet's joints in
    the ground, and of feet above it in contact. hips_acceleration, feet_acceleration: 99th percentiles in m/s^2; of
    walks recorded on level ground they are 16.6 and 51.1, of jogs 20.3 and 92.7. stairs_done, jumps_done: shares. On
    stairs each tread is to be stood on in a walk, and no foot goes through a riser; gaps, boxes and drops are run over,
    gaps by the weights beside that can jump.
    """
    out: Figures = {}
    found: dict[str, list[Crossing]] = {}
    for name, make, count in (("stairs", stairs, FLIGHTS), ("ramp", ramp, RAMPS), ("noise", noise, NOISES)):
        for number in range(max(count // 10, 1) if quick else count):
            course = make(np.random.default_rng((7, number)))
            for gait in ("walk", "jog"):
                crossing = cross(course, gait, weights, treads=name == "stairs" and gait == "walk")
                found.setdefault(f"{name}.{gait}", []).append(crossing)
    for number in range(1 if quick else JUMPS):
        for name, make in (("gap", gap), ("box", box), ("drop", drop)):
            found.setdefault(f"{name}.jog", []).append(cross(make(np.random.default_rng((8, number))), "jog", weights))
    walked = {name: rows for name, rows in found.items() if name.split(".")[0] in ("stairs", "ramp", "noise")}
    everything = [crossing for rows in walked.values() for crossing in rows]
    for name, rows in {"": everything, **walked}.items():
        prefix = f"pfnn.ground.{name}." if name else "pfnn.ground."
        for what in ("depth", "height"):
            values = np.concatenate([getattr(row, what) for row in rows])
            out[f"{prefix}foot_{what}_cm.p99"] = 100 * float(np.percentile(values, 99))
        for what in ("hips", "feet"):
            values = np.concatenate([getattr(row, what) for row in rows])
            out[f"{prefix}{what}_acceleration.p99"] = float(np.percentile(values, 99))
    for name, rows in found.items():
        out[f"pfnn.ground.{name}.done"] = float(np.mean([row.done for row in rows]))
    for kind, names in (("stairs", ("stairs.walk", "stairs.jog")), ("jumps", ("gap.jog", "box.jog", "drop.jog"))):
        out[f"pfnn.ground.{kind}_done"] = float(np.mean([row.done for name in names for row in found[name]]))
    for name, value in out.items():
        log(f"{name} {value:.2f}")
    return out
