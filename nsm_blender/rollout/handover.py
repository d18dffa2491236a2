# SPDX-License-Identifier: GPL-3.0-or-later
"""From the one network's rollout to the other's: the same frame as either has it, and seams without a jump.

Both networks know the same skeleton, root and rate. Their phases lie half a cycle apart: the PFNN's is 0 at the right
foot's strike (PFNN 4.1), the NSM's at the left foot's (NSM 5.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..models.nsm import ACTIONS, CONTACTS, FPS
from ..models.pfnn import OUTPUT
from ..motion.easing import critically_damped
from ..motion.gait import GAITS
from ..motion.root import direction, to_local, to_world
from ..motion.rotations import Array, conjugate, from_exponential_map, multiply, to_exponential_map
from ..motion.skeleton import CONTACT_JOINTS
from .pfnn import Locomotion
from .pose import decode, joint_places

SEAM = 12.0
"""1/s: how fast a pose's offset at a seam fades, critically damped: after 0.2 s a third of it is left, after 0.4 s a
twentieth, about a step's length."""
FADED = 0.75
"""Seconds after a seam beyond which nothing of its offset is left to see."""
_LABELS = {"stand": "idle", "walk": "walk", "jog": "run", "jump": "run", "crouch": "walk"}
"""The NSM's action of each gait."""
_TO_ACTIONS = np.array([[action == _LABELS[gait] for action in ACTIONS] for gait in GAITS], dtype=np.float32)
_TO_GAITS = np.zeros((len(ACTIONS), len(GAITS)))
for _action, _gait in (("idle", "stand"), ("walk", "walk"), ("run", "jog"), ("carry", "stand"), ("climb", "walk")):
    _TO_GAITS[ACTIONS.index(_action), GAITS.index(_gait)] = 1
_FEET = [CONTACTS.index(side + "Foot") for side in ("Left", "Right")]


@dataclass(frozen=True, eq=False)
class Made:
    """A frame that locomotion made, as the NSM's rollout keeps it: root (4,), joint places (J, 3) and rotations (J, 4)
    of the world, action labels (7,), contacts (5,) of models.nsm.CONTACTS, steps (4,): contact labels of CONTACT_JOINTS
    that the network predicted, and the NSM's phase in radians."""

    root: Array
    places: Array
    rotations: Array
    action: Array
    contacts: Array
    steps: Array
    phase: float


def made_by(locomotion: Locomotion, rotation_reference: Array) -> Made:
    """The last frame of a locomotion rollout."""
    record = locomotion.last()
    hips, rotations, _ = decode(record, rotation_reference)
    steps = np.clip(record.y[0, OUTPUT.contact], 0, 1)
    contacts = np.zeros(len(CONTACTS))
    for column, side in zip(_FEET, ("Left", "Right"), strict=True):
        contacts[column] = steps[[CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]].max()
    places = joint_places(hips, rotations)[0]
    action = record.gait[0] @ _TO_ACTIONS
    return Made(record.root[0], places, rotations[0], action, contacts, steps, other_phase(float(record.phase[0])))


def other_phase(phase: float) -> float:
    """The phase in radians of the one network that is the given phase of the other."""
    return (phase + math.pi) % (2 * math.pi)


def gaits_of(actions: Array) -> Array:
    """Gait weights (N, 5) of action labels (N, 7) of a character that walks or stands."""
    out = np.maximum(actions, 0) @ _TO_GAITS
    total = out.sum(axis=1, keepdims=True)
    # What is neither walking nor standing begins from standing.
    out[:, GAITS.index("stand")] += np.maximum(1 - total[:, 0], 0)
    weights: Array = out / np.maximum(out.sum(axis=1, keepdims=True), 1e-6)
    return weights


