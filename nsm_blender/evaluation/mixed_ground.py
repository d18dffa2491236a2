# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys over made-up ground that use things there: both networks in one shot, and how they hand over (table "mixed").

Half of the shots go up a flight of stairs to a landing, sit down there, rise and come down again; the others go down a
ramp and pick up a box. Seeds below FIRST are for development, and have been looked at.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..baking.nsm import SceneBake
from ..errors import UserError
from ..geometry.ground import Ground, GroundMesh
from ..geometry.mesh import TriangleMesh
from ..geometry.shapes import block
from ..motion.motion import Motion
from ..motion.rotations import Array
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from ..naturalness.metrics import foot_slide
from ..naturalness.recorded import recorded
from ..naturalness.track import PARTS, derivative, track_of
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from ..tasks.arrival_times import foresee
from .real_furniture.catalog import LOADS, make
from .real_furniture.rooms import Setting, stood

FIRST, SHOTS = 200, 20
"""Seed from which on shots are held out, and shots of both kinds together."""
FPS = 30.0
"""Frames a second of the shots."""
SPARE = 6.0
"""Seconds that a shot is longer than foreseen."""
SEAM = 0.5
"""Seconds before and after a hand-over in which the body is measured."""
SEATS = ("dining_chair", "slatted_chair", "classic_armchair", "bench", "sofa")
"""Kinds of seats on the landing."""
_DEEP, _HALF = 5.0, 2.5
"""Meters of the upper level behind its edge at x = 0, and to either side."""
_TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
_TOE_CONTACTS = [CONTACT_JOINTS.index(side + "Toe") for side in ("Left", "Right")]

Figures = dict[str, float]
Log = Callable[[str], None]


def stairs(seed: int) -> Shot:
    """Up a flight of stairs, sit down on the landing, rise and walk down again."""
    rng = np.random.default_rng((18, 1, seed))
    height, going = rng.uniform(0.6, 1.8), rng.uniform(0.26, 0.32)
    count = math.ceil(height / rng.uniform(0.15, 0.19))
    boxes = [block((0.0, -_HALF, 0.0), (_DEEP, _HALF, height)).mesh]
    for n in range(count - 1):
        boxes.append(block((-(count - 1 - n) * going, -1.0, 0.0), (0.0, 1.0, (n + 1) * height / count)).mesh)
    place = np.array([rng.uniform(2.4, 3.4), rng.uniform(-1.0, 1.0)])
    piece = make(SEATS[int(rng.integers(len(SEATS)))], seed)
    setting = Setting([stood("Seat", piece, place, float(rng.uniform(-math.pi, math.pi)), z=height)], {"Seat"})
    low = -count * going - rng.uniform(1.0, 2.0)
    keys = [ActionKey("sit", "Seat", hold=1.5), ActionKey("walk", "Away")]
    goals = [
        Goal("Seat", [*place.tolist(), height + 0.5], None, "Seat"),
        Goal("Away", [low, float(rng.uniform(-1.0, 1.0)), 0.0]),
    ]
    start = [low, float(rng.uniform(-1.5, 1.5)), 0.0, float(rng.uniform(-3, 3))]
    return _shot("stairs", TriangleMesh.joined(boxes), setting, keys, goals, start)


def ramp(seed: int) -> Shot:
    """Down a ramp, and pick up a box before it."""
    rng = np.random.default_rng((18, 2, seed))
    height = rng.uniform(0.6, 1.5)
    foot = -height / math.tan(math.radians(rng.uniform(6, 16)))
    corners = [(foot, -1.5, 0), (0, -1.5, height), (0, 1.5, height), (foot, 1.5, 0)]
    slope = TriangleMesh(np.array(corners, dtype=float), np.array([[0, 1, 2], [0, 2, 3]]))
    top = block((0.0, -_HALF, 0.0), (_DEEP, _HALF, height)).mesh
    place = np.array([foot - rng.uniform(1.0, 2.2), rng.uniform(-1.0, 1.0)])
    load = stood("Load", make(LOADS[int(rng.integers(len(LOADS)))], seed), place, float(rng.uniform(-3, 3)))
    setting = Setting([load], {"Load"})
    keys = [ActionKey("pick_up", "Load", hold=0.3), ActionKey("walk", "Away", hold=0.3)]
    goals = [
        Goal("Load", [*place.tolist(), 0.2], None, "Load"),
        Goal("Away", [float(place[0] - rng.uniform(1.5, 2.5)), float(rng.uniform(-1.5, 1.5)), 0.0]),
    ]
    start = [float(rng.uniform(0.8, 2.0)), float(rng.uniform(-1.5, 1.5)), height, float(rng.uniform(-3, 3))]
    return _shot("ramp", TriangleMesh.joined([slope, top]), setting, keys, goals, start)


KINDS = {"stairs": stairs, "ramp": ramp}
"""The kinds of shots."""


