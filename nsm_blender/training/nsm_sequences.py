# SPDX-License-Identifier: GPL-3.0-or-later
"""Sequences in closed loop: training meets the network's own root, pose, trajectory, labels and phase, as in a bake.

All that the rollout feeds back is fed back, by the same functions (`rollout.feedback`). A state that has strayed from
the recording is led back to it: what is to be predicted is the recording, displaced by a deviation that fades. That is
what the paper's augmentation blends (NSM 5.2), for every state that the network brings about.

A sequence has a world of its own, in which the recorded root begins at the origin and faces -Y.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch

from ..models.layout import Layout
from ..models.nsm import ACTIONS, CONTACTS, CURRENT, DT, FPS, FRAME, GOAL, OUTPUT, SAMPLE_FRAMES
from ..motion.root import angle_of, direction, to_local, to_world
from ..motion.rotations import Array
from ..rollout.feedback import bidirectional, future, next_positions, next_root, piece, velocities
from ..rollout.nsm_features import CORNERS, WINDOW
from .anchored_hands import MOVED, TOUCHES, WRISTS, reached, strayed
from .nsm_batches import Batches, Raw
from .nsm_data import Packed
from .pose_offset import ASTRAY as SHARE
from .pose_offset import PoseOffset


@dataclass(frozen=True)
class Astray:
    """How far beside its recording a sequence begins, about as far as a rollout strays: where its goal and the thing
    that is used are then differs from where they were recorded; and how fast it is led back."""

    share: float = 0.6
    """Share of the sequences that begin beside it."""
    at_goal: float = 0.03
    """Standard deviation in meters of the root's place at the goal."""
    per_meter: float = 0.05
    """Meters by which that deviation grows for each meter away from the goal."""
    largest: float = 0.2
    """Largest standard deviation in meters of the root's place."""
    turn: float = 0.07
    """Standard deviation in radians of the root's facing."""
    rate: float = 2.0
    """Rate in 1/s at which the deviation fades: after a second an eighth of it is left."""


ASTRAY = Astray()
FAR_ASTRAY = Astray(at_goal=0.1, per_meter=0.15, largest=0.3, turn=0.15, rate=6.0)
"""As far as a rollout without root filters strays that has overshot its turn before a wide seat, led back while it sits
down. On a way a network that learns this no longer sets off: a goal 10 cm ahead is then that of a root that strayed."""
_PLANTED = 0.25
"""Share of the rate at which deviations fade that is left while both feet are planted: they would slide as fast as the
root is led."""
_STILL = 0.01
"""Meters between the goals of two samples, half a second from each other, up to which they are one place: those of a
way are apart."""
_HALF_SECOND = round(0.5 * FPS / SAMPLE_FRAMES)
"""Samples in that time."""
_PHASES = 0.005
"""Share of all frames, in the order of their phases, up to which two are at about the same one."""
_FARTHEST = 0.2
"""Largest mean distance in meters of the joints from the recorded pose in which a sequence begins: about that of a walk
from a stop; from farther away there is no way within a second."""
_STEPS = ("idle", "walk", "run")
"""Actions that are told apart by nothing else than speed, and follow each other at any time."""
_HANDS = [CONTACTS.index(side + "Hand") for side in ("Left", "Right")]
_POSE = ("joint_position", "joint_rotation", "joint_velocity")
_STEP = 0.02
"""Meters of a change of the root's height in a frame from which it is one, and no rounding of stored numbers."""


