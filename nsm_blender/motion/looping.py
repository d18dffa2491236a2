# SPDX-License-Identifier: GPL-3.0-or-later
"""A loop of a gait out of a longer motion: whole cycles by phase, with a seam that does not show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..errors import EditError
from .contacts import foot_contacts
from .easing import smoothstep
from .filters import gaussian
from .gait import GAITS, gait_labels
from .motion import Motion
from .phase import foot_strikes, phase_track
from .recorded import floor_of
from .root import root_track
from .rotations import Array, from_yaw, make_continuous, multiply, rotate, slerp
from .skeleton import CONTACT_JOINTS, MODEL_SKELETON

Way = Literal["spot", "travel"]
"""Whether a loop stays on the spot or moves on."""

_MOST_CYCLES = 8
"""Cycles of a loop at most that are tried where no number is asked for: some ten seconds of walking."""
_FADE = 0.35
"""Share of a cycle before the seam in which the motion goes over into that before the loop's first frame: less than
half, so that the other half of each step is as it was."""
_FEWEST = 4
"""Frames of that transition at least."""
_MOMENT = 0.1
"""Seconds by which a speed in m/s counts as a distance in meters when two frames are compared: a mean step's swing is
as far from the next frame's by either."""
_OFF_PERIOD = 3
"""Frames by which the period may differ from that of the phase, which foot strikes tell to a frame or two."""
_STRAIGHT = np.radians(6.0)
"""Turn in radians of a cycle below which a way counts as straight; people who walk straight on turn by half of it."""


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop of N frames that the first frame of its next round ends.

    motion: N + 1 frames, or N a round and one more. first, last: the frames of the given motion between which it lies,
    `last` with a fraction. cycles: of the gait. travel: (2,) meters to the left and back (x and y of the first root's
    own frame) that a round leads on. turn: radians that a round turns by; 0 for a way that counts as straight.
    seam_mm, inside_mm: change of the frame-to-frame motion of joints at the seam, the largest of all joints, and the
    99th percentile of that inside the loop.
    """

    motion: Motion
    first: int
    last: float
    cycles: int
    travel: Array
    turn: float
    seam_mm: float
    inside_mm: float

    @property
    def repeats_exactly(self) -> bool:
        """Whether rounds follow each other by an offset alone, as they do on the spot and straight on."""
        return self.turn == 0.0


def loop_gait(motion: Motion, way: Way = "spot", cycles: int = 0, rounds: int = 1) -> Loop:
    """Cut the whole cycles out of a motion of the model skeleton that follow each other best, and close the seam.

    way: "spot" takes the travel out, "travel" goes on with the mean speed and turn of the cycles. cycles: how many; 0
    takes the number that fits best. rounds: how often the loop is in the result. Frames before the loop are needed, for
    the transition into it. Raises EditError where no such cycles are found.
    """
    positions = motion.positions.astype(np.float64)
    start, period, found = _best(positions, _contacts(motion, positions), motion.fps, cycles)
    count = round(period)
    fade = _fade(count / found)
    rate = period / count
    sampled = motion.sampled(start + np.arange(-fade, count + 1) * rate)
    track = root_track(positions, motion.fps)
    first, last = _at(track, start), _at(track, start + period)
    turned = float(last[3] - first[3])
    moved = rotate(from_yaw(-first[3]), np.append(last[:2] - first[:2], 0.0))[:2]
    velocity = np.linalg.solve(_arc(np.asarray(turned)), moved)

    share = np.arange(-fade, count + 1) / count
    hips, local = _without(sampled, first, velocity, turned, share)
    hips, local = _closed(hips, local, fade)
    straight = way == "spot" or abs(turned) < _STRAIGHT * found
    turn = 0.0 if straight else turned
    travel = np.zeros(2) if way == "spot" else velocity
    frames = np.append(np.tile(np.arange(count), rounds), 0)
    at = np.arange(rounds * count + 1) / count
    made = _with(sampled, fade + frames, hips[frames], local[frames], first, travel, turn, at)
    if way == "spot":  # no foot stands still
        made = replace(made, contacts=np.zeros_like(made.contacts))
    seam, inside = _seam(hips, local)
    moved_on = np.einsum("ij,j->i", _arc(np.asarray(turn)), travel)
    return Loop(made, start, start + period, found, moved_on, turn, seam, inside)


def _contacts(motion: Motion, positions: Array) -> Array:
    """Labels (T, 4) of CONTACT_JOINTS."""
    if set(CONTACT_JOINTS) <= set(motion.contact_names):
        labels: Array = motion.contacts[:, [motion.contact_names.index(name) for name in CONTACT_JOINTS]]
        return labels
    return foot_contacts(positions - [0.0, 0.0, floor_of(positions)], motion.fps)


def _fade(cycle: float) -> int:
    """Frames of the transition for a cycle of so many frames."""
    return max(round(_FADE * cycle), _FEWEST)


def _best(positions: Array, contacts: Array, fps: float, cycles: int) -> tuple[int, float, int]:
    """First frame, period in frames and number of cycles of the stretch whose two ends are most alike."""
    phase, strikes = phase_track(contacts, fps), foot_strikes(contacts, fps)
    labels = gait_labels(positions - [0.0, 0.0, floor_of(positions)], contacts, fps)
    halts = np.concatenate(([0], np.cumsum(labels == GAITS.index("stand"))))
    features = _features(positions, fps)
    best: tuple[float, int, float, int] | None = None
    frames = np.arange(len(positions))
    known = (frames >= strikes[0][0]) & (frames <= strikes[-1][0]) if strikes else np.zeros(len(frames), dtype=bool)
    rising = phase + 1e-9 * frames  # so that it can be inverted
    for count in (cycles,) if cycles else range(1, _MOST_CYCLES + 1):
        ends = np.interp(rising + 2 * np.pi * count, rising, frames, right=np.inf)
        usable = known & np.isfinite(ends)
        usable[usable] &= known[np.minimum(np.ceil(ends[usable]).astype(int), len(frames) - 1)]
        if not usable.any():
            continue
        period = round(float(np.median(ends[usable] - frames[usable])))
        fade = _fade(period / count)
        for lag in range(max(period - _OFF_PERIOD, 2 * fade), period + _OFF_PERIOD + 1):
            starts = np.flatnonzero(usable & (frames > fade) & (frames + lag + 1 < len(frames)))
            walked = halts[np.minimum(starts + lag + 1, len(frames))] == halts[starts - fade]
            starts = starts[walked]
            if not len(starts):
                continue
            costs = _unlike(features, lag, fade)
            at = int(starts[np.argmin(costs[starts])])
            if best is None or costs[at] < best[0]:
                near = [float(_unlike(features, lag + step, fade)[at]) for step in (-1, 0, 1)]
                best = (float(costs[at]), at, lag + _lowest(*near), count)
    if best is None:
        asked = "no whole cycle" if not cycles else f"no {cycles} whole cycles"
        raise EditError(
            f"There is {asked} of a gait in these frames; choose a longer range in which the character walks without "
            "halting."
        )
    return best[1], best[2], best[3]


def _features(positions: Array, fps: float) -> Array:
    """What is compared of each frame, (T, D): joints and their velocities in the root's frame, in meters."""
    track = root_track(positions, fps)
    back = from_yaw(-track[:, 3])[:, None]
    origin = np.column_stack((track[:, :2], np.zeros(len(track))))[:, None]
    shape = (*positions.shape[:2], 4)
    own = rotate(np.broadcast_to(back, shape), positions - origin)
    moving = np.gradient(positions, axis=0) * fps
    speeds = rotate(np.broadcast_to(back, shape), gaussian(moving, 0.01 * fps)) * _MOMENT
    out: Array = np.concatenate((own, speeds), axis=2).reshape(len(positions), -1)
    return out


