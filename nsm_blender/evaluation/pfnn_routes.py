# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys over made-up ground: up to a goal on another storey and down again (table "routes").

Seeds below FIRST are for development, and have been looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..baking.bake import Bake
from ..errors import UserError
from ..geometry.colliders import STILL, Collider
from ..geometry.cuboids import cuboids_of
from ..geometry.ground import GroundMesh
from ..geometry.mesh import TriangleMesh
from ..geometry.shapes import block
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from ..tasks.arrival_times import foresee

FIRST, ROOMS = 200, 10
"""Seed from which on rooms are held out, and rooms of each kind."""
NEAR_CM = 10.0
"""Centimeters, the height included, within which a goal counts as reached."""
BESIDE = 0.4
"""Meters beside its way from which a character counts as off it."""
FPS = 30.0
"""Frames a second of the shots."""
SPARE = 4.0
"""Seconds that a shot is longer than foreseen."""
_DEEP, _HALF = 5.0, 2.5
"""Meters of the upper storey behind its edge at x = 0, and to either side."""

Figures = dict[str, float]
Log = Callable[[str], None]
Box = tuple[tuple[float, float, float], tuple[float, float, float]]


@dataclass(frozen=True, eq=False)
class Room:
    """An upper storey with its edge at x = 0, and what leads there from below. height: meters of the storey. farthest:
    meters of x from its edge beyond which goals on it lie."""

    meshes: dict[str, TriangleMesh]
    height: float
    things: Sequence[Collider] = ()
    farthest: float = 0.6


def stairs(rng: np.random.Generator) -> Room:
    """One flight, as wide as a door or wider."""
    height, y, wide = rng.uniform(1.0, 3.2), rng.uniform(-1.2, 1.2), rng.uniform(0.9, 2.0)
    return _room(rng, height, {"Stairs": _flight(rng, 0.0, height, 0.0, y, wide, -1.0)})


def winding(rng: np.random.Generator) -> Room:
    """Two flights side by side, and a landing where the way turns back over half the height."""
    height, wide, y = rng.uniform(2.4, 3.2), rng.uniform(0.9, 1.3), rng.uniform(-0.6, 0.6)
    upper = _flight(rng, 0.5 * height, height, 0.0, y + 0.5 * wide, wide, -1.0)
    far = float(upper.vertices[:, 0].min())
    landing = _boxes([((far - wide, y - wide, 0.0), (far, y + wide, 0.5 * height))])
    lower = _flight(rng, 0.0, 0.5 * height, far, y - 0.5 * wide, wide, 1.0)
    # Where the storey is solid, the foot of the lower flight would lie in it.
    return _room(rng, height, {"Upper flight": upper, "Landing": landing, "Lower flight": lower}, solid=0.0)


def ramp(rng: np.random.Generator) -> Room:
    """A ramp of 5 to 20 degrees."""
    return _with_ramp(rng, rng.uniform(5, 20))


def platforms(rng: np.random.Generator) -> Room:
    """Boxes of 0.2 to 0.35 m, one behind the other."""
    height = rng.uniform(0.4, 1.2)
    count = math.ceil(height / rng.uniform(0.22, 0.35))
    deep, y = rng.uniform(0.6, 1.0), rng.uniform(-1.0, 1.0)
    boxes = [((-(count - n) * deep, y - 0.8, 0.0), (0.0, y + 0.8, (n + 1) * height / count)) for n in range(count)]
    return _room(rng, height, {"Steps": _boxes(boxes)})


def nothing(rng: np.random.Generator) -> Room:
    """Nothing leads up."""
    return _room(rng, rng.uniform(1.0, 3.2), {})


def steep(rng: np.random.Generator) -> Room:
    """A ramp of 42 to 60 degrees."""
    return _with_ramp(rng, rng.uniform(42, 60))


def blocked(rng: np.random.Generator) -> Room:
    """A crate as wide as the flight stands on it."""
    room = stairs(rng)
    low, high = (room.meshes["Stairs"].vertices.min(0), room.meshes["Stairs"].vertices.max(0))
    middle = 0.5 * (low + high)
    crate = block((middle[0] - 0.3, low[1], 0.4 * high[2]), (middle[0] + 0.3, high[1], high[2] + 0.8))
    return replace(room, things=[Collider("Crate", cuboids_of(crate.mesh), STILL, "obstacle")])


def interrupted(rng: np.random.Generator) -> Room:
    """A gap of 1.4 to 2.2 m across the upper storey."""
    room, at, wide = stairs(rng), 1.2, rng.uniform(1.4, 2.2)
    low = room.height - 0.2
    parts = [((0.0, -_HALF, low), (at, _HALF, room.height)), ((at + wide, -_HALF, low), (6.5, _HALF, room.height))]
    return replace(room, meshes=room.meshes | {"Storey": _boxes(parts)}, farthest=at + wide + 0.5)


REACHABLE = {"stairs": stairs, "winding": winding, "ramp": ramp, "platforms": platforms}
"""Rooms whose upper storey can be reached."""
UNREACHABLE = {"nothing": nothing, "steep": steep, "blocked": blocked, "interrupted": interrupted}
"""Rooms whose upper storey cannot be reached."""


def _room(rng: np.random.Generator, height: float, ways: dict[str, TriangleMesh], solid: float = 0.5) -> Room:
    """A room with ways up. solid: share of the storeys that stand on the floor; the others are slabs."""
    under = 0.0 if rng.random() < solid else height - 0.2
    return Room({"Storey": _boxes([((0.0, -_HALF, under), (_DEEP, _HALF, height))]), **ways}, height)