class Sequences:
    """N sequences from the rows (N,) of the packed data on: `inputs`, then `advance` with what was predicted from them,
    and so on frame by frame.

    drawn: (N, 4) of `drawn`, by which the sequences begin as far from the recording as astray says. pose_noise: (N,
    FRAME.size) that is added to the first frames. posed: rows (N,) in whose poses they begin, their own for those that
    begin as recorded. at_things: the same as astray for sequences that come to a thing, by default astray. aside: (N,
    2) meters by which the goals of these are told beside where they are: no matter what is told, what is to be
    predicted is to use the thing, which the sensors show.
    """

    def __init__(
        self,
        batches: Batches,
        rows: torch.Tensor,
        drawn: torch.Tensor,
        pose_noise: torch.Tensor,
        posed: torch.Tensor,
        astray: Astray = ASTRAY,
        at_things: Astray | None = None,
        aside: torch.Tensor | None = None,
    ) -> None:
        self._batches, self._rows, self._step = batches, rows, 0
        self._astray = astray, astray if at_things is None else at_things
        self._aside = torch.zeros((len(rows), 2), device=pose_noise.device) if aside is None else aside
        self._raw, self._recorded_phase, self._recorded_y = batches.raw(rows)
        self._off = self._posed_as(posed)
        self._frame, self._phase = self._raw["frame"] + pose_noise, self._recorded_phase
        for name, off in zip(_POSE, (self._off.place, self._off.turn, self._off.rate), strict=True):
            self._frame[:, getattr(FRAME, name)] += off
        self._recorded = torch.zeros((len(rows), 4), device=pose_noise.device)
        # Seconds from a frame to each of its future samples.
        samples = OUTPUT.shape("trajectory_position")[0]
        self._ahead = torch.arange(1, samples + 1, device=pose_noise.device) * (SAMPLE_FRAMES * DT)
        self._begin = self._root = self._beside(drawn.to(pose_noise.device))
        self._arms = self._reaching(self._frame, FRAME, self._recorded, self._root)
        self._history: list[tuple[torch.Tensor, torch.Tensor]] = []

    def _beside(self, drawn: torch.Tensor) -> torch.Tensor:
        """Where the roots (N, 4) begin."""
        away = _shaped(self._raw["goal"], "position", GOAL)[:, -1, :2].norm(dim=1)
        chosen = (drawn[:, 0] < self._how("share")).float()
        spread = (self._how("at_goal") + self._how("per_meter") * away).minimum(self._how("largest")) * chosen
        out = torch.zeros_like(self._recorded)
        out[:, :2] = drawn[:, 1:3] * spread[:, None]
        out[:, 3] = drawn[:, 3] * self._how("turn") * chosen
        return out

    def _how(self, name: str) -> torch.Tensor:
        """A field (N,) of `Astray`, of sequences on their ways and of those that come to a thing now."""
        on_ways, at_things = (torch.full_like(self._aside[:, 0], getattr(one, name)) for one in self._astray)
        return torch.where(self._comes_to_thing(), at_things, on_ways)

    def _comes_to_thing(self) -> torch.Tensor:
        """Whether (N,) one place is told, and the thing there is seen."""
        goals = _shaped(self._raw["goal"], "position", GOAL)
        still = (goals[:, -1] - goals[:, -1 - _HALF_SECOND]).norm(dim=1) < _STILL
        return still & self._uses()

    def _told(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The goals' places (N, SAMPLES, 3) and directions (N, SAMPLES, 2) in the world, as they are told."""
        place, heading = _in_world(self._raw["goal"], GOAL, "", self._recorded)
        off = self._aside * self._comes_to_thing()[:, None]
        return torch.cat((place[..., :2] + off[:, None], place[..., 2:]), dim=-1), heading

    def _uses(self) -> torch.Tensor:
        """Whether (N,) a thing is used: the vectors from the interaction sensor's cells are zero where none is."""
        return self._raw["interaction"][:, -3 * CORNERS :].abs().sum(dim=1) > 0

    def _posed_as(self, rows: torch.Tensor) -> PoseOffset:
        """From the recorded poses to those of other rows (N,)."""
        there, _, y = self._batches.raw(rows)

        def off(name: str) -> tuple[torch.Tensor, torch.Tensor]:
            before, after = getattr(FRAME, name), getattr(OUTPUT, name)
            other, own = there["frame"][:, before], self._raw["frame"][:, before]
            return other - own, ((y[:, after] - other) - (self._recorded_y[:, after] - own)) * FPS

        return PoseOffset(*off("joint_position"), *off("joint_rotation"))

    @property
    def rows(self) -> torch.Tensor:
        """Rows (N,) of the packed data with the recording of the present frames."""
        return self._rows + self._step

    def fork(self) -> Sequences:
        """A copy that goes on from here on its own."""
        out = copy.copy(self)
        out._history = list(self._history)
        return out

    def inputs(self) -> tuple[Raw, torch.Tensor]:
        """What the network is given, in natural units, and the phase (N,)."""
        raw = dict(self._raw)
        raw["frame"] = self._frame
        raw["goal"] = self._goal_from_here()
        raw["interaction"] = self._interaction_from_here()
        return raw, self._phase

    def advance(self, y: torch.Tensor, keep: bool = True) -> torch.Tensor:
        """Feed back an output (N, OUTPUT.size) in natural units. Returns what it should have been. keep: whether
        gradients go on to the frames before."""
        raw, phase, recorded_y = self._batches.raw(self.rows + 1)
        after, lift = self._recorded_next(raw)
        with torch.no_grad():
            target, self._arms = self._target(next_root(y, self._root) + lift, after)
        self._history.append((self._root, _shaped(self._frame, "trajectory_action")[:, CURRENT]))
        fed = self._fed_back(y if keep else y.detach(), lift)
        self._step += 1
        self._raw, self._recorded, self._recorded_phase, self._recorded_y = raw, after, phase, recorded_y
        self._frame = self._fed_frame(*fed)
        return target

    def right(self) -> torch.Tensor:
        """What should be predicted now (N, OUTPUT.size) where just that is fed back, in natural units."""
        after, lift = self._recorded_next(self._batches.raw(self.rows + 1)[0])
        with torch.no_grad():
            # How the root should go on does not depend on the root after, in whose frame the rest is.
            way, _ = self._target(after, after)
            return self._target(next_root(way, self._root) + lift, after)[0]

    def _recorded_next(self, raw: Raw) -> tuple[torch.Tensor, torch.Tensor]:
        """The recorded roots (N, 4) of the next frames, whose inputs are given, and by how much (N, 4) the ground
        rises under them."""
        lift = torch.nn.functional.pad(_climbed(self._raw["frame"], raw["frame"])[:, None], (2, 1))
        return next_root(self._recorded_y, self._recorded) + lift, lift

    def _rate(self) -> torch.Tensor:
        """Rate (N,) in 1/s at which deviations fade now."""
        feet = piece(self._recorded_y, "contact")[:, :2].clamp(0, 1).amin(dim=1)
        return self._how("rate") * (1 - (1 - _PLANTED) * feet)

    def _target(self, root: torch.Tensor, after: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """What should be predicted (N, OUTPUT.size), in frames of the new roots (N, 4), and by how much of that the
        arms reach to where they were recorded, see `_reaching`. after: the recorded roots."""
        out, here, rate = self._recorded_y.clone(), self._root, self._rate()
        fades = torch.exp(-rate * DT)
        place = after[:, :2] + fades[:, None] * (here[:, :2] - self._recorded[:, :2])
        angle = after[:, 3] + fades * _wrapped(here[:, 3] - self._recorded[:, 3])
        _put(out, "root_velocity", to_local(place - here[:, :2], here[:, 3]) / DT)
        _put(out, "root_turn", (angle - here[:, 3])[:, None] / DT)

        fades = torch.exp(-rate[:, None] * self._ahead)
        places, facings = future(self._recorded_y, after)
        recorded_end = _as_root(places[:, -1], facings[:, -1])
        places = places + fades[..., None] * (root[:, :2] - after[:, :2])[:, None]
        facings = facings + fades * _wrapped(root[:, 3] - after[:, 3])[:, None]
        _put(out, "trajectory_position", to_local(places - root[:, None, :2], root[:, None, 3]))
        _put(out, "trajectory_direction", direction(facings - root[:, None, 3]))

        goal, heading = self._told()
        aims, toward = goal[:, -len(self._ahead) :, :2], angle_of(heading)[:, -len(self._ahead) :]
        _put(out, "goal_trajectory_position", to_local(places - aims, toward))
        _put(out, "goal_trajectory_direction", direction(facings - toward))
        seen, turned = _seen_from(*_in_world(self._recorded_y, OUTPUT, "goal_", after), root)
        _put(out, "goal_position", seen)
        _put(out, "goal_direction", turned)

        off = self._off.after((self._step + 1) * DT)
        ahead = off.after(len(self._ahead) * SAMPLE_FRAMES * DT)
        for name, by in zip(_POSE, (off.place, off.turn, off.rate), strict=True):
            out[:, getattr(OUTPUT, name)] += by
        out[:, OUTPUT.future_joint_position] += ahead.place
        arms = self._reaching(out, OUTPUT, after, root)
        velocity = piece(out, "joint_velocity")
        velocity[:, MOVED] += (arms - self._arms) * FPS
        _put(out, "joint_velocity", velocity)
        self._reaching_later(out, recorded_end, _as_root(places[:, -1], facings[:, -1]))

        lag = _wrapped(self._recorded_phase - self._phase)
        _put(out, "phase_change", (piece(out, "phase_change") + (self._how("rate") * lag)[:, None]).clamp(min=0))
        return out, arms

    def _reaching(
        self, values: torch.Tensor, layout: Layout, recorded: torch.Tensor, root: torch.Tensor
    ) -> torch.Tensor:
        """Let the arms of poses (N, layout.size), in place, reach from roots (N, 4) to what they touched as seen from
        the recorded ones. Returns by how much (N, 4, 3) elbows and wrists moved."""
        weight = self._batches.anchored(self.rows)
        places, axes = _shaped(values, "joint_position", layout), _shaped(values, "joint_rotation", layout)
        away = weight[..., None] * strayed(places[:, WRISTS], recorded, root)
        turn = weight * _wrapped(recorded[:, 3] - root[:, 3])[:, None]
        there, turned = reached(places, axes, away, turn)
        moved = there[:, MOVED] - places[:, MOVED]
        values[:, layout.joint_position], values[:, layout.joint_rotation] = there.flatten(1), turned.flatten(1)
        return moved

    def _reaching_later(self, out: torch.Tensor, recorded: torch.Tensor, root: torch.Tensor) -> None:
        """The same for the poses one second ahead, from roots (N, 4) then; elbows go half as far as wrists."""
        places = _shaped(out, "future_joint_position", OUTPUT).clone()
        weight = self._batches.anchored(self.rows, later=True)
        away = weight[..., None] * strayed(places[:, WRISTS], recorded, root)
        places[:, MOVED] += torch.stack((away / 2, away), dim=2).flatten(1, 2)
        _put(out, "future_joint_position", places)

    def _fed_back(self, y: torch.Tensor, lift: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Move root and phase on by an output, as `rollout.nsm.SceneCharacter` does. Returns the pose's positions,
        rotations and velocities, the future's places (N, FUTURE, 2) and facings (N, FUTURE) in the world, and the
        labels (N, FUTURE + 1, actions) from now on. lift: (N, 4) by which the ground under the root rises."""
        before = self._root
        root = next_root(y, before) + lift
        places, facings = future(y, root)
        goal, heading = self._told()
        ahead = slice(goal.shape[1] - places.shape[1], None)
        places, facings = bidirectional(y, places, facings, goal[:, ahead, :2], angle_of(heading[:, ahead]))
        speed = velocities(y, root, places[:, -1], facings[:, -1])
        positions = next_positions(y, speed, _shaped(self._frame, "joint_position"), before, root)
        self._root = root
        self._phase = (self._phase + piece(y, "phase_change")[:, 0].clamp(min=0) * DT) % (2 * math.pi)
        labels = piece(y, "trajectory_action").clamp(0, 1)
        return positions, piece(y, "joint_rotation"), speed, places, facings, labels

    def _fed_frame(
        self,
        positions: torch.Tensor,
        rotations: torch.Tensor,
        speed: torch.Tensor,
        places: torch.Tensor,
        facings: torch.Tensor,
        labels: torch.Tensor,
    ) -> torch.Tensor:
        """The frame input (N, FRAME.size) after what was fed back, see `_fed_back`."""
        root, (past, past_facings, past_labels) = self._root, self._past()
        place = torch.cat((past, root[:, None, :2], places), dim=1)
        facing = torch.cat((past_facings, root[:, None, 3], facings), dim=1)
        parts = {
            "joint_position": positions,
            "joint_rotation": rotations,
            "joint_velocity": speed,
            "trajectory_position": to_local(place - root[:, None, :2], root[:, None, 3]),
            "trajectory_direction": direction(facing - root[:, None, 3]),
            "trajectory_action": torch.cat((past_labels, labels), dim=1),
        }
        return torch.cat([parts[name].flatten(1) for name in FRAME.shapes], dim=1)

    def _past(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Places (N, CURRENT, 2), facings (N, CURRENT) in the world and labels of the past samples: of what was rolled
        out, and before that of the recording, beside which the sequence began."""
        recorded, begin = self._recorded, self._begin
        frame = self._raw["frame"]
        way = _shaped(frame, "trajectory_position")[:, :CURRENT]
        looks = angle_of(_shaped(frame, "trajectory_direction")[:, :CURRENT])
        places = to_world(way, recorded[:, None, 3]) + recorded[:, None, :2]
        places = to_world(places, begin[:, None, 3]) + begin[:, None, :2]
        facings = looks + recorded[:, None, 3] + begin[:, None, 3]
        labels = _shaped(frame, "trajectory_action")[:, :CURRENT]
        columns = []
        for i, offset in enumerate(WINDOW[:CURRENT].tolist()):
            at = self._step + int(offset)
            if at < 0:
                columns.append((places[:, i], facings[:, i], labels[:, i]))
            else:
                root, label = self._history[at]
                columns.append((root[:, :2], root[:, 3], label))
        first, second, third = (torch.stack(column, dim=1) for column in zip(*columns, strict=True))
        return first, second, third

    def _goal_from_here(self) -> torch.Tensor:
        """The goal input (N, GOAL.size) as the rolled out roots see it."""
        raw = self._raw["goal"]
        position, heading = _seen_from(*self._told(), self._root)
        parts = {"position": position, "direction": heading, "action": _shaped(raw, "action", GOAL)}
        return torch.cat([parts[name].flatten(1) for name in GOAL.shapes], dim=1)

    def _interaction_from_here(self) -> torch.Tensor:
        """What training reads of the interaction input, as the rolled out roots see it."""
        raw = self._raw["interaction"]
        corners = raw[:, -3 * CORNERS :].reshape(len(raw), CORNERS, 3)
        # The vectors lead from the cells to the root; where no thing is used they are all zero, and stay so.
        used = self._uses().float()[:, None, None]
        recorded, root = self._recorded, self._root
        cells = to_world(-corners[..., :2], recorded[:, None, 3]) + recorded[:, None, :2]
        seen = -to_local(cells - root[:, None, :2], root[:, None, 3])
        moved = torch.cat((used * seen, corners[..., 2:]), dim=-1)
        return torch.cat((raw[:, : -3 * CORNERS], moved.flatten(1)), dim=1)


def drawn(count: int, noise: torch.Generator) -> torch.Tensor:
    """Random numbers (count, 4) for where sequences begin: one from 0 to 1, and three of a standard normal."""
    parts = (torch.rand(count, 1, generator=noise), torch.randn(count, 2, generator=noise))
    return torch.cat((*parts, torch.randn(count, 1, generator=noise)), dim=1)


class OtherPoses:
    """Frames of the packed data in whose poses sequences may begin that go on as others."""

    def __init__(self, data: Packed) -> None:
        labels = data.frame[:, FRAME.trajectory_action].reshape(len(data), -1, len(ACTIONS))[:, CURRENT]
        steps = np.isin(ACTIONS, _STEPS)
        # Of what is done beside steps, the most; 0 where there are steps alone.
        doing = np.where(labels[:, ~steps].max(axis=1) > 0.5, labels[:, ~steps].argmax(axis=1) + 1, 0)
        self._data, self._doing = data, doing
        self._order = np.lexsort((data.phase, doing))
        self._rank = np.empty(len(data), dtype=np.int64)
        self._rank[self._order] = np.arange(len(data))

    def drawn(self, rows: Array, noise: torch.Generator) -> Array:
        """For each of the rows (N,) another one at about the same phase in which the same is done, in no pose that is
        too far off, and no hand of either holds on to anything; for all but a share `pose_offset.ASTRAY`, and where the
        one that comes up is none, the row itself."""
        most = max(round(_PHASES * len(self._order)), 1)
        steps = torch.randint(-most, most + 1, (len(rows),), generator=noise).numpy()
        other = self._order[np.clip(self._rank[rows] + steps, 0, len(self._order) - 1)]
        astray = (torch.rand(len(rows), generator=noise) < SHARE).numpy() & (self._doing[other] == self._doing[rows])
        for row in (rows, other):
            astray &= (self._data.output[row, OUTPUT.contact][:, _HANDS] < TOUCHES).all(axis=1)
        places = [self._data.frame[row, FRAME.joint_position].astype(np.float32) for row in (rows, other)]
        apart = np.linalg.norm((places[0] - places[1]).reshape(len(rows), -1, 3), axis=-1).mean(axis=-1)
        out: Array = np.where(astray & (apart < _FARTHEST), other, rows)
        return out


def _shaped(values: torch.Tensor, name: str, layout: Layout = FRAME) -> torch.Tensor:
    """A piece of (N, layout.size) in its shape (N, *shape)."""
    return values[:, getattr(layout, name)].reshape(len(values), *layout.shape(name))


def _as_root(place: torch.Tensor, facing: torch.Tensor) -> torch.Tensor:
    """Roots (N, 4) on the ground at places (N, 2) with facing angles (N,)."""
    return torch.stack((place[:, 0], place[:, 1], torch.zeros_like(facing), facing), dim=1)


def _put(out: torch.Tensor, name: str, values: torch.Tensor) -> None:
    out[:, getattr(OUTPUT, name)] = values.flatten(1)


def _wrapped(angle: torch.Tensor) -> torch.Tensor:
    """Angles from -pi to pi."""
    return torch.remainder(angle + math.pi, 2 * math.pi) - math.pi


def _in_world(
    values: torch.Tensor, layout: Layout, prefix: str, root: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Goal places (N, SAMPLES, 3) and directions (N, SAMPLES, 2) in the world, from the frames of roots (N, 4). While
    one goal takes the place of another, directions are between both and not of length 1."""
    place, heading = _shaped(values, prefix + "position", layout), _shaped(values, prefix + "direction", layout)
    flat = to_world(place[..., :2], root[:, None, 3]) + root[:, None, :2]
    return torch.cat((flat, place[..., 2:]), dim=-1), to_world(heading, root[:, None, 3])


def _seen_from(place: torch.Tensor, heading: torch.Tensor, root: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Places and directions in the world from the frames of roots (N, 4); heights are over the root already."""
    flat = to_local(place[..., :2] - root[:, None, :2], root[:, None, 3])
    return torch.cat((flat, place[..., 2:]), dim=-1), to_local(heading, root[:, None, 3])


def _climbed(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Meters (N,) by which the root was lifted between two recorded frame inputs: by so much all joints came down in
    its frame, beyond their own velocity."""
    fallen = _shaped(before, "joint_position")[..., 2] + _shaped(after, "joint_velocity")[..., 2] * DT
    step = (fallen - _shaped(after, "joint_position")[..., 2]).median(dim=1).values
    return torch.where(step.abs() > _STEP, step, torch.zeros_like(step))
