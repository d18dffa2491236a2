# SPDX-License-Identifier: GPL-3.0-or-later
"""Input and output vectors of the NSM (3.1) from episodes, packed so that an hour fits in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from ..errors import FileFormatError, UserError
from ..files import make_folder, map_array, write_array
from ..geometry.sensors import Environment, Interaction
from ..labels.actions import goal_actions
from ..models.layout import Layout
from ..models.nsm import (
    ACTIONS,
    CURRENT,
    ENVIRONMENT,
    FPS,
    FRAME,
    FUTURE,
    GOAL,
    GOAL_ACTIONS,
    INTERACTION,
    OCCUPANCY,
    OUTPUT,
    SAMPLES,
)
from ..motion.filters import velocity
from ..motion.root import angle_of, direction, to_local, to_world
from ..motion.rotations import Array
from ..rollout.nsm_features import (
    CORNERS,
    WINDOW,
    axes_of,
    corner_vectors,
    directions_to_root,
    places_to_goal,
    places_to_root,
    points_to_root,
    rotations_to_root,
    vectors_to_root,
)
from .episodes.episode import FREE, Episode
from .episodes.track import blended_actions

PAST = -int(WINDOW[0])
"""Frames before a frame that its input tells of."""
AHEAD = int(WINDOW[-1])
"""Frames after a frame that its output tells of."""
_LEAST = PAST + AHEAD + 2
"""Frames from which an episode has any vectors."""
RAMP = (0.25, 0.5)
"""Seconds over which a new goal takes the place of the old one, from the least to the most (8)."""
_STANDS = 0.95
"""Label of idle above which, over the whole window, a character stands."""
OCCUPANCY_STEPS = 255
"""Value of a full cell, since occupancies are stored in bytes."""


@dataclass(frozen=True, eq=False)
class Packed:
    """N frames. frame, goal, output: float16 in natural units. occupied: (N, 512), around: (N, 1408) uint8, 255 for 1.
    corners: (N, 12) float32, see `nsm_features.corner_vectors`. phase: (N,) float32. kind: (N,) number of the
    episode's kind; recorded: (N,) bool.
    """

    frame: Array
    goal: Array
    occupied: Array
    corners: Array
    around: Array
    phase: Array
    output: Array
    kind: Array
    recorded: Array

    def __len__(self) -> int:
        return len(self.frame)

    @staticmethod
    def joined(parts: Sequence[Packed]) -> Packed:
        """Several as one."""
        return Packed(**{f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Packed)})

    def save(self, folder: Path) -> None:
        """Write one file per array. Raises UserError."""
        make_folder(folder)
        for name, value in vars(self).items():
            write_array(folder / f"{name}.npy", value)

    @staticmethod
    def load(folder: Path) -> Packed:
        """Map the arrays of a folder, which are read as they are needed. Raises FileFormatError."""
        what = "an array of composed episodes"
        packed = Packed(**{f.name: map_array(folder / f"{f.name}.npy", what) for f in fields(Packed)})
        for name, value in vars(packed).items():
            if value.dtype.kind not in "fiub" or not value.ndim or len(value) != len(packed.phase):
                raise FileFormatError(f"{folder}: '{name}' does not belong to {len(packed.phase):,} frames of numbers")
        return packed


KINDS = ("walk", "sit", "carry", "open", "climb", "avoid")
"""Kinds of episodes, by which the training set is balanced; their numbers are stored."""


def features(episode: Episode, rng: np.random.Generator, environment: Environment | None = None) -> Packed:
    """Vectors of every frame of an episode that has a second before and after it."""
    environment = environment or Environment()
    track = episode.track
    positions, root = track.positions(), episode.root()
    frames = np.arange(PAST, max(len(track) - AHEAD - 1, PAST))
    speeds = velocity(positions, FPS)
    actions = blended_actions(track.actions)
    phase = episode.phase
    goal, interaction, thought = _goals(episode, root, frames, rng)

    frame = np.empty((len(frames), FRAME.size), dtype=np.float32)
    _put(frame, FRAME, "joint_position", points_to_root(positions[frames], root[frames]))
    _put(frame, FRAME, "joint_rotation", axes_of(rotations_to_root(track.rotations[frames], root[frames])))
    _put(frame, FRAME, "joint_velocity", vectors_to_root(speeds[frames], root[frames]))
    around = root[frames[:, None] + WINDOW]
    _put(frame, FRAME, "trajectory_position", places_to_root(around[..., :2], root[frames]))
    _put(frame, FRAME, "trajectory_direction", directions_to_root(around[..., 3], root[frames]))
    _put(frame, FRAME, "trajectory_action", actions[frames[:, None] + WINDOW])

    sensed = _sensed(episode, environment, root, frames, thought)
    occupied = interaction.reshape(len(frames), *INTERACTION.shape("cell"))[..., OCCUPANCY]
    return Packed(
        frame.astype(np.float16),
        goal[:-1].astype(np.float16),
        _bytes(occupied),
        corner_vectors(interaction).reshape(len(frames), CORNERS * 3).astype(np.float32),
        _bytes(sensed),
        (phase[frames] % (2 * np.pi)).astype(np.float32),
        _outputs(episode, positions, speeds, root, actions, phase, goal, frames).astype(np.float16),
        np.full(len(frames), KINDS.index(episode.kind), dtype=np.uint8),
        track.recorded[frames],
    )


def _outputs(
    episode: Episode,
    positions: Array,
    speeds: Array,
    root: Array,
    actions: Array,
    phase: Array,
    goal: Array,
    frames: Array,
) -> Array:
    """Y of the frames after `frames`. goal: (N + 1, GOAL.size) at those and at the frame after the last. What is
    predicted in goal frames is in those of the goals that the network is given, as the rollout understands it."""
    after = frames + 1
    here = root[after]
    out = np.empty((len(frames), OUTPUT.size), dtype=np.float32)
    _put(out, OUTPUT, "joint_position", points_to_root(positions[after], here))
    _put(out, OUTPUT, "joint_rotation", axes_of(rotations_to_root(episode.track.rotations[after], here)))
    _put(out, OUTPUT, "joint_velocity", vectors_to_root(speeds[after], here))
    _put(out, OUTPUT, "future_joint_position", points_to_root(positions[after + AHEAD], root[after + AHEAD]))
    ahead = root[after[:, None] + WINDOW[CURRENT + 1 :]]
    place, facing = places_to_root(ahead[..., :2], here), directions_to_root(ahead[..., 3], here)
    _put(out, OUTPUT, "trajectory_position", place)
    _put(out, OUTPUT, "trajectory_direction", facing)
    _put(out, OUTPUT, "trajectory_action", actions[after[:, None] + WINDOW[CURRENT:]])
    before, samples = root[frames], goal[1:]
    seen = goal[:-1, GOAL.position].reshape(-1, *GOAL.shape("position"))[:, -FUTURE:, :2]
    headings = goal[:-1, GOAL.direction].reshape(-1, *GOAL.shape("direction"))[:, -FUTURE:]
    # The goals are in the frames of the roots before, the future is in those of the roots after.
    aims = places_to_root(to_world(seen, before[:, None, 3]) + before[:, None, :2], here)
    angle = angle_of(headings) + (before[:, 3] - here[:, 3])[:, None]
    _put(out, OUTPUT, "goal_trajectory_position", places_to_goal(place, aims, angle))
    _put(out, OUTPUT, "goal_trajectory_direction", to_local(facing, angle))
    for name in ("position", "direction", "action"):
        out[:, getattr(OUTPUT, f"goal_{name}")] = samples[:, getattr(GOAL, name)]
    _put(out, OUTPUT, "contact", episode.contacts[after])
    _put(out, OUTPUT, "phase_change", (phase[after] - phase[frames]) * FPS)
    _put(out, OUTPUT, "root_velocity", to_local(root[after, :2] - root[frames, :2], root[frames, 3]) * FPS)
    _put(out, OUTPUT, "root_turn", (root[after, 3] - root[frames, 3]) * FPS)
    return out


def _sensed(episode: Episode, environment: Environment, root: Array, frames: Array, thought: Array) -> Array:
    """E at `frames`. thought: (N,) share to which what is carried is thought of at its place, as in
    `SceneCharacter.step`: so much less of it is seen in the hands."""
    surroundings, ghosts, carried = episode.surroundings(), episode.ghosts, episode.carried
    out = np.zeros((len(frames), ENVIRONMENT.size), dtype=np.float32)
    for values, f, share in zip(out, frames.tolist(), thought.tolist(), strict=True):
        placed = surroundings.at(f).without(ghosts)
        if share < 1:
            values += np.float32(1 - share) * environment.values(placed, root[f])
        if share > 0:
            values += np.float32(share) * environment.values(placed.without(carried), root[f])
    return out


def _goals(episode: Episode, root: Array, frames: Array, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """G at `frames` and one more, (N + 1, GOAL.size), and I at `frames`, with new goals ramped in; and the share (N,)
    of a goal that is a ghost."""
    every = np.append(frames, frames[-1] + 1)
    goals = episode.goals
    changes = np.flatnonzero(
        (np.diff(goals.place, axis=0) != 0).any(1)
        | (np.diff(goals.facing) != 0)
        | (np.diff(goals.action) != 0)
        | (np.diff(goals.locomotion))
        | (np.diff(goals.thing) != 0)
    )
    starts = np.concatenate(([0], changes + 1))
    ends = np.append(starts[1:], len(root))
    goal = np.zeros((len(every), GOAL.size), dtype=np.float32)
    interaction = np.zeros((len(every), INTERACTION.size), dtype=np.float32)
    thought, ghosts = np.zeros(len(every)), episode.ghosts
    previous = 0
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        ramp = 0 if number + 1 == len(starts) else round(rng.uniform(*RAMP) * FPS)
        share = np.ones(len(every)) * ((every >= start) & (every < end + ramp))
        if number:
            share *= np.clip((every - start + 1) / max(previous, 1), 0, 1)
        if ramp:
            share *= 1 - np.clip((every - end + 1) / ramp, 0, 1)
        previous = ramp
        used = np.flatnonzero(share > 0)
        if not len(used):
            continue
        values, volume = _segment(episode, root, every[used], start)
        goal[used] += share[used, None] * values
        thought += share * (goals.thing[start] in ghosts)
        if volume is not None:
            interaction[used] += share[used, None] * volume
    return goal, interaction[:-1], thought[:-1]


def _segment(episode: Episode, root: Array, frames: Array, at: int) -> tuple[Array, Array | None]:
    """G and, where a thing is used, I at `frames` under the goal that holds at frame `at`."""
    goals, here = episode.goals, root[frames]
    out = np.zeros((len(frames), GOAL.size), dtype=np.float32)
    if goals.locomotion[at]:
        when = np.clip(frames[:, None] + WINDOW + AHEAD, 0, len(root) - 1)
        way = root[when]
        places = way[..., :3]
        facing, action = way[..., 3], goal_actions(episode.track.actions)[when]
    else:
        places = np.broadcast_to(goals.place[at], (len(frames), SAMPLES, 3))
        facing = np.broadcast_to(goals.facing[at], (len(frames), SAMPLES))
        action = np.broadcast_to(np.eye(len(GOAL_ACTIONS))[goals.action[at]], (len(frames), SAMPLES, len(GOAL_ACTIONS)))
    _put(out, GOAL, "position", points_to_root(places, here))
    _put(out, GOAL, "direction", direction(facing - here[:, None, 3]))
    _put(out, GOAL, "action", action)
    thing = int(goals.thing[at])
    if thing == FREE:
        return out, None
    surroundings = episode.surroundings()
    volume = np.empty((len(frames), INTERACTION.size), dtype=np.float32)
    still = len(episode.colliders[thing].poses) == 1 and not goals.locomotion[at]
    sensor, frame, occupancy = None, None, None
    for i, f in enumerate(frames.tolist()):
        if sensor is None or not still:
            placed = surroundings.at(f).of([thing])
            # While the character is steered along a way, its goal is where the way leads.
            sensor, frame = Interaction.covering(placed, float(facing[i, -1]))
            occupancy = sensor.occupancy(placed, frame)
        assert frame is not None and occupancy is not None
        cells = np.empty(INTERACTION.shape("cell"), dtype=np.float32)
        cells[:, :OCCUPANCY] = -points_to_root(sensor.places(frame), root[f])
        cells[:, OCCUPANCY] = occupancy
        volume[i] = cells.reshape(-1)
    return out, volume


def _put(out: Array, layout: Layout, name: str, values: Array) -> None:
    out[:, getattr(layout, name)] = values.reshape(len(out), -1)


def _bytes(values: Array) -> Array:
    out: Array = np.round(values * OCCUPANCY_STEPS).astype(np.uint8)
    return out


def pack(episodes: Iterable[Episode], seed: int) -> Packed:
    """Features of all episodes that are long enough."""
    rng = np.random.default_rng(seed)
    return Packed.joined([features(episode, rng) for episode in episodes if len(episode) > _LEAST])


def standing_frame(data: Packed) -> Array:
    """A frame input (FRAME.size,) of a standing character, the most usual one, from which rollouts begin. Raises
    UserError when no frame shows standing."""
    samples = FRAME.shape("trajectory_action")
    actions = data.frame[:, FRAME.trajectory_action].reshape(-1, *samples)[..., ACTIONS.index("idle")]
    standing = data.frame[actions.min(axis=1) > _STANDS].astype(np.float32)
    if not len(standing):
        raise UserError("No character stands still in the composed episodes; compose some of the kind walk.")
    usual: Array = standing[np.abs(standing - np.median(standing, axis=0)).sum(axis=1).argmin()]
    return usual


def sequence_starts(data: Packed, length: int) -> Array:
    """Rows from which `length` frames follow each other: the pose that is to be predicted is the next row's."""
    pose = slice(0, 9)
    follows = np.all(
        data.output[:-1, OUTPUT.joint_position][:, pose] == data.frame[1:, FRAME.joint_position][:, pose], axis=1
    )
    run = np.concatenate((follows, [False])).astype(np.int64)
    broken = np.cumsum(1 - run)
    last = np.arange(len(run)) + length - 1
    inside = last < len(run)
    ok = np.zeros(len(run), dtype=bool)
    before = np.concatenate(([0], broken))
    ok[inside] = before[last[inside]] == before[np.flatnonzero(inside)]
    return np.flatnonzero(ok)