def _with_ramp(rng: np.random.Generator, degrees: float) -> Room:
    height, y, wide = rng.uniform(0.8, 2.4), rng.uniform(-1.0, 1.0), rng.uniform(1.0, 2.0)
    x = -height / math.tan(math.radians(degrees))
    corners = [(x, y - wide / 2, 0), (0, y - wide / 2, height), (0, y + wide / 2, height), (x, y + wide / 2, 0)]
    slope = TriangleMesh(np.array(corners, dtype=float), np.array([[0, 1, 2], [0, 2, 3]]))
    return _room(rng, height, {"Ramp": slope})


def _flight(
    rng: np.random.Generator, low: float, high: float, x: float, y: float, wide: float, way: float
) -> TriangleMesh:
    """Treads of 15 to 19 cm from a height to another, with the upper end at x, that descend along `way` times x."""
    count = math.ceil((high - low) / rng.uniform(0.15, 0.19))
    going = rng.uniform(0.26, 0.32)
    boxes: list[Box] = []
    for n in range(count):
        ends = sorted((x, x + way * (count - n) * going))
        boxes.append(((ends[0], y - wide / 2, 0.0), (ends[1], y + wide / 2, low + (n + 1) * (high - low) / count)))
    return _boxes(boxes)


def _boxes(boxes: Sequence[Box]) -> TriangleMesh:
    return TriangleMesh.joined([block(low, high).mesh for low, high in boxes])


def shot_of(kind: str, seed: int) -> Shot:
    """A shot in a room of a kind: from the floor up to a goal, and down to another; every third character runs."""
    rng = np.random.default_rng((11, sorted({**REACHABLE, **UNREACHABLE}).index(kind), seed))
    room = {**REACHABLE, **UNREACHABLE}[kind](rng)
    ahead = min(float(mesh.vertices[:, 0].min()) for mesh in room.meshes.values())
    low = ahead - rng.uniform(1.0, 2.0), rng.uniform(-2.0, 2.0), 0.0
    beside = rng.uniform(ahead, 0.0), _HALF + rng.uniform(0.8, 1.5), 0.0
    up = rng.uniform(room.farthest, _DEEP - 0.6), rng.uniform(-1.9, 1.9)
    action = "run" if seed % 3 == 2 else "walk"
    goals = [Goal("Above", [*up, room.height], float(rng.uniform(-3, 3))), Goal("Below", list(beside))]
    meshes = [GroundMesh(name, mesh.vertices.tolist(), mesh.triangles.tolist()) for name, mesh in room.meshes.items()]
    start = [*low, float(rng.uniform(-3, 3))]
    keys = [ActionKey(action, "Above", hold=0.5), ActionKey(action, "Below")]
    return Shot(kind, FPS, 2, keys=keys, goals=goals, colliders=list(room.things), start=start, ground=meshes)


@dataclass(frozen=True, eq=False)
class Errand:
    """What came of a shot. refused: why it was. reached: both goals. beside: meters of the root from its ways at the
    worst."""

    refused: str = ""
    reached: bool = False
    beside: float = 0.0


def carry_out(shot: Shot, weights: Path) -> Errand:
    """Bake a shot and measure it."""
    seen = foresee(shot)
    trouble = next((one.trouble for one in seen if one.trouble), "")
    if trouble:
        return Errand(trouble)
    shot = replace(shot, frames=math.ceil(seen[-1].done + SPARE * FPS))
    try:
        motion = Bake(shot, weights).motion()
    except UserError as error:
        return Errand(str(error))
    legs = np.concatenate([one.leg.route.points for one in seen if one.leg is not None])
    root = motion.root[:, :3].astype(np.float64)
    away = np.array([np.linalg.norm(legs - place, axis=1).min() for place in root])
    reached = all(not key["trouble"] and key["error_cm"] < NEAR_CM for key in motion.meta["keys"])
    return Errand("", reached, float(away.max()))


def route_figures(weights: Path, log: Log, quick: bool = False) -> Figures:
    """Figures `pfnn.routes.*` on held-out rooms; `quick` takes a tenth of them.

    <kind>.reached: share of shots of which both goals are reached, on the way found. <kind>.refused: share that is
    refused before the bake, in rooms whose upper storey cannot be reached. beside_cm: 90th percentile over the shots of
    how far the root was from its way at the worst. How the feet stand is told by the table "ground".
    """
    out: Figures = {}
    done: list[Errand] = []
    for kind in (*REACHABLE, *UNREACHABLE):
        rows = []
        for seed in range(FIRST, FIRST + (1 if quick else ROOMS)):
            errand = carry_out(shot_of(kind, seed), weights)
            if bool(errand.refused) != (kind in UNREACHABLE) or not (errand.refused or errand.reached):
                log(f"{kind} {seed}: {errand.refused or f'not reached, {errand.beside:.2f} m beside its way'}")
            rows.append(errand)
        if kind in UNREACHABLE:
            out[f"pfnn.routes.{kind}.refused"] = float(np.mean([bool(row.refused) for row in rows]))
        else:
            out[f"pfnn.routes.{kind}.reached"] = float(np.mean([row.reached and row.beside < BESIDE for row in rows]))
            done += [row for row in rows if not row.refused]
    out["pfnn.routes.reached"] = float(np.mean([out[f"pfnn.routes.{kind}.reached"] for kind in REACHABLE]))
    out["pfnn.routes.refused"] = float(np.mean([out[f"pfnn.routes.{kind}.refused"] for kind in UNREACHABLE]))
    if done:
        out["pfnn.routes.beside_cm.p90"] = 100 * float(np.percentile([row.beside for row in done], 90))
    for name, value in out.items():
        log(f"{name} {value:.2f}")
    return out
