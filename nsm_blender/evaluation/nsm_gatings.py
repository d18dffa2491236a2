# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Kronecker product of the gating is worth (NSM eq. 5): walks to unseen seats, with it and without.

The networks do all alone: no root filter but the paper's blend, and before any clean-up. The fewer frames they learned
from, the more they need to be told that phase and goal work together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..models.nsm_predictor import Predictor
from .nsm_ablations import FULL, over_trainings
from .nsm_picture import share_of_phase
from .nsm_plain import PLAIN, Plain, plain_of
from .nsm_trials import Figures, Log, trial_shots, until_done

COMPARED = (FULL, "concatenation")
"""Names of the networks that are compared."""


@dataclass(frozen=True, eq=False)
class Walked:
    """A walk to a seat, and sitting down. by_phase: share of the gates' variance in walking that the phase explains,
    None where the walk is too short."""

    plain: Plain
    by_phase: float | None


def walked(network: Predictor, number: int, starts: int, development: bool = False) -> list[Walked]:
    """Walks to one unseen seat from several starts."""
    out: list[Walked] = []
    for shot in trial_shots("sit", number, starts, development):
        bake = until_done(shot, network, PLAIN)
        out.append(Walked(plain_of("sit", bake, shot), share_of_phase(bake.record(), "walk")))
    return out


def gatings_figures(trainings: Sequence[Mapping[str, Sequence[Walked]]], log: Log) -> Figures:
    """`nsm.gatings.<network>.*`, from what the networks of each training did, by name. Of several trainings means over
    them and their standard errors."""
    out = over_trainings([_of_one(one) for one in trainings], ("by_phase", "_cm_per_s", "_cm", ".finished"))
    for name, value in out.items():
        log(f"{name.removeprefix('nsm.gatings.')}: {value:.2f}")
    return out


def _of_one(found: Mapping[str, Sequence[Walked]]) -> Figures:
    out: Figures = {}
    for name, every in found.items():
        slides = [one.plain.low_slide_cm_per_s for one in every]
        moved = [100 * one.plain.moved.astype(float).mean() for one in every]
        shares = [one.by_phase for one in every if one.by_phase is not None]
        out |= {
            f"nsm.gatings.{name}.trials": float(len(every)),
            f"nsm.gatings.{name}.finished": float(np.mean([one.plain.done for one in every])),
            f"nsm.gatings.{name}.gates_by_phase": float(np.mean(shares)) if shares else 0.0,
            f"nsm.gatings.{name}.low_foot_slide_cm_per_s": float(np.mean(slides)),
            f"nsm.gatings.{name}.moved_cm": float(np.mean(moved)),
        }
    full, other = (f"nsm.gatings.{name}" for name in COMPARED)
    for figure, more in (("low_foot_slide_cm_per_s", "slides_more_than_full_cm_per_s"), ("moved_cm", "moved_more_cm")):
        out[f"{other}.{more}"] = out[f"{other}.{figure}"] - out[f"{full}.{figure}"]
    return out