def _unlike(features: Array, lag: int, fade: int) -> Array:
    """Mean square difference (T,) between the frames up to each and those `lag` later, over the transition; infinite
    where there are too few frames."""
    out = np.full(len(features), np.inf)
    if lag >= len(features):
        return out
    apart = np.square(features[lag:] - features[:-lag]).mean(axis=1)
    summed = np.concatenate(([0.0], np.cumsum(apart)))
    if len(apart) > fade:
        out[fade : len(apart)] = (summed[fade + 1 :] - summed[: -fade - 1]) / (fade + 1)
    return out


def _lowest(before: float, at: float, after: float) -> float:
    """Where the parabola through three values at -1, 0 and 1 is lowest, within half a step."""
    bend = before - 2 * at + after
    if not np.isfinite(bend) or bend <= 0:
        return 0.0
    return float(np.clip((before - after) / (2 * bend), -0.5, 0.5))


def _at(track: Array, frame: float) -> Array:
    """A root track (T, 4) between frames."""
    frames = np.arange(len(track))
    return np.array([np.interp(frame, frames, column) for column in track.T])


def _arc(angle: Array) -> Array:
    """Matrices (..., 2, 2) from a steady velocity to the place reached while turning by `angle` (...) radians."""
    small = np.abs(angle) < 1e-6
    safe = np.where(small, 1.0, angle)
    along = np.where(small, 1.0, np.sin(angle) / safe)
    aside = np.where(small, angle / 2, (1 - np.cos(angle)) / safe)
    return np.stack((np.stack((along, -aside), -1), np.stack((aside, along), -1)), -2)


