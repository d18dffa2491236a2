# SPDX-License-Identifier: GPL-3.0-or-later
"""From a shot to a motion by the NSM or the PFNN, and what can be told before."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ..baking.bake import Bake
from ..baking.nsm import Model, SceneBake, bake_of
from ..errors import WeightsError
from ..models.weights import read_card
from ..motion.motion import Motion
from ..paths import weights_folder
from ..planning.speed_limits import shipped
from ..rollout import nsm_network
from ..shot.goals import LOCOMOTION
from ..shot.shot import Shot
from ..stepwise import Stepwise, finished
from ..tasks import arrival_times, validation
from ..tasks.arrival_times import Foreseen
from ..tasks.validation import Problem
from .work import Progress, run


def bake(
    shot: Shot, model: Model = "auto", *, weights: Path | str | None = None, progress: Progress | None = None
) -> Motion:
    """Bake a shot: `shot.frames` frames at `shot.fps`, in the world, meters, Z up.

    model: "nsm" (Starke et al. 2019; action keys only), "pfnn" (Holden et al. 2017; curves, velocities and keys that
    only walk and jump), or "auto": the NSM where a key asks for more, else the PFNN. weights: a file of that network in
    place of the shipped one. The result's `meta["keys"]` says what became of each action key. The same shot
    and weights give the same motion, bit for bit, on one machine. Raises ShotError, RouteError or WeightsError.
    """
    work = begin_bake(shot, model, weights=weights)
    run(work, progress)
    return work.motion()


def begin_bake(
    shot: Shot,
    model: Model = "auto",
    *,
    weights: Path | str | None = None,
    again: Bake | SceneBake | None = None,
    problems: Collection[Problem] | None = None,
) -> Bake | SceneBake:
    """The same in small steps of some milliseconds: `step()` until `done`, then `motion()`.

    again: a bake of the shot as it was before it was edited; by the NSM, what comes before the first change is taken
    from there. A bake by the NSM can end early: `end_here()`. problems: what `find_problems` found in the shot, so that
    it is not looked for again. Arguments and errors else as for `bake`, on construction.
    """
    if weights is None:
        return bake_of(shot, model, again, problems)
    if model == "auto":
        raise WeightsError(f"{weights}: other weights belong to one network; choose the model 'nsm' or 'pfnn'.")
    if model == "pfnn":
        return Bake(shot, weights, problems)
    return SceneBake(shot, weights, again=again if isinstance(again, SceneBake) else None, problems=problems)


def supported_actions(model: Model = "auto") -> tuple[str, ...]:
    """The actions that keys may ask for in a bake by `model`, out of ACTIONS. Raises WeightsError when the network is
    not installed or its card cannot be read."""
    if model == "auto":
        return nsm_network.able()
    if model == "pfnn":
        return LOCOMOTION
    path = weights_folder() / nsm_network.FILE
    if not path.is_file():
        raise WeightsError(
            f"The weights of the Neural State Machine ({path.name}) are not part of this installation; choose another "
            "controller, or install the extension with them."
        )
    return nsm_network.actions_of(read_card(path))


def find_problems(shot: Shot, model: Model = "auto") -> list[Problem]:
    """What cannot work in the action keys of a shot, in their order, before anything is baked; none when all is well.

    A bake is refused for those that are `fatal`. Raises ShotError when the shot's data make no sense, and WeightsError
    as `supported_actions`.
    """
    return finished(begin_check(shot, model))


def begin_check(shot: Shot, model: Model = "auto") -> Stepwise[list[Problem]]:
    """`find_problems` in pieces of some milliseconds: a generator that yields after each and returns what it found."""
    limits = None if model == "auto" else shipped(model)
    return validation.checking(shot, supported_actions(model), limits)


def foresee(shot: Shot) -> list[Foreseen]:
    """The way of each action key of a shot, and about when it is done (in frames of the shot), before anything is
    baked. Raises ShotError when the shot's data make no sense; a goal that cannot be reached is told in its entry."""
    shot.validate()
    return arrival_times.foresee(shot, supported_actions())