def without_jumps(root: Array, places: Array, rotations: Array, seams: Sequence[int]) -> tuple[Array, Array]:
    """Joint places (T, J, 3) and rotations (T, J, 4) of the world that go on at the seams, frames at which the other
    network begins, as they came there: what is lacking fades, critically damped (an inertial blend). root: (T, 4)."""
    places, rotations = places.copy(), rotations.copy()
    count = len(root)
    for seam in seams:
        if not 2 <= seam < count - 1:
            continue
        stop = min(seam + round(FADED * FPS), count)
        near = slice(seam - 2, stop)
        local = _to_root(places[near], root[near])
        # Velocities on either side; what came before goes on through the seam.
        came, goes = local[1] - local[0], local[3] - local[2]
        off, rate = local[1] + came - local[2], (came - goes) * FPS
        time = np.arange(stop - seam) / FPS
        by = _fading(off, rate, time)
        local[2:] += by
        places[seam:stop] = _to_world(local[2:], root[seam:stop])
        turned = rotations[near].copy()
        yaw = root[near, 3]
        turned = multiply(_yawed(-yaw, turned.shape), turned)
        came, goes = _turn(turned[0], turned[1]), _turn(turned[2], turned[3])
        off = _turn(turned[2], multiply(from_exponential_map(came), turned[1]))
        by = _fading(off, (came - goes) * FPS, time)
        turned = multiply(from_exponential_map(by), turned[2:])
        rotations[seam:stop] = multiply(_yawed(yaw[2:], turned.shape), turned)
    return places, rotations


def _fading(off: Array, rate: Array, time: Array) -> Array:
    """An offset (...) with a rate of change (...) per second, critically damped over times (T,): (T, ...)."""
    t = time.reshape(-1, *[1] * off.ndim)
    return critically_damped(off, rate, SEAM, t)[0]


def _turn(a: Array, b: Array) -> Array:
    """Exponential maps (..., 3) of the turns from rotations a to b (..., 4), by the shorter way."""
    turn = multiply(b, conjugate(a))
    return to_exponential_map(np.where(turn[..., :1] < 0, -turn, turn))


def _yawed(yaw: Array, shape: tuple[int, ...]) -> Array:
    """Rotations of `shape` about +Z by angles (T,)."""
    half = 0.5 * yaw
    zero = np.zeros_like(half)
    return np.broadcast_to(np.stack((np.cos(half), zero, zero, np.sin(half)), axis=-1)[:, None], shape)


def _to_root(places: Array, root: Array) -> Array:
    """World places (T, J, 3) as roots (T, 4) see them, with the heights of the world."""
    out = places.copy()
    out[..., :2] = to_local(places[..., :2] - root[:, None, :2], root[:, None, 3])
    return out


def _to_world(places: Array, root: Array) -> Array:
    """Inverse of `_to_root`."""
    out = places.copy()
    out[..., :2] = to_world(places[..., :2], root[:, None, 3]) + root[:, None, :2]
    return out


@dataclass(frozen=True, eq=False)
class Walked:
    """How a character comes to where locomotion takes it over: roots (N, 4), at 60 fps, the last one its present, and
    gait weights (N, 5) with them; joint places (J, 3) and velocities (J, 3) in m/s of the world; the PFNN's phase;
    places (F, 2) and facing angles (F,) of the samples that are foreseen, the first of them its present."""

    roots: Array
    gaits: Array
    places: Array
    velocities: Array
    phase: float
    future: Array
    facings: Array


def take_over(locomotion: Locomotion, walked: Walked, frame: int) -> None:
    """Let a locomotion rollout go on at a frame from where another network brought the character."""
    root, before = walked.roots[-1], walked.roots[-2]
    velocities = walked.velocities.copy()
    velocities[:, :2] = to_local(velocities[:, :2], root[None, 3])
    local = _to_root(walked.places[None], root[None])[0]
    local[:, 2] -= root[2]
    locomotion.go_on(
        frame,
        root + (root - before) * [1, 1, 0, 1],
        walked.roots[:, :2],
        direction(walked.roots[:, 3]),
        walked.gaits,
        (root[:2] - before[:2]) * FPS,
        walked.phase,
        (local, velocities),
        (walked.future, direction(walked.facings)),
    )
