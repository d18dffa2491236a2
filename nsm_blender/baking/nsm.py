# SPDX-License-Identifier: GPL-3.0-or-later
"""From a shot with action keys to a motion by the NSM, step by step, and again from the first key that was changed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..cleanup.cleanup import Posed, posing
from ..cleanup.postural_sway import sway_beside
from ..errors import ShotError
from ..geometry.colliders import Surroundings
from ..geometry.ground import Ground
from ..geometry.scene_state import Scenery, blended
from ..models.nsm import ACTIONS, FPS
from ..models.nsm_predictor import Predictor
from ..motion.motion import Motion
from ..motion.rotations import Array, make_continuous
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..planning.path import GroundPath
from ..planning.speed_limits import limits_of
from ..planning.takes import Take
from ..rollout import pfnn_networks
from ..rollout.goal_spec import Stay
from ..rollout.handover import other_phase
from ..rollout.nsm import Options, SceneCharacter, SceneRecord
from ..rollout.nsm_network import actions_of, load, standing_of, with_locomotion
from ..rollout.pfnn import Locomotion
from ..shot.goals import LOCOMOTION
from ..shot.shot import Shot
from ..stepwise import Stepwise, finished
from ..tasks.level_ground import without_flat_ground
from ..tasks.machine import TaskMachine
from ..tasks.mixed_actor import MixedActor
from ..tasks.nsm_actor import NsmActor
from ..tasks.pfnn_actor import Walking
from ..tasks.registry import task_of
from ..tasks.validation import Problem, refuse
from .bake import SETTLING, Bake, Now, jumping_network, sampled_sway, standing
from .kept import unkept_keys
from .retries import Retries, most_frames, retimed, rollout_frames

FRAMES_PER_STEP = 6
"""Frames of the rollout in one `SceneBake.step`: about 20 ms, so that a key press is noticed at once."""
_DIGITS = 5
"""Of the poses of things: hundredths of a millimeter."""

Model = Literal["auto", "pfnn", "nsm"]
"""The network of a bake: "auto" takes the NSM when a key asks for what only it can do."""


def bake_of(
    shot: Shot,
    model: Model = "auto",
    again: Bake | SceneBake | None = None,
    problems: Collection[Problem] | None = None,
) -> Bake | SceneBake:
    """The bake of a shot by the network that suits it. again, problems: see SceneBake. Raises ShotError or
    WeightsError."""
    beyond = any(key.action not in LOCOMOTION for key in shot.keys)
    if model == "nsm" or (model == "auto" and beyond):
        return SceneBake(shot, again=again if isinstance(again, SceneBake) else None, problems=problems)
    return Bake(shot, problems=problems)


def _walked_on(shot: Shot) -> Ground | None:
    """The ground over which a locomotion network leads: that of the shot, or the floor of one that jumps, or names a
    performer and does nothing that the NSM has to walk to by itself. None where there is neither."""
    if shot.ground:
        return Ground.of([mesh.mesh() for mesh in shot.ground])
    tasks = [task_of(key) for key in shot.keys]
    leads = any(task.jumps for task in tasks) or (bool(shot.performer) and all(task.on_ground for task in tasks))
    return Ground.of([], 0.0 if shot.start is None else shot.start[2]) if leads else None


@dataclass(frozen=True, eq=False)
class _Checkpoint:
    """The rollout as it was before key number `key` was begun."""

    key: int
    machine: TaskMachine[NsmActor]

    @property
    def frame(self) -> int:
        """Of the rollout."""
        return self.machine.actor.character.frame


class SceneBake:
    """One bake in progress. `step()` does a small piece of work; repeat until `done`, then ask for `motion()`.

    weights: a file, or a network that is loaded. again: a bake of the same shot before it was edited; what comes before
    the first change is taken from there. problems: what `validation.check` found in the shot, None where that is still
    to be done. Raises ShotError or WeightsError on construction when the shot cannot be
    baked. The same shot and weights give the same motion, bit for bit, on one machine.
    """

    def __init__(
        self,
        shot: Shot,
        weights: Path | str | Predictor | None = None,
        options: Options | None = None,
        again: SceneBake | None = None,
        problems: Collection[Problem] | None = None,
    ) -> None:
        shot.validate()
        if not shot.keys:
            raise ShotError("The NSM bakes action keys, and the shot has none; add one, or choose the PFNN.")
        self._network = load(weights) if weights is None or isinstance(weights, Path | str) else weights
        self._sway = sway_beside(weights if isinstance(weights, Path | str) else None)
        self.shot = shot
        self._played = shot = without_flat_ground(shot)
        self._terrain = _walked_on(shot)
        self._limits = limits_of(self._network.card, "nsm")
        if self._terrain is not None:
            self._walking = pfnn_networks.load(performer=shot.performer)
            self._jumping = jumping_network(shot, self._walking)
            self._limits = limits_of(self._walking.card, "pfnn")
        refuse(shot, with_locomotion(actions_of(self._network.card)), problems, self._limits)
        self._options = options or Options()
        self._retries = Retries()
        self._motion: Motion | None = None
        self._finishing = self._finish()
        self._checkpoints: list[_Checkpoint] = []
        kept = None if again is None else again._before_change(self)
        self._machine = self._begun() if kept is None else kept
        self.first_frame = round(self._machine.actor.character.frame / FPS * shot.fps)
        """The first frame of the shot that was not taken from the bake before."""

    @property
    def _locomotion(self) -> dict[str, str]:
        """Hashes of the networks that walk and jump beside the NSM, where there are any."""
        if self._terrain is None:
            return {}
        jumping = {} if self._jumping is None else {"jumping": self._jumping.hash}
        return {"locomotion": self._walking.hash} | jumping

    @property
    def _frames(self) -> int:
        """Frames of the rollout that the shot needs."""
        return rollout_frames(self.shot, self._machine.clock.warp)

    def _begun(self) -> TaskMachine[NsmActor]:
        shot = self._played
        start = np.array((0.0, 0.0, 0.0, 0.0) if shot.start is None else shot.start, dtype=float)
        scenery = Scenery(Surroundings(shot.colliders), shot.fps)
        if self._terrain is not None:
            start[2] = self._terrain.nearest(start[:2], start[2])
        goal = Stay(start[:3])
        pose, phase = standing_of(self._network), Take(shot.seed).phase
        character = SceneCharacter(self._network, pose, start, scenery, goal, self._options, phase=phase)
        if self._terrain is None:
            return TaskMachine(shot, NsmActor(character, float(start[2]), self._limits))
        x, y, z, angle = start.tolist()
        biases = shot.bias_velocity, shot.bias_direction
        room = most_frames(shot)
        begins = other_phase(phase)
        like = pfnn_networks.performer_of(self._walking, shot.performer, shot.performer_blend)
        legs = Locomotion(self._walking, (x, y, z, angle), room, *biases, self._terrain, like, begins, self._jumping)
        character.glides = not legs.feels
        legs.settle(standing(legs.state), SETTLING)
        asked = Walking(replace(shot, start=[x, y, z, angle]), self._limits, self._terrain)
        return TaskMachine(shot, MixedActor(character, legs, asked, self._terrain))

    def _before_change(self, new: SceneBake) -> TaskMachine[NsmActor] | None:
        """The latest state of this bake that is also one of the new one's, ready to go on with its keys."""
        old, shot = self.shot, new.shot
        same = (old.start, old.fps, old.seed) == (shot.start, shot.fps, shot.seed)
        same &= (old.route_options, old.ground) == (shot.route_options, shot.ground)
        same &= (old.performer, old.performer_blend) == (shot.performer, shot.performer_blend)
        colliders = [[c.to_data() for c in one.colliders] for one in (old, shot)]
        if not same or colliders[0] != colliders[1] or new._network.hash != self._network.hash:
            return None
        if new._options != self._options or new._locomotion != self._locomotion:
            return None
        goals = [{goal.name: goal for goal in one.goals} for one in (old, shot)]
        equal = 0
        for before, after in zip(old.keys, shot.keys, strict=False):
            if before != after or goals[0].get(before.goal) != goals[1].get(after.goal):
                break
            equal += 1
        usable = [
            c
            for c in self._checkpoints
            if c.key <= equal and c.machine.actor.character.frame <= rollout_frames(shot, c.machine.clock.warp)
        ]
        if not usable:
            return None
        new._checkpoints = usable[:-1]
        return usable[-1].machine.resumed(new._played)

    @property
    def done(self) -> bool:
        """All frames are made."""
        return self._motion is not None

    @property
    def progress(self) -> float:
        """Share of the work that is done, 0..1."""
        return 1.0 if self.done else 0.98 * self._machine.actor.character.frame / self._frames

    @property
    def keys_done(self) -> bool:
        """All keys are done, whatever became of them; the rest of the shot is staying there."""
        return self._machine.number == len(self.shot.keys)

    def end_here(self) -> None:
        """End the shot with the frames that are made so far, and what its last frame still needs."""
        made = self._machine.actor.character.frame
        if not self.done and made > 1:
            frames = math.ceil(self._machine.clock.warp.time(made - 1) * self.shot.fps / FPS - 1e-6) + 1
            self.shot = replace(self.shot, frames=min(frames, self.shot.frames))

    def record(self) -> SceneRecord:
        """What the network predicted so far, at 60 fps."""
        return self._machine.actor.character.record()

    def now(self) -> Now | None:
        """The last frame that was made, before the last correction; None before the first."""
        character = self._machine.actor.character
        return Now(character.places, dict(character.scenery.moved)) if character.frame else None

    @property
    def path(self) -> GroundPath | None:
        """No curve is followed."""
        return None

    def step(self) -> None:
        """Advance by a few frames, or finish when all are there."""
        machine = self._machine
        frame = machine.actor.character.frame
        if frame >= self._frames:
            machine.clock.lose(machine.number)
            if not self._try_again():
                next(self._finishing, None)
            return
        for _ in range(min(FRAMES_PER_STEP, self._frames - frame)):
            known = self._checkpoints[-1].key if self._checkpoints else -1
            if machine.between_keys and machine.number > known:
                self._checkpoints.append(_Checkpoint(machine.number, machine.fork()))
            machine.advance()
            if self._try_again():
                machine = self._machine
            else:
                machine.actor.step()

    def _try_again(self) -> bool:
        """Back to where a key began that did not arrive in time, to set off earlier or go faster; whether it is."""
        lead = self._retries.lead(self._machine)
        if lead is not None:
            self._machine = self._checkpoints[-1].machine.fork()
            self._machine.clock.lead = lead
        return lead is not None

    def motion(self) -> Motion:
        """The finished motion at the shot's frame rate, exactly `shot.frames` frames."""
        while not self.done:
            self.step()
        assert self._motion is not None
        return self._motion

    def cleaned_without(self, *terms: str) -> Motion:
        """The motion of the same rollout, cleaned up without some of `cleanup.TERMS`, once the bake is done."""
        self.motion()
        return finished(self._cleaned(terms))

    def uncleaned(self) -> Motion:
        """The finished motion with its joints where the network has them at the same moments: what the clean-up moved
        is the difference. Contacts, keys and things are those of the finished motion."""
        done, record = self.motion(), self.record()
        contacts = np.zeros((len(record.root), len(CONTACT_JOINTS)), np.float32)
        network = _made(record, record.places, make_continuous(record.rotations), record.root, contacts, {})
        shown = finished(network.resampling(done.fps, len(done), self._machine.clock.warp))
        return replace(done, positions=shown.positions, rotations=shown.rotations, root=shown.root)

    def _finish(self) -> Iterator[None]:
        self._motion = yield from self._cleaned()

    def _cleaned(self, without: Collection[str] = ()) -> Stepwise[Motion]:
        """The motion of the rollout, in pieces of work."""
        machine, shot = self._machine, self.shot
        record = yield from machine.actor.character.recording()
        colliders = retimed(shot.colliders, machine.clock.warp, shot.fps)
        sway = yield from sampled_sway(self._sway, shot, len(record.root))
        body = yield from posing(
            record,
            machine.seatings,
            machine.actor.hands,
            colliders,
            shot.fps / FPS,
            without,
            shot.body_radii,
            self._terrain,
            sway,
        )
        keys = machine.report()
        for one in body.corrections:
            keys[one.key]["error_cm"], keys[one.key]["error_deg"] = one.cm, one.deg
        things = yield from self._things(body)
        meta = {
            "model": "nsm",
            "weights": self._network.hash,
            "shot": shot.hash(),
            "seed": shot.seed,
            "name": shot.name,
            **self._locomotion,
            "keys": keys,
            "corrections": body.told(),
            "things": things,
            "holds": self._holds(),
        }
        made = _made(record, body.places, make_continuous(body.rotations), body.root, body.contacts, meta)
        yield
        seams = machine.clock.warp.times(np.array(machine.actor.character.seams, dtype=float)) / FPS
        if len(seams):
            made = replace(made, meta=made.meta | {"handovers": np.round(seams, 3).tolist()})
        baked = yield from made.resampling(shot.fps, shot.frames, machine.clock.warp)
        notes = unkept_keys(shot, baked)
        return replace(baked, meta=baked.meta | {"notes": notes}) if notes else baked

    def _holds(self) -> dict[str, list[list[float]]]:
        """LeftHand and RightHand -> seconds from which and to which the hand holds a thing or a handle."""
        hands, end = self._machine.actor.hands, self._frames - 1
        out: dict[str, list[list[float]]] = {"LeftHand": [], "RightHand": []}
        for hold in hands.holds if hands is not None else ():
            for spans in out.values():
                spans.append([hold.taken / FPS, (end if hold.left is None else hold.left) / FPS])
        for grip in hands.grips if hands is not None else ():
            out[f"{grip.side}Hand"].append([grip.first / FPS, grip.last / FPS])
        return out

    def _things(self, body: Posed) -> Stepwise[dict[str, list[list[float]]]]:
        """Poses of the things that were moved, one for each frame of the shot."""
        shown = self._machine.clock.warp.frames(np.arange(self.shot.frames) * (FPS / self.shot.fps))
        times = np.minimum(shown, len(body.root) - 1)
        first = np.floor(times).astype(int)
        last = np.minimum(first + 1, len(body.root) - 1)

        def resampled(poses: Array) -> list[list[float]]:
            out: list[list[float]] = np.round(blended(poses[first], poses[last], times - first), _DIGITS).tolist()
            return out

        out = {}
        for name, poses in body.things.items():
            yield
            out[name] = resampled(poses)
        return out


def _made(
    record: SceneRecord, places: Array, rotations: Array, root: Array, contacts: Array, meta: dict[str, Any]
) -> Motion:
    """A motion at the rollout's frames with the phase and the labels of its record."""
    return Motion(
        names=MODEL_SKELETON.names,
        parents=MODEL_SKELETON.parents,
        positions=places.astype(np.float32),
        rotations=rotations.astype(np.float32),
        root=root.astype(np.float32),
        contacts=contacts,
        contact_names=CONTACT_JOINTS,
        phase=record.phase.astype(np.float32),
        actions=record.actions.astype(np.float32),
        action_names=ACTIONS,
        fps=FPS,
        meta=meta,
    )
