# SPDX-License-Identifier: GPL-3.0-or-later
"""Maps bones to joints from the rest pose alone, for rigs whose names say nothing.

A figure stands on two chains of bones that part at the hips; on the trunk above, two chains reach out to the sides and
one to the top. On a limb's chain three joints are sought that part it into two long, nearly equal halves, which skips
twist bones, collar bones, hands and fingers. The toes' direction tells left from right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..motion.bone_names import is_end_of_bone
from ..motion.rotations import Array, normalize
from .joints import RigInfo
from .naming import spread

_FOOT_HEIGHT = 0.12
"""Share of the figure's height below which an ankle lies."""
_SHORTEST_LIMB = 0.08
"""Least share of the figure's height that thighs, shins, upper arms and forearms have."""
_LEAST_HALF = 0.55
"""Least ratio of the shorter half of a limb to the longer half."""
_LEG_SHAPE, _ARM_SHAPE = (1.0, 0.45), (0.9, 0.6)
"""A body's proportions of legs and of arms: lower over upper half, and foot (to the toes' tips) or hand over the lower
half."""
_ODDEST = 1.2
"""Largest sum of logarithms by which a limb may differ from a body's proportions."""
_ASIDE = 0.005
"""Share of the height by which a limb's bones are off the middle."""

_LEAST_AHEAD = 0.004
"""Share of the height by which toes or knees are off the middle of the leg to tell where the front is."""
_ALIKE = 0.01
"""Share of the height within which a bone lies where another one's mirror image is."""
_LIMB_BONES = 2
"""Bones of a limb that are more than a helper's: upper, lower and end are three."""
_MOST_PLACES = 800
"""Bones from whose places the plane of symmetry is found."""
_LONG_HEAD = 0.04
"""Share of the height that a head has at least; shorter bones above the chest are the neck's."""