def _moved(velocity: Array, turn: float, share: Array) -> tuple[Array, Array]:
    """Places (T, 3) and angles (T,) of a root that moves steadily, after these shares of a round."""
    angles = turn * share
    places = np.einsum("tij,j->ti", _arc(angles), velocity) * share[:, None]
    return np.column_stack((places, np.zeros(len(share)))), angles


def _without(motion: Motion, first: Array, velocity: Array, turn: float, share: Array) -> tuple[Array, Array]:
    """Hips (T, 3) and local rotations (T, J, 4) seen from a root that begins at `first` and moves steadily."""
    places, angles = _moved(velocity, turn, share)
    back = from_yaw(-(first[3] + angles))
    hips = rotate(from_yaw(np.full(len(share), -first[3])), motion.positions[:, 0] - np.append(first[:2], 0.0))
    hips = rotate(from_yaw(-angles), hips - places)
    turned = multiply(np.broadcast_to(back[:, None], motion.rotations.shape), motion.rotations.astype(np.float64))
    return hips, MODEL_SKELETON.local_rotations(make_continuous(turned))


def _closed(hips: Array, local: Array, fade: int) -> tuple[Array, Array]:
    """The N + 1 frames after the first `fade`, whose last ones go over into those before them.

    So the last frame is the first one again, and it is reached as the first one was.
    """
    before, hips, earlier, local = hips[: fade + 1], hips[fade:].copy(), local[: fade + 1], local[fade:].copy()
    weights = smoothstep(np.arange(fade + 1) / fade)
    last = slice(len(hips) - fade - 1, None)
    hips[last] += weights[:, None] * (before - hips[last])
    local[last] = slerp(local[last], earlier, np.repeat(weights[:, None], local.shape[1], axis=1))
    return hips, local


def _with(
    sampled: Motion,
    source: Array,
    hips: Array,
    local: Array,
    first: Array,
    velocity: Array,
    turn: float,
    share: Array,
) -> Motion:
    """The motion whose root begins at `first` and moves steadily, and whose labels are those of the frames `source`."""
    places, angles = _moved(velocity, turn, share)
    facing = from_yaw(first[3] + angles)
    hips = rotate(from_yaw(np.full(len(share), first[3])), rotate(from_yaw(angles), hips) + places)
    hips = hips + np.append(first[:2], 0.0)
    local = local.copy()
    local[:, 0] = multiply(facing, local[:, 0])
    positions, rotations = MODEL_SKELETON.forward(hips, local)
    root = np.column_stack((hips[:, :2], np.full(len(hips), sampled.root[:, 2].mean()), first[3] + angles))
    return replace(
        sampled,
        positions=positions.astype(np.float32),
        rotations=make_continuous(rotations).astype(np.float32),
        root=root.astype(np.float32),
        contacts=sampled.contacts[source],
        phase=sampled.phase[source],
        actions=sampled.actions[source],
        meta={key: value for key, value in sampled.meta.items() if key not in ("things", "holds", "keys")},
    )


def _seam(hips: Array, local: Array) -> tuple[float, float]:
    """Millimeters by which the largest joint's frame-to-frame motion changes at the seam, and the 99th percentile of
    that change inside, seen from the root."""
    places = MODEL_SKELETON.forward(hips, local)[0]
    round_twice = np.concatenate((places[:-1], places))
    changes = np.linalg.norm(np.diff(round_twice, n=2, axis=0), axis=-1).max(axis=1)
    count = len(places) - 1
    return 1000 * float(changes[count - 1]), 1000 * float(np.percentile(changes[: count - 1], 99))
