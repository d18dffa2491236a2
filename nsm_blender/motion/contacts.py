# SPDX-License-Identifier: GPL-3.0-or-later
"""Foot contacts from the speed and height of heel and toe (PFNN 4.1)."""

from __future__ import annotations

import numpy as np

from ..stepwise import ITEMS, Stepwise, finished
from .filters import gaussian, runs, velocity, without_short_runs
from .rotations import Array
from .skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT

SPEED_LIMIT = 0.4
"""Speed in m/s below which a foot joint counts as planted; a swinging toe moves at 2 m/s and more."""
HEIGHT_LIMIT = {"Foot": ANKLE_HEIGHT + 0.03, "Toe": TOE_HEIGHT + 0.025}
"""Height in meters above which a joint is off flat ground, however slow it is."""
HEEL_LIFTED = 0.006
"""Rise in meters of the ankle over the ball, against a flat foot, at which the heel leaves the ground."""
BALL_LIFTED = 0.008
"""Height in meters above its median in a contact at which the ball of the foot leaves the ground."""
STEPPING = 0.8
"""Speed in m/s over the ground at which a foot steps, whatever its label: feet in contact slide at 0.1 to 0.3 m/s in a
network's motion."""
LEAPING = 1.0
"""Least speed in m/s over the ground of the slower foot while the character leaps, with both feet in the air."""
HALTED = 0.3
"""Speed in m/s, in space, below which a foot labeled as lifted stands while the other foot is lifted, too."""
PIVOT = np.radians(8)
"""Angle in radians from its mean direction in a contact at which a foot pivots on its ball, so that its heel moves."""
_TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
_SHORTEST = 0.05
"""Shortest contact, and shortest gap between contacts, in seconds."""
_STEP = 0.2
"""Shortest step in seconds: a foot that is lifted for less would dart to its next place."""


def foot_contacts(positions: Array, fps: float) -> Array:
    """Contact labels (T, 4), 0 or 1, of CONTACT_JOINTS on flat ground at z = 0.

    positions: (T, J, 3) world, joints of the model skeleton. A contact ends when the ball of the foot leaves the place
    on which it stood, though it is slow and low for a while longer: feet that are held until then pop off.
    """
    out = np.zeros((len(positions), len(CONTACT_JOINTS)), dtype=np.float32)
    shortest = max(round(_SHORTEST * fps), 2)
    for column, name in enumerate(CONTACT_JOINTS):
        place = gaussian(positions[:, MODEL_SKELETON.index(name)], 0.01 * fps)
        speed = np.linalg.norm(velocity(place, fps), axis=-1)
        low = place[:, 2] < HEIGHT_LIMIT[name.removeprefix("Left").removeprefix("Right")]
        down = without_short_runs((speed < SPEED_LIMIT) & low, shortest, shortest)
        if name.endswith("Toe"):
            for start, stop in runs(down):
                down[start:stop] = _unlifted(place[start:stop, 2])
            down = without_short_runs(down, 1, shortest)
        out[:, column] = down
    return out


def firm_contacts(labels: Array, positions: Array, fps: float, borne: Array | None = None) -> Array:
    """Contacts (T, 4), 0 or 1, of CONTACT_JOINTS on which a foot can be locked.

    labels: (T, 4), above 0.5 in contact, as predicted by a network. positions: (T, J, 3) world, joints of the model
    skeleton. borne: (T,) frames in which hands or knees bear the body. Removes flicker and contacts of a foot that
    rolls off the ground, pivots on its ball or moves; but of two feet that move slowly, one stays in contact, unless
    the body is borne.
    """
    return finished(firming_contacts(labels, positions, fps, borne))


def firming_contacts(labels: Array, positions: Array, fps: float, borne: Array | None = None) -> Stepwise[Array]:
    """`firm_contacts` in pieces."""
    out = np.zeros((len(labels), len(CONTACT_JOINTS)), dtype=np.float32)
    shortest = max(round(_SHORTEST * fps), 2)
    motion = np.stack([velocity(positions[:, toe].astype(np.float64), fps) for toe in _TOES], axis=1)
    speed = np.linalg.norm(motion[..., :2], axis=2)
    bears = _bearing(labels, speed, np.linalg.norm(motion, axis=2) < HALTED)
    if borne is not None:
        bears &= ~borne[:, None]
    for number, side in enumerate(("Left", "Right")):
        yield
        heel, ball = (CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe"))
        ankle, toe = (positions[:, MODEL_SKELETON.index(side + part)].astype(np.float64) for part in ("Foot", "Toe"))
        down = labels[:, [heel, ball]] > 0.5
        pointing = toe[:, :2] - ankle[:, :2]
        pointing /= np.maximum(np.linalg.norm(pointing, axis=1, keepdims=True), 1e-6)
        pitch = ankle[:, 2] - toe[:, 2] - (ANKLE_HEIGHT - TOE_HEIGHT)
        down[:, 1] |= down[:, 0] & (pitch > -BALL_LIFTED)
        down[:, 0] &= pitch < HEEL_LIFTED
        for index, (start, stop) in enumerate(runs(down[:, 0])):
            if index % ITEMS == 0:
                yield
            mean = pointing[start:stop].mean(axis=0)
            down[start:stop, 0] = pointing[start:stop] @ mean > np.cos(PIVOT) * np.linalg.norm(mean)
        for index, (start, stop) in enumerate(runs(down[:, 1])):
            if index % ITEMS == 0:
                yield
            down[start:stop, 1] = _unlifted(toe[start:stop, 2])
        down[:, 1] |= bears[:, number]
        down &= ((speed[:, number] < STEPPING) | bears[:, number])[:, None]
        for column, mask in zip((heel, ball), down.T, strict=True):
            out[:, column] = without_short_runs(mask, shortest, shortest)
    yield
    by_side = out.reshape(-1, 2, 2)
    for number in (0, 1):
        standing = by_side[:, number].any(axis=1)
        # Between the heel's contact and the ball's may be a frame that meets neither's limits: it is no step.
        whole = without_short_runs(standing, shortest, 1)
        by_side[whole & ~standing, number, 1] = 1
        standing = whole & ~_stepping(whole, round(_STEP * fps))
        # What two widened steps leave between them may be no contact any more.
        by_side[~without_short_runs(standing, 1, shortest), number] = 0
    return out


def _unlifted(height: Array) -> Array:
    """Mask (T,) of the frames of a contact in which the ball of the foot, `height` (T,) m high, is on the ground."""
    out: Array = height < np.median(height) + BALL_LIFTED
    return out


def _bearing(labels: Array, speed: Array, halted: Array) -> Array:
    """Mask (T, 2) of the feet that bear the body while both are labeled as lifted, or move; empty when both leap.

    labels: (T, 4) of CONTACT_JOINTS. speed: (T, 2) of the balls of the feet over the ground, in m/s. halted: (T, 2)
    frames in which they move neither along the ground nor up.
    """
    down = (labels.reshape(-1, 2, 2) > 0.5).any(axis=2)
    unsupported = (~down | (speed >= STEPPING)).all(axis=1, keepdims=True)
    slower = speed == speed.min(axis=1, keepdims=True)
    out: Array = unsupported & ((down & slower & (speed < LEAPING)) | halted)
    return out


def _stepping(standing: Array, frames: int) -> Array:
    """Mask (T,) of the steps between contacts `standing` (T,), each widened on both sides to last `frames`."""
    out = ~standing
    for start, stop in runs(~standing):
        if start > 0 and stop < len(standing):
            lacking = max(frames - (stop - start), 0)
            out[max(start - lacking // 2, 0) : stop + (lacking + 1) // 2] = True
    return out
