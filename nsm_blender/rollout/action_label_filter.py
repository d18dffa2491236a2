# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels by what is asked for: a network that stands somewhere may feed itself those of what nobody asks for until it
acts on them, and those of standing when something is asked for."""

from __future__ import annotations

import numpy as np

from ..models.nsm import ACTIONS, FUTURE
from ..motion.rotations import Array, wrap_angle
from .goal_input import STANDOFF, Reach, Steer, Wish

BEFORE_USE = 0.9
"""Metres from the place where one is who uses a thing,"""
FADES = 0.4
"""less from so many nearer on,"""
FACED = 0.8
"""and radians from its facing, within which one is foreseen to sit within a second, or to use something else if he
idles there, as in the training data: left to his own labels, one who stopped stands for seconds, as one who idles."""
_LABELS = dict(zip(ACTIONS, np.eye(len(ACTIONS)), strict=True))
_SHARE = np.arange(1, FUTURE + 1) / FUTURE
_SIT, _OPEN, _CARRY = (ACTIONS.index(name) for name in ("sit", "open", "carry"))


def only_asked(actions: Array, before: Array, wish: Wish) -> Array:
    """Labels (N, 7) of now and later, of which those of acting with a thing that is not asked for are no higher than
    they were (7,): what was done fades, and nothing else is begun."""
    does = wish.action if isinstance(wish, Reach) else ""
    asked = np.ones(len(ACTIONS), dtype=bool)
    asked[_SIT] = does == "sit"
    asked[_OPEN] = does == "open" or (isinstance(wish, Steer) and bool(wish.door))
    asked[_CARRY] = bool(wish.thing) and does not in ("sit", "open")
    return np.where(asked, actions, np.minimum(actions, before))


def ready(actions: Array, wish: Wish, root: Array, idles: float) -> Array:
    """Future labels (6, 7) of one who may stand before the thing that he is asked to use, turned as one is who does,
    and think on. idles: 0..1, how far he stands and idles."""
    if not isinstance(wish, Reach) or wish.action == "idle":
        return actions
    away = float(np.linalg.norm(wish.place[:2] - root[:2])) - STANDOFF[wish.action]
    near = min(max((BEFORE_USE - away) / FADES, 0.0), 1.0)
    turned = min(max(1 - abs(float(wrap_angle(np.array(wish.facing - root[3])))) / FACED, 0.0), 1.0)
    share = (near * turned * (1.0 if wish.action == "sit" else idles) * _SHARE)[:, None]
    return (1 - share) * actions + share * _LABELS[wish.action]
