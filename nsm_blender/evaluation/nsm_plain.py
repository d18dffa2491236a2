# SPDX-License-Identifier: GPL-3.0-or-later
"""What the network does alone: no root filter but the paper's blend (4.2), and before any clean-up.

The tasks are those of the tables of precision, success and heights, so that the figures stand beside theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..baking.nsm import SceneBake
from ..errors import UserError
from ..geometry.colliders import Surroundings
from ..geometry.rooms import random_room
from ..models.nsm_predictor import Predictor
from ..motion.rotations import Array
from ..naturalness.metrics import foot_slide, low_foot_slide
from ..rollout.nsm import ROOT_FILTERS, Options
from ..shot.shot import Shot
from .nsm_bodies import penetration
from .nsm_heights import put_shot
from .nsm_rooms import is_done, task_shots
from .nsm_trials import Figures, Log, trial_shots, until_done

PLAIN = Options(without=frozenset(ROOT_FILTERS))
"""The rollout without root filters."""


@dataclass(frozen=True, eq=False)
class Plain:
    """A task that the network carried out alone.

    kind: "sit", "carry", "put_down" or "room". off_cm, off_deg: how far the hips, the hands or the box ended from where
    they belong; None where nothing is to be reached, or was. slide_cm_per_s: of the feet while the finished motion has
    them on the ground. low_slide_cm_per_s: of low toes, the paper's measure. depths: (F,) meters of the body in
    colliders. moved: (F, J) meters by which the clean-up moves each joint.
    """

    kind: str
    done: bool
    off_cm: float | None
    off_deg: float | None
    slide_cm_per_s: float
    low_slide_cm_per_s: float
    depths: Array
    moved: Array


def plain_trials(network: Predictor, task: str, number: int, starts: int, development: bool = False) -> list[Plain]:
    """The trials of the table of precision with one thing."""
    shots = trial_shots(task, number, starts, development)
    return [plain_of(task, until_done(shot, network, PLAIN), shot) for shot in shots]


def plain_tasks(network: Predictor, seed: int) -> list[Plain]:
    """The tasks of the table of success in one room."""
    shots = task_shots(network, random_room(seed), seed)
    return [plain_of("room", SceneBake(shot, network, PLAIN), shot) for shot in shots]


def plain_puts(network: Predictor, numbers: Sequence[int], development: bool = False) -> list[Plain]:
    """Cases of the table of heights; what is refused counts as not done."""
    out = []
    for number in numbers:
        _, shot = put_shot(number, development)
        try:
            out.append(plain_of("put_down", SceneBake(shot, network, PLAIN), shot))
        except UserError:
            out.append(Plain("put_down", False, None, None, 0.0, 0.0, np.zeros(0), np.zeros((0, 0))))
    return out


def plain_of(kind: str, bake: SceneBake, shot: Shot) -> Plain:
    """What a bake with the options PLAIN did."""
    finished, network = bake.motion(), bake.uncleaned()
    last = len(shot.keys) - 1
    off = next((one for one in finished.meta["corrections"] if one["key"] == last), None)
    used = [goal.collider for goal in shot.goals if goal.collider]
    moved = np.linalg.norm(finished.positions.astype(float) - network.positions, axis=-1)
    return Plain(
        kind,
        all(is_done(key) for key in finished.meta["keys"]),
        None if off is None else off["raw_cm"],
        None if off is None else off["raw_deg"],
        foot_slide(network),
        low_foot_slide(network),
        penetration(network, Surroundings(shot.colliders), used),
        moved.astype(np.float16),
    )


def plain_figures(found: Sequence[Plain], log: Log) -> Figures:
    """All figures, `nsm.plain.*`: precision of those that are done, success, and what the clean-up has left to do."""
    by_kind: Mapping[str, list[Plain]] = {
        kind: [one for one in found if one.kind == kind] for kind in dict.fromkeys(one.kind for one in found)
    }
    out: Figures = {}
    for kind, mine in by_kind.items():
        done = [one for one in mine if one.done]
        name = "nsm.plain.success" if kind == "room" else f"nsm.plain.precision.{kind}"
        out[f"{name}.{'rate' if kind == 'room' else 'finished'}"] = len(done) / len(mine)
        log(f"{kind}: {len(done)} of {len(mine)} done")
        for column, values in (
            ("pe_cm", [one.off_cm for one in done if one.off_cm is not None]),
            ("re_deg", [one.off_deg for one in done if one.off_deg is not None]),
        ):
            if values and kind != "room":
                out |= {f"{name}.{column}": float(np.mean(values)), f"{name}.{column}.max": max(values)}
        # What was refused has no motion to measure.
        baked = [one for one in mine if len(one.depths)]
        if not baked:
            continue
        out[f"nsm.plain.foot_slide_cm_per_s.{kind}"] = float(np.mean([one.slide_cm_per_s for one in baked]))
        out[f"nsm.plain.foot_slide_cm_per_s.{kind}_low"] = float(np.mean([one.low_slide_cm_per_s for one in baked]))
        depth = 100 * np.concatenate([one.depths for one in baked])
        moved = 100 * np.concatenate([one.moved.ravel() for one in baked]).astype(float)
        out |= {
            f"nsm.plain.penetration_cm.{kind}.p99": float(np.percentile(depth, 99)),
            f"nsm.plain.moved_cm.{kind}.mean": float(moved.mean()),
            f"nsm.plain.moved_cm.{kind}.p95": float(np.percentile(moved, 95)),
        }
    return out
