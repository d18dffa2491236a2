# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things are put down, by height: unseen loads are carried to blocks between the floor and above the chest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..baking.nsm import SceneBake
from ..errors import UserError
from ..geometry.colliders import Collider, Cuboids
from ..geometry.roles import Carryable, Surface
from ..models.nsm import FPS
from ..models.nsm_predictor import Predictor
from ..motion.root import angle_of, direction
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from .nsm_trials import BOXES, Figures, Log, carry_shot, pieces

COUNT = 100
"""Number of cases, each at its own height."""
HIGHEST = 1.2
"""Height in meters of the highest block."""
LOWEST = 0.01
"""Height in meters of the lowest block, a board on the floor."""
TOP = (0.8, 0.6)
"""Width and depth in meters of a block's top, which holds any of the loads."""
AWAY = 2.5
"""Distance in meters from the load to the block: three steps with the load in the hands."""
SECONDS = 20.0
"""Time of a shot: lifting and putting down take 3 s each, both ways at most 8 s."""
BANDS = 4
"""Number of bands of heights that are told apart."""


@dataclass(frozen=True)
class Put:
    """What became of a load. height: meters of the block. raw_cm, raw_deg, cm: how far off its place it was left,
    before and after the clean-up; infinite where it was not put down."""

    height: float
    raw_cm: float
    raw_deg: float
    cm: float


def put_shot(number: int, development: bool = False) -> tuple[float, Shot]:
    """The height in meters of a case's block, and its shot: from anywhere to a load on the floor, and to the block."""
    rng = np.random.default_rng([64, number, int(development)])
    (piece,) = pieces(BOXES, number + 1, development)[-1:]
    height = max(HIGHEST * number / (COUNT - 1), LOWEST)
    shot = carry_shot(piece, rng)
    load = piece.handles
    assert isinstance(load, Carryable)
    # Beyond the load, as seen from where it is taken, there is room for the block and for the character before it.
    turned = float(angle_of(np.array(load.facing[:2]))) + math.pi + float(rng.uniform(-1.0, 1.0))
    place = AWAY * direction(np.array(turned))
    half = [[TOP[0] / 2, TOP[1] / 2, height / 2]]
    quaternion = [math.cos(turned / 2), 0.0, 0.0, math.sin(turned / 2)]
    # In the block's own frame its front looks back to the load: a facing angle of 0 looks along -Y.
    front = Surface([0.0, 0.0, height], [0.0, 1.0, 0.0], *TOP)
    block = Collider("block", Cuboids(np.array([[0.0, 0.0, height / 2]]), np.array(half)), role="surface",
                     handles=front, poses=np.array([[*place, 0.0, *quaternion]]))  # fmt: skip
    keys = [*shot.keys, ActionKey("put_down", "top")]
    goals = [*shot.goals, Goal("top", [*place.tolist(), height], collider="block")]
    return height, Shot("put_down", FPS, round(SECONDS * FPS), keys=keys, goals=goals,
                        colliders=[*shot.colliders, block], start=shot.start)  # fmt: skip


def puts(network: Predictor, numbers: Sequence[int], development: bool = False) -> list[Put]:
    """Carry out cases of these numbers; what is refused counts as not put down."""
    return [
        Put(height, *_left(network, shot)) for height, shot in (put_shot(number, development) for number in numbers)
    ]


def _left(network: Predictor, shot: Shot) -> tuple[float, float, float]:
    try:
        meta = SceneBake(shot, network).motion().meta
    except UserError:
        return (math.inf,) * 3
    left = [one for one in meta["corrections"] if one["key"] == 1]
    done = bool(left) and not meta["keys"][1]["trouble"]
    return (left[0]["raw_cm"], left[0]["raw_deg"], left[0]["cm"]) if done else (math.inf,) * 3


def height_figures(found: Sequence[Put], log: Log) -> Figures:
    """Shares done, and mean and largest errors of those that are, of all and of each band of heights."""
    out: Figures = {}
    for number, one in enumerate(sorted(found, key=lambda put: put.height)):
        log(f"put_down {number} {one.height:.2f} m raw {one.raw_cm:.1f} cm {one.raw_deg:.1f} deg, {one.cm:.2f} cm")
    width = HIGHEST / BANDS
    bands = {"all": (0.0, math.inf)} | {
        f"to_{(n + 1) * width:.1f}m": (n * width, (n + 1) * width if n < BANDS - 1 else math.inf) for n in range(BANDS)
    }
    for name, (low, high) in bands.items():
        mine = [one for one in found if low <= one.height < high]
        done = [one for one in mine if math.isfinite(one.raw_cm)]
        if mine:
            out[f"nsm.heights.{name}.done"] = len(done) / len(mine)
        if done:
            for figure in ("raw_cm", "raw_deg", "cm"):
                values = [getattr(one, figure) for one in done]
                out |= {f"nsm.heights.{name}.{figure}": float(np.mean(values)),
                        f"nsm.heights.{name}.{figure}.max": max(values)}  # fmt: skip
    return out
