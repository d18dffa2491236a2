# SPDX-License-Identifier: GPL-3.0-or-later
"""A body that sits: its feet stay on the ground where they came to stand, until getting up.

The network blends recordings of people who sat for long and crossed their legs; what comes out is a leg that hangs in
the air with its knee turned out.
"""

from __future__ import annotations

import numpy as np

from ..models.nsm import FPS
from ..motion.easing import smoothstep
from ..motion.filters import runs
from ..motion.rotations import Array, slerp
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from .seating import Seating

STEPS = round(0.5 * FPS)
"""Frames before touching the seat in which a foot must have stood to be kept where it stood, frames of getting up
within which a foot that hung is down again, and frames in which a foot that was kept comes back to its own path."""
STAYS = 0.15
"""Meters from where a foot was kept within which it is not lifted in getting up, but comes to its next stance sliding
unnoticed."""
STEP = round(0.25 * FPS)
"""Frames that a kept foot is lifted for, where its next stance is farther away."""


def keep_feet(seating: Seating, contacts: Array, wanted: Array, turned: Array) -> None:
    """Let both feet stand from when the hips touch the seat, in place.

    contacts: (T, 4) of CONTACT_JOINTS. wanted: (T, J, 3) joint places that the toes should meet. turned: (T, J, 4)
    world rotations.
    """
    last = len(contacts) if seating.left is None else seating.left
    for side in ("Left", "Right"):
        _keep(side, (seating.touched, seating.settled, last), contacts, wanted, turned)


def _keep(side: str, spans: tuple[int, int, int], contacts: Array, wanted: Array, turned: Array) -> None:
    """One foot. spans: frames at which the hips touch the seat, at which the body sits, and of getting up."""
    touch, settled, last = spans
    columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
    leg = MODEL_SKELETON.indices([side + part for part in ("UpLeg", "Leg", "Foot", "Toe")])
    stances = runs(contacts[:, columns].any(axis=1))
    down = [(start, stop) for start, stop in stances if start <= settled and stop > touch - STEPS]
    if not down:
        return
    # The stance at the touch, or the next one; else the one before it.
    start, stop = next(((a, b) for a, b in down if b > touch), down[-1])
    kept = min(max(start, touch), stop - 1)
    toe = leg[-1]
    contacts[kept:last, columns] = 1
    start, end = next(((a, b) for a, b in stances if b > last and a < last + STEPS), (last, last))
    there = wanted[max(start, last) : end, toe, :2]
    if len(there) and np.linalg.norm(there.mean(axis=0) - wanted[kept, toe, :2]) < STAYS:
        contacts[last:end, columns[1]] = 1
    else:
        # It stands elsewhere next, and steps there.
        end = last
        contacts[last : last + STEP, columns] = 0
    after = min(next((a for a, b in stances if a > end or b > end + STEP), len(wanted)), end + STEPS)
    after = max(after, min(end + STEP, len(wanted)))
    away = wanted[kept, toe] - wanted[end - 1, toe]
    wanted[kept:end, toe] = wanted[kept, toe]
    wanted[end:after, toe] += (1 - _risen(after - end))[:, None] * away
    # The leg, too, comes back to its own way of bending within that time at least.
    free = max(end, min(last + STEPS, len(turned)))
    own = turned[last:free, leg].copy()
    turned[kept:free, leg] = turned[kept, leg]
    share = np.broadcast_to(_risen(len(own))[:, None], own.shape[:2])
    turned[last:free, leg] = slerp(turned[last:free, leg], own, share)


def _risen(count: int) -> Array:
    """(count,) rising from near 0 to 1, smoothly."""
    return smoothstep(np.arange(1, count + 1) / max(count, 1))
