# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sensors are worth where goals are only about right: sitting down on seats that are told aside.

The networks learned with goals that are told beside things (`train nsm --vague-goals`), with and without the sensors,
and do all alone: no root filter but the paper's blend, and before any clean-up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..errors import UserError
from ..geometry.roles import Seat
from ..models.nsm_predictor import Predictor
from .nsm_ablations import FULL, NO_SENSORS, over_trainings
from .nsm_plain import PLAIN
from .nsm_trials import Figures, Log, trial_shots, until_done

COMPARED = (FULL, "no_interaction")
"""Names of the networks that are compared."""
ALSO = ("no_environment", NO_SENSORS)
"""Names of others that a folder may hold."""
ASIDE = 0.3
"""Meters to the left or right of a seat that is told aside."""
_EXACT, _MOVED = "exact", "moved"


@dataclass(frozen=True)
class Sat:
    """Where a character ended that was told a seat.

    moved: whether it was told aside. done: whether it sat down and then stayed. off_cm: from its hips to where they
    belong, which is not where they were told. along_cm: how far they are from there to the side that was told; 0 for
    seats that were told as they are.
    """

    moved: bool
    done: bool
    off_cm: float
    along_cm: float


def networks(folder: Path) -> list[str]:
    """Names of the networks that are compared, and of the others that a folder holds."""
    return [*COMPARED, *(name for name in ALSO if (folder / f"{name}.safetensors").exists())]


def sat(network: Predictor, number: int, starts: int, development: bool = False) -> list[Sat]:
    """Sitting down on one unseen seat from several starts, told where it is, and ASIDE to its left and right. What the
    planner refuses is left out."""
    out: list[Sat] = []
    for aside in (0.0, ASIDE, -ASIDE):
        told, true = (trial_shots("sit", number, starts, development, where) for where in (aside, 0.0))
        for asked, exact in zip(told, true, strict=True):
            seat = exact.colliders[0].handles
            assert isinstance(seat, Seat)
            try:
                bake = until_done(replace(asked, start=exact.start), network, PLAIN)
            except UserError:
                continue
            key = bake.motion().meta["keys"][0]
            off = 100 * (bake.uncleaned().positions[-1, 0, :2].astype(float) - seat.place[:2])
            left = np.array([-seat.facing[1], seat.facing[0]])
            done = not key["trouble"] and key["arrived"] is not None
            out.append(Sat(aside != 0, done, float(np.linalg.norm(off)), float(np.sign(aside) * (off @ left))))
    return out


def moved_goals_figures(trainings: Sequence[Mapping[str, Sequence[Sat]]], log: Log) -> Figures:
    """`nsm.moved_goals.<network>.<exact, moved>.*`, from what the networks of each training did, by name: the share
    that is done, and medians, as a few characters pass by the seat and walk on. Of several trainings means over them
    and their standard errors."""
    out = over_trainings([_of_one(one) for one in trainings], ("_cm",)) | {"nsm.moved_goals.told_aside_cm": 100 * ASIDE}
    for name, value in out.items():
        if name.endswith(".off_cm"):
            log(f"{name.removeprefix('nsm.moved_goals.')}: {value:.1f}")
    return out


def _of_one(found: Mapping[str, Sequence[Sat]]) -> Figures:
    out: Figures = {}
    for name, every in found.items():
        for told in (_EXACT, _MOVED):
            mine = [one for one in every if one.moved == (told == _MOVED)]
            row = f"nsm.moved_goals.{name}.{told}"
            out |= {
                f"{row}.trials": float(len(mine)),
                f"{row}.finished": float(np.mean([one.done for one in mine])),
                f"{row}.off_cm": float(np.median([one.off_cm for one in mine])),
            }
            if told == _MOVED:
                out[f"{row}.along_cm"] = float(np.median([one.along_cm for one in mine]))
    off = {name: out[f"nsm.moved_goals.{name}.{_MOVED}.off_cm"] for name in found}
    for name in found.keys() - {FULL}:
        out[f"nsm.moved_goals.{name}.{_MOVED}.farther_than_full_cm"] = off[name] - off[FULL]
    if {"no_interaction", NO_SENSORS} <= off.keys():
        out[f"nsm.moved_goals.{NO_SENSORS}.{_MOVED}.farther_than_no_interaction_cm"] = (
            off[NO_SENSORS] - off["no_interaction"]
        )
    return out