def _shot(
    kind: str, mesh: TriangleMesh, setting: Setting, keys: list[ActionKey], goals: list[Goal], start: list[float]
) -> Shot:
    ground = [GroundMesh("Ground", mesh.vertices.tolist(), mesh.triangles.tolist())]
    colliders = setting.colliders()
    shot = Shot(kind, FPS, 2, keys=keys, goals=goals, colliders=colliders, start=start, ground=ground)
    seen = foresee(shot, tuple({key.action for key in keys}))
    return replace(shot, frames=math.ceil(seen[-1].done + SPARE * FPS))


@dataclass(frozen=True, eq=False)
class Errand:
    """What came of a shot. refused: why it was. trouble: of the first key that was not done. seams: seconds of the
    hand-overs. ratios: of each part's acceleration and jerk around them to people's 99th percentile. slide: cm/s of
    planted feet. height: (N,) cm of planted toes above the ground."""

    refused: str = ""
    trouble: str = ""
    seams: tuple[float, ...] = ()
    ratios: dict[str, float] | None = None
    slide: float = 0.0
    height: Array | None = None


def carry_out(shot: Shot) -> tuple[Errand, Motion | None]:
    """Bake a shot and measure it."""
    try:
        motion = SceneBake(shot).motion()
    except UserError as error:
        return Errand(str(error)), None
    trouble = next((key["trouble"] for key in motion.meta["keys"] if key["trouble"]), "")
    seams = tuple(float(second) for second in motion.meta["handovers"])
    heights = _toes_above(motion, Ground.of([mesh.mesh() for mesh in shot.ground]))
    return Errand("", trouble, seams, around_seams(motion, seams), foot_slide(motion), heights), motion


def around_seams(motion: Motion, seams: tuple[float, ...]) -> dict[str, float]:
    """Largest acceleration and jerk of each part of the body within SEAM seconds of the hand-overs, as shares of the
    99th percentile of the recorded actions that a hand-over happens in: setting off, walking and stopping."""
    track, people = track_of(motion), recorded()
    out: dict[str, float] = {}
    for name in PARTS:
        acceleration = derivative(derivative(track.parts[name]))
        for kind, curve in (("acceleration", acceleration), ("jerk", derivative(acceleration))):
            measure = f"{name}_{kind}"
            most = max(row.at(99.0) for action in ("start", "walk", "stop") if (row := people.get((action, measure))))
            values = np.linalg.norm(curve, axis=-1).max(axis=1)
            near = [values[max(round((s - SEAM) * 60), 0) : round((s + SEAM) * 60)].max(initial=0.0) for s in seams]
            out[measure] = max(near, default=0.0) / most
    return out


def _toes_above(motion: Motion, ground: Ground) -> Array:
    """Centimeters (N,) of planted toes over the ground."""
    toes = motion.positions[:, _TOES].astype(np.float64)
    down = motion.contacts[:, _TOE_CONTACTS] > 0.5
    near = np.broadcast_to(motion.root[:, None, 2], down.shape)
    above = toes[..., 2] - TOE_HEIGHT - ground.height(toes[..., :2], near)
    out: Array = 100 * above[down]
    return out


def mixed_figures(log: Log, quick: bool = False) -> Figures:
    """Figures `pfnn.mixed.*` on held-out shots, by the shipped networks; `quick` takes two.

    done: share of shots with all keys done. <part>_<measure>: the 99th percentile over shots of the largest within
    half a second of a hand-over, as a share of people's. foot_slide_cm_per_s: the mean. toe_height_cm: 99th percentile.
    """
    rows, found = list[Errand](), defaultdict[str, list[float]](list)
    for number in range(2 if quick else SHOTS):
        kind = list(KINDS)[number % len(KINDS)]
        errand, _ = carry_out(KINDS[kind](FIRST + number))
        rows.append(errand)
        if errand.refused or errand.trouble:
            log(f"{kind} {FIRST + number}: {errand.refused or errand.trouble}")
        for name, value in (errand.ratios or {}).items():
            found[name].append(value)
    baked = [row for row in rows if row.height is not None]
    out = {"pfnn.mixed.done": float(np.mean([not row.refused and not row.trouble for row in rows]))}
    out |= {f"pfnn.mixed.{name}": float(np.percentile(values, 99)) for name, values in found.items()}
    if baked:
        out["pfnn.mixed.handovers"] = float(sum(len(row.seams) for row in baked))
        out["pfnn.mixed.foot_slide_cm_per_s"] = float(np.mean([row.slide for row in baked]))
        heights = np.concatenate([row.height for row in baked if row.height is not None])
        out["pfnn.mixed.toe_height_cm.p99"] = float(np.percentile(np.abs(heights), 99))
    for name, value in out.items():
        log(f"{name} {value:.2f}")
    return out
