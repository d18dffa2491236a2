# SPDX-License-Identifier: GPL-3.0-or-later
"""Hands that stay with what they touch: where the root has strayed from its recording, they have not.

A pose that keeps its place relative to a root that is beside the recorded one has its hands beside the box, the handle
or the edge that they touch, and a network that learns from it learns not to mind where the thing is. So what is to be
predicted are arms that reach to where the hands were recorded in the world.
"""

from __future__ import annotations

import numpy as np
import torch

from ..models.nsm import ACTIONS, CONTACTS, CURRENT, FPS, FRAME, OUTPUT
from ..motion.easing import smoothstep
from ..motion.ik import ARMS, REACH
from ..motion.root import to_local, to_world
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from .episodes.holding import FADE
from .nsm_data import AHEAD, Packed, sequence_starts

_TAKES = 0.1
"""Seconds after a thing was taken, and before it is left, in which it is still at its place."""
TOUCHES = 0.5
"""Label from which a hand touches something, or something is carried."""
_LIMBS = [MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end]) for limb in ARMS.values()]
"""Shoulder, elbow and wrist of both arms."""
WRISTS = [limb[2] for limb in _LIMBS]
"""Joints of the hands."""
MOVED = [joint for limb in _LIMBS for joint in limb[1:]]
"""Joints whose places change: elbow and wrist of both arms."""


def weights(data: Packed) -> tuple[Array, Array]:
    """How far each hand is with what it touches, (N, 2) 0 to 1 for the rows of the packed data, and for the frame a
    second after each."""
    sides = [CONTACTS.index(side + "Hand") for side in ARMS]
    touches = data.output[:, OUTPUT.contact][:, sides] > TOUCHES
    labels = data.frame[:, FRAME.trajectory_action].reshape(len(data), -1, len(ACTIONS))
    carries = labels[:, CURRENT, ACTIONS.index("carry")] > TOUCHES
    follows = np.zeros(len(data), dtype=bool)
    follows[sequence_starts(data, 2)] = True
    ends = np.flatnonzero(~follows) + 1
    now, later = np.zeros((len(data), 2), dtype=np.float32), np.zeros((len(data), 2), dtype=np.float32)
    for first, last in zip([0, *ends[:-1]], ends, strict=True):
        rows = slice(first, last)
        for hand in range(len(sides)):
            now[rows, hand] = _eased(_still(touches[rows, hand], carries[rows]))
        later[rows] = now[np.minimum(np.arange(first, last) + AHEAD, last - 1)]
    return now, later


def _still(touches: Array, carries: Array) -> Array:
    """Frames (T,) of an episode in which a hand touches what is at its place, and is not carried."""
    changes = np.flatnonzero(np.diff(touches.astype(int)))
    out = touches & ~carries
    for change in changes:
        most = round(_TAKES * FPS)
        out[max(change - most, 0) : change + 1 + most] |= touches[max(change - most, 0) : change + 1 + most]
    return out


def _eased(still: Array) -> Array:
    """Weights (T,) that are 1 in some frames and rise and fall about them."""
    apart = np.abs(np.arange(len(still))[:, None] - np.flatnonzero(still)).min(axis=1, initial=len(still) + FADE * FPS)
    return smoothstep(1 - apart / (FADE * FPS))


def strayed(wrists: torch.Tensor, recorded: torch.Tensor, root: torch.Tensor) -> torch.Tensor:
    """Where wrists (N, 2, 3) that were recorded in the frames of roots (N, 4) are from those in the frames of others,
    if they stay in the world: (N, 2, 3)."""
    world = to_world(wrists[..., :2], recorded[:, None, 3]) + recorded[:, None, :2]
    seen = to_local(world - root[:, None, :2], root[:, None, 3])
    return torch.nn.functional.pad(seen - wrists[..., :2], (0, 1))


def reached(
    places: torch.Tensor, axes: torch.Tensor, away: torch.Tensor, turn: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Joint places (N, J, 3) and axes (N, J, 2, 3) of poses whose wrists are moved by `away` (N, 2, 3) meters, as far
    as the arms reach, and whose hands are turned by `turn` (N, 2) radians about +z."""
    places, axes = places.clone(), axes.clone()
    for hand, (upper, middle, end) in enumerate(_LIMBS):
        shoulder, elbow, wrist = places[:, upper], places[:, middle], places[:, end]
        above, below = elbow - shoulder, wrist - elbow
        a, b = above.norm(dim=1, keepdim=True), below.norm(dim=1, keepdim=True)
        aim = wrist + away[:, hand] - shoulder
        along = torch.nn.functional.normalize(aim, dim=1)
        # As far as the arm reaches; it is never asked to stretch more than it did.
        farthest = torch.maximum(REACH * (a + b), (wrist - shoulder).norm(dim=1, keepdim=True))
        nearest = (a - b).abs() + 1e-3
        distance = torch.maximum(torch.minimum(aim.norm(dim=1, keepdim=True), farthest), nearest)
        pole = torch.nn.functional.normalize(above - along * (above * along).sum(dim=1, keepdim=True), dim=1)
        forward = (a * a - b * b + distance * distance) / (2 * distance)
        aside = (a * a - forward * forward).clamp(min=0).sqrt()
        new_above = along * forward + pole * aside
        new_below = along * distance - new_above
        places[:, middle], places[:, end] = shoulder + new_above, shoulder + new_above + new_below
        axes[:, upper] = _turned(axes[:, upper], above, new_above)
        axes[:, middle] = _turned(axes[:, middle], below, new_below)
        cos, sin = turn[:, hand, None].cos(), turn[:, hand, None].sin()
        x, y, z = axes[:, end].unbind(dim=-1)
        axes[:, end] = torch.stack((cos * x - sin * y, sin * x + cos * y, z), dim=-1)
    return places, axes


def _turned(axes: torch.Tensor, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Axes (N, 2, 3) turned as the shortest turn brings vectors (N, 3) from `before` to `after`."""
    one, other = torch.nn.functional.normalize(before, dim=1), torch.nn.functional.normalize(after, dim=1)
    normal = torch.linalg.cross(one, other)[:, None].expand_as(axes)
    cos = (one * other).sum(dim=1)[:, None, None]
    across = torch.linalg.cross(normal, axes)
    return axes + across + torch.linalg.cross(normal, across) / (1 + cos).clamp(min=1e-3)
