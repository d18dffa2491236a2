# SPDX-License-Identifier: GPL-3.0-or-later
"""The PFNN's figures on the shipped weights: path following (Table 2), response, foot slide, stability,
ground, routes over it, arrivals and steady speeds.

Every figure comes from the same `Bake` or `Locomotion` that the extension runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np

from ..baking.bake import GROUND_PARTS, SETTLING, Bake, standing
from ..cleanup.pfnn_foot_lock import lock_feet
from ..geometry.ground import Ground, GroundMesh
from ..geometry.mesh import TriangleMesh
from ..models.pfnn import FPS
from ..models.pfnn_kernels import PFNN
from ..motion.motion import Motion
from ..motion.root import direction
from ..motion.skeleton import MODEL_SKELETON
from ..naturalness.metrics import bone_length_error, foot_slide, hinge_angles, low_foot_slide, settled_speed
from ..paths import weights_folder
from ..planning.trajectory import Future, VelocityCommands
from ..rollout.pfnn import Locomotion
from ..rollout.pose import decode
from ..shot.shot import BAKEABLE_GAITS, PathFollow, Shot, VelocityFollow
from .arrival import arrival_figures, speed_figures
from .ground_components import ground_component_figures
from .jumps import jump_figures
from .mixed_ground import mixed_figures
from .nearest_pose import nearest_figures
from .pfnn_ground import ROUGH, ground_figures, rough
from .pfnn_routes import route_figures
from .takes import take_figures

BIASES = ((0.5, 2.0), (2.0, 5.0), (5.0, 10.0))
"""Pairs of tau_v and tau_d of Table 2."""
PATH_SPEED = 1.5
"""Speed in m/s along the paths."""
PATH_SECONDS = 30
"""Seconds on each path."""
ROUGH_SEED = 17
"""Seed of the rough ground under the paths."""
WALK, RUN = 1.4, 3.0
"""Speeds in m/s that are commanded for a walk and a run."""

Figures = dict[str, float]
Log = Callable[[str], None]


def wave() -> list[list[float]]:
    """A sine wave, amplitude 1 m, wavelength 4 m."""
    x = np.linspace(0, 60, 3000)
    return np.stack((x, np.sin(2 * np.pi * x / 4), np.zeros_like(x)), axis=1).tolist()


def square() -> list[list[float]]:
    """A square of 2 m, with sharp corners."""
    return [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]]


def circle() -> list[list[float]]:
    """A circle of radius 3 m."""
    a = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    return np.stack((3 * np.cos(a), 3 * np.sin(a), np.zeros_like(a)), axis=1).tolist()


PATHS: dict[str, tuple[Callable[[], list[list[float]]], bool]] = {
    "wave": (wave, False),
    "square": (square, True),
    "circle": (circle, True),
}


def _label(bias: tuple[float, float]) -> str:
    return "_".join(f"{b:g}" for b in bias)


def path_errors(weights: Path, log: Log) -> Figures:
    """Table 2: mean distance in cm of the root from the path, over 30 s from standing at its start.

    The target moves at 1.5 m/s; the speed that the character keeps is reported beside the error.
    """
    out: Figures = {}
    for name in PATHS:
        for bias in BIASES:
            error, speed = _followed(name, bias, weights)
            out[f"pfnn.path_error_cm.{name}.{_label(bias)}"] = error
            out[f"pfnn.path_speed_m_per_s.{name}.{_label(bias)}"] = speed
            log(f"path {name:6s} bias {_label(bias):5s}  error {error:5.2f} cm  speed {speed:.2f} m/s")
    return out


def rough_path_errors(weights: Path, log: Log) -> Figures:
    """The same at the last bias over rough ground, `pfnn.path_error_cm.rough.*`."""
    out: Figures = {}
    for name, (points, _) in PATHS.items():
        ground = rough(np.array(points()), np.random.default_rng(ROUGH_SEED))
        error, speed = _followed(name, BIASES[-1], weights, ground)
        out[f"pfnn.path_error_cm.rough.{name}"] = error
        out[f"pfnn.path_speed_m_per_s.rough.{name}"] = speed
        log(f"path {name:6s} over rough ground  error {error:5.2f} cm  speed {speed:.2f} m/s")
    return out


def _followed(
    name: str, bias: tuple[float, float], weights: Path, ground: TriangleMesh | None = None
) -> tuple[float, float]:
    """Mean distance in cm of the root from a path, and its mean speed in m/s once it walks."""
    bake = Bake(path_shot(name, bias, ground), weights)
    motion = bake.motion()
    path = bake.path
    assert path is not None
    error = 100 * float(path.distance(motion.root[:, :2].astype(np.float64)).mean())
    return error, float(settled_speed(motion.root, FPS)[int(2 * FPS) :].mean())


def path_shot(name: str, bias: tuple[float, float] = BIASES[-1], ground: TriangleMesh | None = None) -> Shot:
    """A walk along one of PATHS, on a mesh or on the floor."""
    frames = int(PATH_SECONDS * FPS)
    points, closed = PATHS[name]
    places = points()
    meshes = []
    if ground is not None:
        under = Ground.of([ground]).height(np.array(places)[:, :2], np.full(len(places), ROUGH))
        places = [[x, y, z] for (x, y, _), z in zip(places, under.tolist(), strict=True)]
        meshes = [GroundMesh("rough", ground.vertices.tolist(), ground.triangles.tolist())]
    follow = PathFollow(places, [PATH_SPEED] * frames, ["walk"] * frames, [0.0] * frames, closed=closed)
    return Shot(name, FPS, frames, path=follow, ground=meshes, bias_velocity=bias[0], bias_direction=bias[1])


def _velocity_motion(
    weights: Path,
    seconds: float,
    velocity: Callable[[float], tuple[float, float]],
    facing: Callable[[float], float],
    gait: Callable[[float], str],
    bias: tuple[float, float] = (2.0, 5.0),
) -> Motion:
    """Bake velocity commands given as functions of the time in seconds."""
    times = np.arange(int(seconds * FPS)) / FPS
    follow = VelocityFollow([list(velocity(t)) for t in times], [facing(t) for t in times], [gait(t) for t in times])
    shot = Shot("command", FPS, len(times), velocity=follow, bias_velocity=bias[0], bias_direction=bias[1])
    return Bake(shot, weights).motion()


IDLE = 1.0
"""Seconds of standing before a command."""


def response(weights: Path, log: Log) -> Figures:
    """Seconds from the command to 90 % of the steady speed, from idle, mean of four directions, at each bias.

    The character stands for a second facing -Y, then is told to walk or run forward, left, right or back
    and to face that way. The steady speed is the mean of the last 2 s; speeds are means over 0.25 s.
    The names without a bias are at (5, 10), as the path errors that are compared.
    """
    out: Figures = {}
    for bias in BIASES:
        for label, speed, gait in (("idle_walk", WALK, "walk"), ("idle_run", RUN, "jog")):
            times, steady = _starts(weights, speed, gait, bias)
            out[f"pfnn.response_s.{label}.{_label(bias)}.mean"] = float(np.mean(times))
            if bias == BIASES[-1]:
                for side, value in zip(("front", "left", "right", "back"), times, strict=True):
                    out[f"pfnn.response_s.{label}.{side}"] = value
                out[f"pfnn.response_s.{label}.mean"] = float(np.mean(times))
                out[f"pfnn.speed_m_per_s.{gait}"] = steady
            each = ", ".join(f"{t:.2f}" for t in times)
            log(f"{label} bias {_label(bias):5s} {np.mean(times):.2f} s to 90 % of {steady:.2f} m/s  ({each})")
    return out


def _starts(weights: Path, speed: float, gait: str, bias: tuple[float, float]) -> tuple[list[float], float]:
    """Response times in s, forward, left, right and back, and the mean steady speed in m/s."""
    times, steady = [], []
    for turn in (0.0, 0.5 * math.pi, -0.5 * math.pi, math.pi - 1e-3):
        way = direction(np.array(turn)) * speed
        motion = _velocity_motion(
            weights,
            7.0,
            lambda t, way=way: (float(way[0]), float(way[1])) if t >= IDLE else (0.0, 0.0),  # type: ignore[misc]
            lambda t, turn=turn: turn if t >= IDLE else 0.0,  # type: ignore[misc]
            lambda t: gait if t >= IDLE else "stand",
            bias=bias,
        )
        speeds = settled_speed(motion.root, FPS)
        steady.append(float(speeds[-int(2 * FPS) :].mean()))
        reached = np.flatnonzero(speeds[int(IDLE * FPS) :] >= 0.9 * steady[-1])
        times.append(float(reached[0] / FPS))
    return times, float(np.mean(steady))


def _around(speed: float, radius: float) -> Callable[[float], tuple[float, float]]:
    """Velocity over time on a circle, starting toward -Y and turning left."""
    return lambda t: (speed * math.sin(speed * t / radius), -speed * math.cos(speed * t / radius))


def slides(weights: Path, log: Log) -> Figures:
    """Foot slide in cm/s while the contact label is on, after locking and (raw) before.

    Walk and run along a wide circle, turning by quarter turns on the spot, side-stepping in both directions.
    """
    out: Figures = {}
    tasks: dict[str, tuple[Callable[[float], tuple[float, float]], Callable[[float], float], str]] = {
        "walk": (_around(WALK, 8.0), lambda t: WALK * t / 8.0, "walk"),
        "run": (_around(RUN, 12.0), lambda t: RUN * t / 12.0, "jog"),
        "turn": (lambda t: (0.0, 0.0), lambda t: 0.5 * math.pi * (math.floor(t / 2.5) % 4), "walk"),
        "side": (lambda t: (1.0 if t % 8 < 4 else -1.0, 0.0), lambda t: 0.0, "walk"),
        "backward": (lambda t: (0.0, 1.0), lambda t: 0.0, "walk"),
    }
    for name, (velocity, facing, gait) in tasks.items():
        times = np.arange(int(20 * FPS)) / FPS
        follow = VelocityFollow([list(velocity(t)) for t in times], [facing(t) for t in times], [gait] * len(times))
        bake = Bake(Shot(name, FPS, len(times), velocity=follow), weights)
        motion = bake.motion()
        raw = bake.unlocked()
        out[f"pfnn.foot_slide_cm_per_s.{name}"] = foot_slide(motion)
        out[f"pfnn.foot_slide_cm_per_s.{name}_raw"] = foot_slide(raw)
        out[f"pfnn.foot_slide_cm_per_s.{name}_low"] = low_foot_slide(motion)
        out[f"pfnn.contact_share.{name}"] = float(motion.contacts.max(1).mean())
        log(
            f"foot slide {name:8s} {foot_slide(motion):5.2f} cm/s locked  {foot_slide(raw):5.2f} raw  "
            f"{low_foot_slide(motion):5.2f} below 2.5 cm"
        )
    return out


def drift(weights: Path, log: Log) -> Figures:
    """Sideways drift in cm/s when told to walk and run straight ahead for 15 s."""
    out: Figures = {}
    for name, speed, gait in (("walk", WALK, "walk"), ("run", RUN, "jog")):
        motion = _velocity_motion(weights, 16.0, lambda t, v=speed: (0.0, -v), lambda t: 0.0, lambda t, g=gait: g)  # type: ignore[misc]
        out[f"pfnn.drift_cm_per_s.{name}"] = 100 * abs(float(motion.root[-1, 0] - motion.root[60, 0])) / 15
        log(f"drift {name}: {out[f'pfnn.drift_cm_per_s.{name}']:.2f} cm/s")
    return out


def random_commands(seconds: float, rng: np.random.Generator) -> VelocityFollow:
    """Commands that change at random every 0.5 to 3 s: gait, speed, direction, facing."""
    velocities: list[list[float]] = []
    facings: list[float] = []
    gaits: list[str] = []
    count = int(seconds * FPS)
    while len(gaits) < count:
        hold = int(rng.uniform(0.5, 3.0) * FPS)
        gait = str(rng.choice(BAKEABLE_GAITS))
        speed = {
            "stand": 0.0,
            "walk": rng.uniform(0.3, 1.8),
            "jog": rng.uniform(1.5, 3.5),
            "crouch": rng.uniform(0.0, 1.2),
        }[gait]
        way = rng.uniform(-math.pi, math.pi)
        facing = way if rng.random() < 0.6 else rng.uniform(-math.pi, math.pi)
        velocities += [(direction(np.array(way)) * speed).tolist()] * hold
        facings += [facing] * hold
        gaits += [gait] * hold
    return VelocityFollow(velocities[:count], facings[:count], gaits[:count])


def stability(weights: Path, log: Log, characters: int = 8, frames: int = 10_000) -> Figures:
    """Random commands for long: nothing may leave the range of a human body."""
    network = PFNN.load(weights)
    head = MODEL_SKELETON.index("Head")
    lowest, highest, bend, rigid, finite, crouched = math.inf, 0.0, math.inf, 0.0, 1.0, math.inf
    upright = _standing_head_height(network)
    for i in range(characters):
        commands = VelocityCommands(random_commands(frames / FPS + 1, np.random.default_rng(1000 + i)), FPS)
        character = Locomotion(network, (0.0, 0.0, 0.0, 0.0), frames, 2.0, 5.0)
        character.settle(standing(character.state), SETTLING)
        for _ in range(frames):
            character.step(commands.future(character.state))
        record = character.record()
        positions, rotations, _ = lock_feet(record, network.rotation_reference, 0.0)
        if not np.isfinite(positions).all():
            finite = 0.0
            break
        height = positions[:, head, 2]
        crouching = record.gait[:, -1] > 0.02
        lowest = min(lowest, float(height[~crouching].min()))
        crouched = min(crouched, float(height[crouching].min(initial=math.inf)))
        highest = max(highest, float(height.max()))
        bend = min(bend, min(float(a.min()) for a in hinge_angles(rotations).values()))
        rigid = max(rigid, bone_length_error(positions))
    out = {
        "pfnn.stability.finite": finite,
        "pfnn.stability.head_lowest_share": lowest / upright,
        "pfnn.stability.head_lowest_share_crouching": crouched / upright,
        "pfnn.stability.head_highest_share": highest / upright,
        "pfnn.stability.least_flexion_deg": math.degrees(bend),
        "pfnn.stability.bone_error_mm": 1000 * rigid,
        "pfnn.stability.frames": float(characters * frames),
    }
    for name, value in out.items():
        log(f"{name} {value:.3f}")
    return out


def _standing_head_height(network: PFNN) -> float:
    character = Locomotion(network, (0.0, 0.0, 0.0, 0.0), 60)
    still: Future = standing(character.state)
    character.settle(still, SETTLING)
    for _ in range(60):
        character.step(still)
    _, _, places = decode(character.record(), network.rotation_reference)
    return float(places[:, MODEL_SKELETON.index("Head"), 2].mean())


TABLES: dict[str, Callable[[Path, Log, bool], Figures]] = {
    "path": lambda weights, log, _: path_errors(weights, log),
    "rough": lambda weights, log, _: rough_path_errors(weights, log),
    "response": lambda weights, log, _: response(weights, log),
    "slide": lambda weights, log, _: slides(weights, log),
    "drift": lambda weights, log, _: drift(weights, log),
    "stability": lambda weights, log, quick: stability(weights, log, frames=1000 if quick else 10_000),
    "ground": ground_figures,
    "routes": route_figures,
    "mixed": lambda _, log, quick: mixed_figures(log, quick),
    "arrival": arrival_figures,
    "takes": take_figures,
    "jumps": jump_figures,
    "speeds": lambda weights, log, _: speed_figures(weights, log, "pfnn"),
}
"""The tables by name: weights, log, and whether a tenth of the long ones is enough -> figures."""
COMPONENTS = "components"
"""The table that is measured only where it is asked for, on development courses."""


def near(weights: Path | None, recordings: Path, held_out: Collection[str], log: Log = print) -> Figures:
    """How near the poses of the walks along PATHS are to recorded ones, see `nearest_pose`. Raises UserError."""
    path = weights or weights_folder() / "pfnn.safetensors"
    return nearest_figures([Bake(path_shot(name), path).motion() for name in PATHS], recordings, held_out, log)


def evaluate(
    weights: Path | None = None,
    log: Log = print,
    quick: bool = False,
    tables: Collection[str] | None = None,
    components: Collection[str] = GROUND_PARTS,
    processes: int = 2,
) -> Figures:
    """The figures of some tables, of all without any; `quick` does a tenth of the long ones. components: of bakes over
    ground that are left out in the table of that name. processes: that measure it at the same time."""
    path = weights or weights_folder() / "pfnn.safetensors"
    out: Figures = {}
    for table in TABLES if tables is None else tables:
        if table == COMPONENTS:
            out |= ground_component_figures(path, log, quick, list(components), processes)
        else:
            out |= TABLES[table](path, log, quick)
    return out
