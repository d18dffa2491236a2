# SPDX-License-Identifier: GPL-3.0-or-later
"""From a shot to a motion, step by step, so that a modal operator can show progress and stop."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..cleanup.pfnn_foot_lock import contacts_of, locking_feet
from ..cleanup.postural_sway import sway_beside
from ..errors import ShotError
from ..geometry.ground import Ground
from ..models.pfnn import FPS
from ..models.pfnn_kernels import PFNN
from ..models.sway import Sample, Sway
from ..motion.gait import GAITS
from ..motion.motion import Motion
from ..motion.rotations import Array, make_continuous
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..motion.time_warp import TimeWarp
from ..planning.flights import flights_along
from ..planning.path import GroundPath
from ..planning.path_on_ground import BlockedPathError, PathSurface, check_path, height_at_start
from ..planning.speed_limits import limits_of
from ..planning.takes import Take
from ..planning.trajectory import Commands, Future, PathCommands, State, VelocityCommands, start_of
from ..rollout import pfnn_networks
from ..rollout.pfnn import Locomotion, Record
from ..rollout.pose import decode, joint_places
from ..rollout.terrain import gliding
from ..shot.goals import LOCOMOTION
from ..shot.shot import Shot, VelocityFollow
from ..stepwise import Stepwise, finished
from ..tasks.pfnn_actor import PfnnActor
from ..tasks.registry import task_of
from ..tasks.validation import Problem, refuse
from .gaps import StepsOver
from .ground_feet import FEET_PARTS, planting_on_ground
from .kept import unkept, unkept_keys
from .leaping import fitted
from .retries import Retries, most_frames, rollout_frames

FRAMES_PER_STEP = 12
"""Frames of the rollout in one `Bake.step`: about 5 ms, so that a key press is noticed at once."""
SETTLING = 60
"""Frames of standing before the first, in which the mean pose becomes a natural one."""
PACING, FITTING, GLIDING = "tread_pacing", "leap_fitting", "root_glide"
FINISHING_PARTS = (FITTING, GLIDING, *FEET_PARTS)
"""Names of the parts of bakes over ground that follow the rollout: leaps that are made to fit their gaps, a root whose
height goes smoothly, and what is done to feet."""
GROUND_PARTS = (PACING, *FINISHING_PARTS)
"""Names of the parts of bakes over ground that can be left out: walks that take a tread a step, and what follows the
rollout."""


@dataclass(frozen=True, eq=False)
class Now:
    """How far a rollout has come. places: (J, 3) joints in the world, as the network has them. things: pose (7,) of
    each thing that was moved so far, by name."""

    places: Array
    things: dict[str, Array] = field(default_factory=dict)


class Bake:
    """One bake in progress. `step()` does a small piece of work; repeat until `done`, then ask for `motion()`.

    problems: what `validation.check` found in the shot, None where that is still to be done. without: GROUND_PARTS
    that are left out. Raises ShotError or WeightsError on construction when the shot cannot be baked, ValueError for a
    part that there is not. The same shot and weights give the same motion, bit for bit, on one machine.
    """

    def __init__(
        self,
        shot: Shot,
        weights: Path | str | None = None,
        problems: Collection[Problem] | None = None,
        without: Collection[str] = frozenset(),
    ) -> None:
        shot.validate()
        unknown = sorted({*without} - {*GROUND_PARTS})
        if unknown:
            raise ValueError(f"Bakes over ground have no parts {unknown}; they have {list(GROUND_PARTS)}.")
        self.shot, self._without = shot, without
        self._network = pfnn_networks.load(weights, shot.performer)
        self._jumping = jumping_network(shot, self._network, weights)
        self._sway = sway_beside(weights)
        limits = limits_of(self._network.card, "pfnn")
        if shot.keys:
            refuse(shot, LOCOMOTION, problems, limits)
        self._ground = Ground.of([mesh.mesh() for mesh in shot.ground]) if shot.ground else None
        self._commands: Commands
        if shot.path is not None:
            self._commands = PathCommands(shot.path, shot.fps, shot.seed)
            start = start_of(shot.path)
        elif shot.velocity is not None:
            self._commands = VelocityCommands(shot.velocity, shot.fps, shot.seed)
            start = (0.0, 0.0, 0.0, shot.velocity.facings[0])
        else:
            self._commands = PfnnActor(shot, limits, self._ground)
            start = (0.0, 0.0, 0.0, 0.0)
        if shot.start is not None:
            start = (shot.start[0], shot.start[1], shot.start[2], shot.start[3])
        self._steps_over: StepsOver | None = None
        felt = self._ground
        if self._ground is not None and isinstance(self._commands, PathCommands) and self.path is not None:
            height = height_at_start(self.path, self._ground, start[2])
            start = (start[0], start[1], height, start[3])
            surface = self._checked(self.path, self._ground, height, weights)
            flights = [] if PACING in without else flights_along(self.path, self._ground, surface.heights)
            self._commands.take(flights, surface.gaps)
            if surface.gaps:
                self._steps_over = StepsOver(self.path, surface.gaps)
                felt = self._steps_over.bridged(shot.ground)
        self._character = Locomotion(
            self._network,
            start,
            most_frames(shot),
            shot.bias_velocity,
            shot.bias_direction,
            felt,
            pfnn_networks.performer_of(self._network, shot.performer, shot.performer_blend),
            Take(shot.seed).phase,
            self._jumping,
        )
        self._retries, self._begun = Retries(), (-1, self._character, self._commands)
        self._stand, self._unsettled = standing(self._character.state), SETTLING
        self._motion: Motion | None = None
        self._finishing = self._finish()

    def _checked(self, path: GroundPath, ground: Ground, height: float, weights: Path | str | None) -> PathSurface:
        """What the path leads over from a height on; where it has to leap, the network that can takes over.

        Raises BlockedPathError.
        """
        try:
            return check_path(path, ground, height, self.shot.ground)
        except BlockedPathError:
            jumping = pfnn_networks.that_jumps(self._network, weights)
            if jumping is None:
                raise
        surface = check_path(path, ground, height, self.shot.ground, leaps=True)
        self._jumping = jumping
        return surface

    @property
    def _frames(self) -> int:
        """Frames of the rollout that the shot needs."""
        commands = self._commands
        return rollout_frames(self.shot, commands.machine.clock.warp if isinstance(commands, PfnnActor) else TimeWarp())

    @property
    def done(self) -> bool:
        """All frames are made."""
        return self._motion is not None

    @property
    def progress(self) -> float:
        """Share of the work that is done, 0..1."""
        return 1.0 if self.done else 0.98 * self._character.frame / self._frames

    def now(self) -> Now | None:
        """The last frame that was made, before the feet are locked; None before the first."""
        record = self._character.record()
        last = Record(record.root[-1:], record.y[-1:], record.phase[-1:], record.gait[-1:])
        return Now(decode(last, self._network.rotation_reference)[2][0]) if len(last.root) else None

    def step(self) -> None:
        """Advance by a few frames, or finish when all are there."""
        character = self._character
        if self._unsettled:
            frames = min(FRAMES_PER_STEP, self._unsettled)
            character.settle(self._stand, frames)
            self._unsettled -= frames
            return
        if character.frame >= self._frames:
            next(self._finishing, None)
            return
        for _ in range(min(FRAMES_PER_STEP, self._frames - character.frame)):
            self._advance()

    def _advance(self) -> None:
        """On by a frame, or back to where a key began that arrived too far from its time."""
        character, commands = self._character, self._commands
        if not isinstance(commands, PfnnActor):
            character.step(commands.future(character.state))
            return
        machine = commands.machine
        if machine.between_keys and machine.is_timed and machine.number != self._begun[0]:
            self._begun = machine.number, character.fork(), commands.fork()
        future = commands.future(character.state)
        lead = self._retries.lead(machine)
        if lead is None:
            character.step(future)
            return
        _, character, begun = self._begun
        assert isinstance(begun, PfnnActor)
        self._character, self._commands = character.fork(), begun.fork()
        self._commands.machine.clock.lead = lead

    def motion(self) -> Motion:
        """The finished motion at the shot's frame rate, exactly `shot.frames` frames."""
        while not self.done:
            self.step()
        assert self._motion is not None
        return self._motion

    @property
    def path(self) -> GroundPath | None:
        """The path that is followed, if the shot has one."""
        return self._commands.path if isinstance(self._commands, PathCommands) else None

    def unlocked(self, without: str = "") -> Motion:
        """The motion at 60 fps before the feet are locked; for comparison. without: one of FINISHING_PARTS, left out
        too."""
        record = self._record({*self._without, without})
        hips, rotations, _ = decode(record, self._network.rotation_reference)
        places = joint_places(hips, rotations)
        return self._as_motion(record, places, rotations, contacts_of(record, places))

    def motion_without(self, part: str) -> Motion:
        """The same rollout's motion with one of FINISHING_PARTS left out, too."""
        if not self.done:
            raise RuntimeError("The bake is not done yet.")
        return finished(self._finished({*self._without, part}))

    def _record(self, without: Collection[str]) -> Record:
        """What the rollout left, the root's height smooth over ground and its way stretched to what is leapt over."""
        record = self._character.record()
        if self._ground is not None and not self._character.feels and GLIDING not in without:
            record = replace(record, root=gliding(record.root))
        if isinstance(self._commands, PathCommands) and FITTING not in without:
            leaps = self._commands.leaps.leaps
            record = fitted(record, self._network.rotation_reference, self._commands.path, leaps)
        return record

    def _finish(self) -> Iterator[None]:
        self._motion = yield from self._finished(self._without)

    def _finished(self, without: Collection[str]) -> Stepwise[Motion]:
        """The motion that the rollout becomes."""
        record = self._record(without)
        commands = self._commands
        reference = self._network.rotation_reference
        sway = yield from sampled_sway(self._sway, self.shot, len(record.root))
        if self._ground is not None:
            over = self._steps_over
            locked = yield from planting_on_ground(record, reference, self._ground, over, without, sway)
        else:
            above = commands.undersides(record.root[:, :2]) if isinstance(commands, PfnnActor) else None
            locked = yield from locking_feet(record, reference, self._character.height, above, sway)
        yield
        motion = self._as_motion(record, *locked)
        yield
        warp = commands.machine.clock.warp if isinstance(commands, PfnnActor) else None
        baked = yield from motion.resampling(self.shot.fps, self.shot.frames, warp)
        treads, leaps = (commands.treads, commands.leaps) if isinstance(commands, PathCommands) else (None, None)
        notes = [*unkept(self.shot, baked, self.path, treads, leaps), *unkept_keys(self.shot, baked)]
        return replace(baked, meta=baked.meta | {"notes": notes}) if notes else baked

    def _outcomes(self) -> dict[str, Any]:
        """What became of the action keys, for the report; nothing for a shot without."""
        commands = self._commands
        return {"keys": commands.report(self._character.state)} if isinstance(commands, PfnnActor) else {}

    def _as_motion(self, record: Record, positions: Array, rotations: Array, contacts: Array) -> Motion:
        return Motion(
            names=MODEL_SKELETON.names,
            parents=MODEL_SKELETON.parents,
            positions=positions.astype(np.float32),
            rotations=make_continuous(rotations).astype(np.float32),
            root=record.root.astype(np.float32),
            contacts=contacts,
            contact_names=CONTACT_JOINTS,
            phase=record.phase,
            actions=record.gait.astype(np.float32),
            action_names=GAITS,
            fps=FPS,
            meta=self._outcomes()
            | {
                "model": "pfnn",
                "weights": self._network.hash,
                **({} if self._jumping is None else {"jumping": self._jumping.hash}),
                "shot": self.shot.hash(),
                "seed": self.shot.seed,
                "name": self.shot.name,
            },
        )


def jumping_network(shot: Shot, network: PFNN, weights: Path | str | None = None) -> PFNN | None:
    """The network that takes over in the jumps of a shot's keys: that of a weights file itself, or the one beside it.
    None where there are no jumps.

    Raises WeightsError, and ShotError where none can jump.
    """
    if not any(task_of(key).jumps for key in shot.keys):
        return None
    jumping = pfnn_networks.that_jumps(network, weights)
    if jumping is None:
        raise ShotError("The weights know no jump, and there are none beside them that do. Leave the jumps out.")
    return jumping


def sampled_sway(sway: Sway | None, shot: Shot, frames: int) -> Stepwise[Sample | None]:
    """The sway of a shot's take, for frames of its rollout, in pieces; None where there is none. Characters that wait
    side by side do not sway together."""
    yield
    if sway is None:
        return None
    return (yield from sway.sampling([shot.seed, zlib.crc32(shot.name.encode())], frames, FPS, shot.sway))


def standing(state: State) -> Future:
    """The command to stand at a place."""
    return VelocityCommands(VelocityFollow([[0.0, 0.0]], [state.angle], ["stand"]), FPS).future(state)