_UPS = (np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
"""Candidates for the up axis, the likeliest first."""


def by_geometry(rig: RigInfo) -> dict[str, str]:
    """Map hips, trunk, head, arms and legs to bones' names as far as the rest pose shows them; {} if it is no
    figure."""
    if len(rig.bones) < 8 or rig.height <= 0:
        return {}
    turned = np.asarray(rig.world, dtype=np.float64)[:3, :3].T @ _UPS[0]
    for up in (_UPS[0], normalize(turned), _UPS[1], _UPS[2]):
        found = _Figure(rig, up).joints()
        if found:
            return found
    return {}


def shows_front(rig: RigInfo, shape: Mapping[str, str]) -> bool:
    """Whether the feet of a figure as mapped by `by_geometry` tell where its front is, and so its left from its
    right."""
    return rig.tails_tell or "LeftToe" in shape or "RightToe" in shape


@dataclass(frozen=True, eq=False)
class _Limb:
    """Bones of a limb: upper, lower, end, and those beyond.

    side: (3,) the end's place from the middle. length: of both halves. oddness: deviation of its proportions from a
    body's.
    """

    upper: str
    lower: str
    end: str
    beyond: tuple[str, ...]
    side: Array
    length: float
    oddness: float


class _Figure:
    """The figure under one hypothesis of the up axis."""

    def __init__(self, rig: RigInfo, up: Array) -> None:
        self.rig, self.up = rig, up
        tails = rig.tails if rig.tails_tell else rig.heads
        self.heights = np.stack((rig.heads, tails)) @ up
        self.low = float(self.heights.min())
        self.tall = float(np.ptp(self.heights))
        flat: Array = rig.heads - np.outer(rig.heads @ up, up)
        flat = flat - flat.mean(0)
        self.across: Array = np.linalg.eigh(flat.T @ flat)[1][:, -1]
        """(3,) the horizontal axis along which the figure is widest."""
        self.middle: Array = self.across * _mirror_plane(rig.heads, self.across, _ALIKE * self.tall)
        """(3,) a point in the plane of symmetry."""
        self.tips = tails
        self.leaves: list[str] = [name for name in rig.names if not rig.children(name)]

    def joints(self) -> dict[str, str]:
        """Map joints to bones; empty unless both legs and the hips are found."""
        if self.tall < 0.5 * self.rig.height:
            return {}
        legs = self._pair([leg for leaf in self.leaves if (leg := self._leg(leaf)) is not None])
        if legs is None:
            return {}
        hips = self._common(legs[0].upper, legs[1].upper)
        if hips is None:
            return {}
        left = self._left(legs)
        legs = _leftmost_first(legs, left)
        out = {"Hips": hips}
        for name, leg in zip(("Left", "Right"), legs, strict=True):
            out |= {name + "UpLeg": leg.upper, name + "Leg": leg.lower, name + "Foot": leg.end}
            if leg.beyond:
                out[name + "Toe"] = leg.beyond[0]
        return out | self._upper_body(hips, left, set(self.rig.path(hips)) | set(out.values()))

    def _upper_body(self, hips: str, left: Array, taken: set[str]) -> dict[str, str]:
        # A pelvis bone that only carries the legs is a child of the bone that carries legs and trunk.
        starts = [hips, *self.rig.path(hips)[1:]]
        reach = [arm for leaf in self.leaves if (arm := self._arm(leaf, taken)) is not None]
        arms = self._pair(reach)
        if arms is None:
            return self._trunk(hips, None, taken)
        chest = self._common(arms[0].upper, arms[1].upper)
        if chest is None:
            return {}
        base = next((bone for bone in starts if bone in self.rig.path(chest)), None)
        if base is None:
            return {}
        arms = _leftmost_first(arms, left)
        out = {"Hips": base} if base != hips else {}
        for name, arm in zip(("Left", "Right"), arms, strict=True):
            out |= {name + "Arm": arm.upper, name + "ForeArm": arm.lower, name + "Hand": arm.end}
            path = self.rig.path(arm.upper)
            collar = path[path.index(chest) - 1]
            if collar != arm.upper:
                out[name + "Shoulder"] = collar
        limbs = {bone for limb in arms for bone in self.rig.path(limb.upper)} - set(self.rig.path(chest))
        return out | self._trunk(base, chest, taken | limbs)

    def _trunk(self, hips: str, chest: str | None, taken: set[str]) -> dict[str, str]:
        """Spine from hips to chest, and neck and head from the chest to the top."""
        out: dict[str, str] = {}
        if chest is not None and chest != hips:
            path = self.rig.path(chest)
            out |= spread(path[: path.index(hips)][::-1])
        bottom = chest or hips
        tops = [
            leaf
            for leaf in self.leaves
            if bottom in self.rig.path(leaf)[1:]
            and not taken & set(self.rig.path(leaf)[: self.rig.path(leaf).index(bottom)])
        ]
        middle = [leaf for leaf in tops if self._central(leaf)]
        if not middle:
            return out
        top = max(middle, key=lambda leaf: self._height(leaf))
        path = self.rig.path(top)
        crown = path[: path.index(bottom)][::-1]
        if chest is None:
            return out | {"Head": crown[-1]} | spread(crown[:-2])
        head = self._head(crown)
        out["Head"] = crown[head]
        return out | ({"Neck": crown[0]} if head > 0 else {})

    def _head(self, crown: Sequence[str]) -> int:
        """Index of the head among the bones above the chest: the bone that branches, or the longest of the upper
        bones; a bone that only marks the crown is none."""
        ends = [i for i, bone in enumerate(crown) if i and is_end_of_bone(bone)]
        crown = crown[: ends[0]] if ends else crown
        for i, bone in enumerate(crown):
            if len(self.rig.children(bone)) > 2:
                return i
        lengths = [self._length(bone) for bone in crown]
        if not self.rig.tails_tell:
            heads = [self._head_height(bone) for bone in crown]
            lengths = [*(self.tall * float(gap) for gap in np.diff(heads)), self.tall]
        return max(range(len(crown)), key=lambda i: (lengths[i] > _LONG_HEAD * self.tall, i))

    def _leg(self, leaf: str) -> _Limb | None:
        """The leg that ends in a leaf bone near the ground, if it is one."""
        if self._low_end(leaf) > _FOOT_HEIGHT:
            return None
        chain = self._aside_chain(leaf)
        heights = [self._head_height(name) for name in chain]
        return self._limb(
            chain,
            _LEG_SHAPE,
            lambda i, j, k: heights[k] < _FOOT_HEIGHT and heights[i] > 0.25 and heights[i] > heights[j] > heights[k],
        )

    def _arm(self, leaf: str, taken: set[str]) -> _Limb | None:
        """The arm that ends in a leaf bone, if it is one."""
        chain = self._aside_chain(leaf)
        if taken & set(chain):
            return None
        return self._limb(chain, _ARM_SHAPE, lambda i, j, k: True)

    def _limb(
        self, chain: Sequence[str], shape: tuple[float, float], fits: Callable[[int, int, int], bool]
    ) -> _Limb | None:
        """The three bones of a chain whose heads part it most like a limb."""
        heads = [self.rig.heads[self.rig.numbers[name]] for name in chain]
        limbs = []
        for i, j, k in combinations(range(len(chain)), 3):
            upper, lower = float(np.linalg.norm(heads[j] - heads[i])), float(np.linalg.norm(heads[k] - heads[j]))
            if min(upper, lower) < max(_SHORTEST_LIMB * self.tall, _LEAST_HALF * max(upper, lower)) or not fits(
                i, j, k
            ):
                continue
            end = float(np.linalg.norm(self.tips[self.rig.numbers[chain[-1]]] - heads[k]))
            if not self.rig.tails_tell:  # and then hands and toes are as long as they use to be
                end = max(end, lower * shape[1])
            oddness = abs(np.log(lower / upper / shape[0])) + 0.5 * abs(np.log(max(end, 1e-6) / lower / shape[1]))
            oddness += 1.0 - float(normalize(heads[j] - heads[i]) @ normalize(heads[k] - heads[j]))
            if oddness < _ODDEST:
                limbs.append(
                    _Limb(
                        chain[i],
                        chain[j],
                        chain[k],
                        tuple(chain[k + 1 :]),
                        heads[k] - self.middle,
                        upper + lower,
                        float(oddness),
                    )
                )
        return min(limbs, key=lambda limb: limb.oddness, default=None)

    def _pair(self, limbs: Sequence[_Limb]) -> tuple[_Limb, _Limb] | None:
        """The two limbs that mirror each other and look most like a body's."""
        pairs = [
            (a, b)
            for a, b in combinations(limbs, 2)
            if a.upper not in self.rig.path(b.end)
            and b.upper not in self.rig.path(a.end)
            and a.side @ self.across * (b.side @ self.across) < 0
            and abs((a.side - b.side) @ self.up) < 0.1 * self.tall
            and min(a.length, b.length) > 0.8 * max(a.length, b.length)
        ]
        return min(pairs, key=lambda pair: pair[0].oddness + pair[1].oddness, default=None)

    def _left(self, legs: tuple[_Limb, _Limb]) -> Array:
        """Unit vector to the figure's left: from foot to foot, with the sign that the toes' direction gives."""
        across = legs[0].side - legs[1].side
        across = normalize(across - self.up * (across @ self.up))
        return across if np.cross(self.up, self._ahead(legs)) @ across >= 0 else -across

    def _ahead(self, legs: tuple[_Limb, _Limb]) -> Array:
        """Direction (3,) to the figure's front: that of the toes; where bones do not show these, that of the knees;
        else the world's front."""
        toes, knees = np.zeros(3), np.zeros(3)
        for leg in legs:
            hip, knee, foot = (self.rig.heads[self.rig.numbers[name]] for name in (leg.upper, leg.lower, leg.end))
            tips = [self.tips[self.rig.numbers[name]] for name in (leg.end, *leg.beyond)]
            toes += max((tip - foot for tip in tips), key=lambda v: float(np.linalg.norm(v)))
            line = normalize(foot - hip)
            knees += (knee - hip) - line * ((knee - hip) @ line)
        world = np.asarray(self.rig.world, dtype=np.float64)[:3, :3].T @ np.array([0.0, -1.0, 0.0])
        flat = [v - self.up * (v @ self.up) for v in (toes, knees, world)]
        return next((v for v in flat[:2] if np.linalg.norm(v) > _LEAST_AHEAD * self.tall), flat[2])

    def _aside_chain(self, leaf: str) -> list[str]:
        """The bones from the middle of the figure out to a leaf, without those that lie in the middle, and without
        those at the end that only this side has, such as a weapon's."""
        path = self.rig.path(leaf)
        inner = next((i for i, name in enumerate(path) if self._central(name)), len(path))
        outer = next((i for i, name in enumerate(path[:inner]) if self._has_mirror_image(name)), inner)
        return path[outer if inner - outer > _LIMB_BONES else 0 : inner][::-1]

    def _has_mirror_image(self, name: str) -> bool:
        """Whether a bone lies on the other side of the plane of symmetry as this one does on its side."""
        place = self.rig.heads[self.rig.numbers[name]]
        image = place - 2 * self.across * float((place - self.middle) @ self.across)
        return float(np.linalg.norm(self.rig.heads - image, axis=1).min()) < _ALIKE * self.tall

    def _central(self, name: str) -> bool:
        """Whether the bone's head lies in the plane of symmetry, as far as both sides show that plane."""
        offset = self.rig.heads[self.rig.numbers[name]] - self.middle
        return abs(float(offset @ self.across)) < _ASIDE * self.tall

    def _common(self, a: str, b: str) -> str | None:
        above = self.rig.path(b)[1:]
        return next((bone for bone in self.rig.path(a)[1:] if bone in above), None)

    def _length(self, name: str) -> float:
        return self.rig.bones[self.rig.numbers[name]].length

    def _height(self, name: str) -> float:
        return float(self.heights[:, self.rig.numbers[name]].max())

    def _low_end(self, name: str) -> float:
        return float(self.heights[:, self.rig.numbers[name]].min() - self.low) / self.tall

    def _head_height(self, name: str) -> float:
        return float(self.heights[0, self.rig.numbers[name]] - self.low) / self.tall


def _mirror_plane(places: Array, across: Array, close: float) -> float:
    """Place along `across` of the plane in which most pairs of places (B, 3) mirror each other.

    close: distance within which a place counts as another's mirror image. What one side has alone, such as a weapon or
    a cloak, does not move the plane.
    """
    along = places @ across
    flat: Array = places - np.outer(along, across)
    flat = flat[:: max(len(flat) // _MOST_PLACES, 1)]
    along = along[:: max(len(along) // _MOST_PLACES, 1)]
    far = np.linalg.norm(flat[:, None] - flat[None], axis=-1)
    first, second = np.nonzero((far < close) & (np.abs(along[:, None] - along[None]) > close))
    if not len(first):
        return float((along.max() + along.min()) / 2)
    middles = np.sort((along[first] + along[second]) / 2)
    inside = np.searchsorted(middles, middles + close, side="right") - np.arange(len(middles))
    most = int(np.argmax(inside))
    return float(np.median(middles[most : most + inside[most]]))


def _leftmost_first(limbs: tuple[_Limb, _Limb], left: Array) -> tuple[_Limb, _Limb]:
    return limbs if limbs[0].side @ left > limbs[1].side @ left else (limbs[1], limbs[0])
