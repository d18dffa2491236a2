# SPDX-License-Identifier: GPL-3.0-or-later
"""Test rigs with flesh: closed shells around the bones, by rule, so that a mesh can be looked at and not only bones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..geometry.mesh import TriangleMesh
from ..motion.easing import smoothstep
from ..motion.rotations import Array, rotate
from ..motion.skeleton import MODEL_SKELETON
from ..rigging.joints import BoneInfo, RigInfo
from ..rigging.skin import Skin
from .rigs import NAMES, RECIPES, SIDES, Recipe, Rig, build

TRUNK = ("Hips", "Spine", "Spine1", "Spine2", "LeftUpLeg", "RightUpLeg")
"""Joints whose shells the hands are to keep out of."""
_RINGS, _SEGMENTS = 15, 20
"""Rings of a shell from end to end, and vertices of a ring."""
_SEAM = 0.05
"""Meters to both sides of a joint, at the model's size, over which a limb's weights go over to the bone above."""
_SQUARE = 4.0
"""Power of the superellipse that is a foot's cross-section: it has a flat sole."""


@dataclass(frozen=True)
class Form:
    """The shell of one joint, in meters at the model's size.

    wide, deep: half the widths to the side and to the front of the bone. over: meters by which it reaches beyond both
    ends. ahead: meters by which its middle lies before the bone.
    """

    wide: float
    deep: float
    over: float = 0.03
    ahead: float = 0.0


@dataclass(frozen=True)
class Flesh:
    """How a skin differs from a slim one: factors, and for feet meters at the model's size.

    sole: from the ball's joint down to the sole. heel: from the ankle back. tip: from the ball to the tip of the toes.
    """

    hips: float = 1.0
    belly: float = 1.0
    chest: float = 1.0
    legs: float = 1.0
    arms: float = 1.0
    hands: float = 1.0
    head: float = 1.0
    sole: float = 0.02
    heel: float = 0.05
    tip: float = 0.09
    foot: float = 1.0


@dataclass(frozen=True, eq=False)
class Body:
    """A rig with a skin. parts: vertices (N,) and triangles (M, 3) in the whole skin of each joint's closed shell.
    size: factor on the whole."""

    rig: Rig
    skin: Skin
    parts: dict[str, tuple[Array, Array]]
    size: float


def _both(**parts: float) -> dict[str, float]:
    return {side + part: factor for side, _ in SIDES for part, factor in parts.items()}


def _without_toes(recipe: Recipe) -> Recipe:
    return replace(recipe, names={joint: links for joint, links in recipe.names.items() if not joint.endswith("Toe")})


BODIES: dict[str, tuple[Recipe, Flesh]] = {
    "slim": (RECIPES["LaFAN"], Flesh()),
    "broad hips": (replace(RECIPES["Mixamo"], sizes=_both(UpLeg=1.2)), Flesh(hips=1.45, legs=1.35, hands=1.1)),
    "big belly": (replace(RECIPES["Unreal 5"], sizes={}), Flesh(hips=1.3, belly=1.9, chest=1.2, legs=1.3, arms=1.3)),
    "big feet": (
        replace(RECIPES["VRM"], size=1.0, sizes=_both(Toe=1.6)),
        Flesh(sole=0.09, heel=0.11, tip=0.17, foot=1.8),
    ),
    "no toes": (_without_toes(RECIPES["Unity humanoid"]), Flesh(sole=0.04, heel=0.08, tip=0.13, foot=1.4)),
    "toy": (
        replace(RECIPES["Biped"], size=0.35, sizes=_both(Leg=0.6, Foot=0.6, Toe=1.1, Arm=1.1, ForeArm=0.8, Hand=0.8)),
        Flesh(hips=1.25, belly=1.5, chest=1.1, legs=1.2, arms=1.2, hands=1.6, head=2.0, sole=0.05, tip=0.12, foot=1.5),
    ),
    "long arms": (
        replace(RECIPES["Character Creator"], sizes=_both(ForeArm=1.2, Hand=1.25, Arm=0.95)),
        Flesh(hips=1.3, legs=1.2, hands=1.4),
    ),
    "child": (RECIPES["child"], Flesh(hips=1.1, belly=1.2, head=1.3)),
}
"""Bodies by their names: how the bones differ from the model's, and how the flesh does."""


def body(name: str) -> Body:
    """One of BODIES, with its soles on the armature's floor."""
    recipe, flesh = BODIES[name]
    rig = build(name, recipe)
    rig = Rig(_raised(rig.info, recipe.size * (flesh.sole - 0.02)), rig.truth)
    return _fleshed(rig, recipe, flesh)


def posed(body: Body, places: Array, rotations: Array, bones: tuple[str, ...]) -> Array:
    """The skin's vertices (V, 3) in world meters as an armature moves them, where its keyed bones have their heads at
    places (B, 3) and world orientations (B, 4); the other bones follow the bone above."""
    info = body.rig.info
    number = {name: i for i, name in enumerate(bones)}
    out = np.zeros((len(body.skin.vertices), 3))
    for index, name in enumerate(body.skin.bones):
        keyed = next(one for one in info.path(name) if one in number)
        bone = info.bones[info.numbers[keyed]]
        share = np.where(body.skin.owners == index, body.skin.weights, 0.0).sum(axis=1)
        on = np.flatnonzero(share > 0)
        local = (body.skin.vertices[on] - bone.head) @ bone.rest * info.size
        turned = rotate(np.broadcast_to(rotations[number[keyed]], (len(on), 4)), local)
        out[on] += share[on, None] * (places[number[keyed]] + turned)
    return out


def shells(body: Body, vertices: Array, joints: tuple[str, ...]) -> list[TriangleMesh]:
    """The closed shells of joints of a body that is posed with vertices (V, 3)."""
    return [TriangleMesh(vertices, body.parts[joint][1]) for joint in joints if joint in body.parts]


def _raised(info: RigInfo, height: float) -> RigInfo:
    """The rig with its bones `height` meters higher over its origin."""
    up = np.linalg.inv(info.world[:3, :3]) @ np.array([0.0, 0.0, height])
    bones = tuple(BoneInfo(b.name, b.parent, b.head + up, b.tail + up, b.x_axis, b.connected, b.deform)
                  for b in info.bones)  # fmt: skip
    return RigInfo(info.name, bones, info.world)


def _fleshed(rig: Rig, recipe: Recipe, flesh: Flesh) -> Body:
    """The rig with shells around its bones. They are made in the world and stored in the armature's space."""
    size = recipe.size
    places = {joint: rig.info.heads[rig.info.numbers[bone]] @ rig.info.world[:3, :3].T + rig.info.world[:3, 3]
              for joint, bone in rig.truth.items()}  # fmt: skip
    vertices, parts, owners, weights, count = list[Array](), {}, list[Array](), list[Array](), 0
    names = tuple(dict.fromkeys(rig.truth.values()))
    for joint in rig.truth:
        shell, share, above = _shell(joint, places, recipe, flesh)
        parts[joint] = (np.arange(count, count + len(shell)), _faces() + count)
        own, other = (names.index(rig.truth[one]) for one in (joint, above))
        owners.append(np.tile([own, other], (len(shell), 1)))
        weights.append(np.stack((share, 1 - share), axis=1))
        vertices.append(shell)
        count += len(shell)
    inverse = np.linalg.inv(rig.info.world)
    local = np.concatenate(vertices) @ inverse[:3, :3].T + inverse[:3, 3]
    skin = Skin(local, names, np.concatenate(owners), np.concatenate(weights))
    return Body(rig, skin, parts, size)


def _shell(joint: str, places: dict[str, Array], recipe: Recipe, flesh: Flesh) -> tuple[Array, Array, str]:
    """Vertices (N, 3) around a joint's bone in the world, their weights (N,) on it, and the joint of the rest."""
    size, part = recipe.size, joint.removeprefix("Left").removeprefix("Right")
    turn = recipe.turns.get(joint, np.array([1.0, 0.0, 0.0, 0.0]))
    head, above = places[joint], _above(joint, places)
    if part in ("Foot", "Toe"):
        return _foot(joint, places, recipe, flesh)
    form, end = _form(part, flesh), head + size * rotate(turn, _end(joint, part))
    child = next((joint[: -len(part)] + other for other in _NEXT.get(part, ()) if
                  joint[: -len(part)] + other in places), None)  # fmt: skip
    if child is not None:
        end = places[child]
    along = (end - head) / np.linalg.norm(end - head)
    ahead = np.array([0.0, -1.0, 0.0]) - along * (along @ [0.0, -1.0, 0.0])
    ahead /= np.linalg.norm(ahead)
    across = np.cross(along, ahead)
    half = np.linalg.norm(end - head) / 2 + size * form.over
    angle, turn_by = _grid()
    shell = (head + end) / 2 + size * form.ahead * ahead
    shell = shell + half * np.cos(angle)[:, None] * along
    radius = np.sin(angle)
    shell = shell + size * (form.wide * (radius * np.cos(turn_by))[:, None] * across
                            + form.deep * (radius * np.sin(turn_by))[:, None] * ahead)  # fmt: skip
    share = smoothstep(0.5 + ((shell - head) @ along) / (2 * _SEAM * size))
    return shell, np.ones(len(shell)) if joint == "Hips" else share, above


def _foot(joint: str, places: dict[str, Array], recipe: Recipe, flesh: Flesh) -> tuple[Array, Array, str]:
    """The shell of a foot from heel to ball, or to the tip where the rig has no toes, or of the toes; flat below."""
    size, side = recipe.size, joint[: -len("Foot")] if joint.endswith("Foot") else joint[: -len("Toe")]
    ankle = places[side + "Foot"]
    ball = places.get(side + "Toe")
    model = MODEL_SKELETON.offsets[MODEL_SKELETON.index(side + "Toe")] * recipe.sizes.get(side + "Toe", 1.0)
    there = ankle + size * model if ball is None else ball
    sole, wide = there[2] - size * flesh.sole, 0.045 * flesh.foot * size
    back, front = ankle[1] + size * flesh.heel, there[1]
    top = ankle[2]
    if joint.endswith("Toe"):
        back, front, top = there[1] + size * 0.02, there[1] - size * flesh.tip, there[2] + size * flesh.sole
    elif ball is None:
        front = there[1] - size * flesh.tip
    angle, turn_by = _grid()
    level = np.sign(np.cos(angle)) * np.abs(np.cos(angle)) ** (2 / _SQUARE)
    radius = np.abs(np.sin(angle)) ** (2 / _SQUARE)
    x, z = (np.sign(c) * np.abs(c) ** (2 / _SQUARE) for c in (np.cos(turn_by), np.sin(turn_by)))
    shell = np.stack((ankle[0] + wide * radius * x, (back + front) / 2 + (back - front) / 2 * level,
                      (top + sole) / 2 + (top - sole) / 2 * radius * z), axis=1)  # fmt: skip
    above = side + "Leg" if joint.endswith("Foot") else side + "Foot"
    return shell, np.ones(len(shell)), above


_NEXT = {"Spine": ("Spine1",), "Spine1": ("Spine2",), "Spine2": ("Neck",), "Neck": ("Head",), "UpLeg": ("Leg",),
         "Leg": ("Foot",), "Shoulder": ("Arm",), "Arm": ("ForeArm",), "ForeArm": ("Hand",)}  # fmt: skip


def _end(joint: str, part: str) -> Array:
    sign = -1.0 if joint.startswith("Right") else 1.0
    return np.array({"Head": [0, -0.02, 0.18], "Hand": [0.17 * sign, 0, 0], "Hips": [0, -0.01, -0.12]}.get(
        part, [0, 0, 0.05]))  # fmt: skip


def _form(part: str, f: Flesh) -> Form:
    return {
        "Hips": Form(0.16 * f.hips, 0.115 * f.hips, 0.08, 0.015),
        "Spine": Form(0.13 * f.belly, 0.095 * f.belly, 0.06, 0.02 * f.belly),
        "Spine1": Form(0.14 * f.belly, 0.1 * f.belly, 0.06, 0.02 * f.belly),
        "Spine2": Form(0.17 * f.chest, 0.115 * f.chest, 0.07, 0.015),
        "Neck": Form(0.05, 0.05, 0.03),
        "Head": Form(0.08 * f.head, 0.1 * f.head, 0.04 * f.head, 0.02),
        "UpLeg": Form(0.085 * f.legs, 0.09 * f.legs, 0.06),
        "Leg": Form(0.055 * f.legs, 0.06 * f.legs, 0.05),
        "Shoulder": Form(0.05, 0.05, 0.03),
        "Arm": Form(0.048 * f.arms, 0.048 * f.arms, 0.04),
        "ForeArm": Form(0.04 * f.arms, 0.04 * f.arms, 0.03),
        "Hand": Form(0.02 * f.hands, 0.045 * f.hands, 0.01),
    }[part]


def _above(joint: str, places: dict[str, Array]) -> str:
    """The next joint of the rig toward the hips; the hips' is their own."""
    parent = MODEL_SKELETON.parents[NAMES.index(joint)]
    while parent >= 0 and NAMES[parent] not in places:
        parent = MODEL_SKELETON.parents[parent]
    return NAMES[max(parent, 0)]


def _grid() -> tuple[Array, Array]:
    """Angles (N,) from one pole of a shell to the other and around it; the poles are vertices."""
    ring = np.linspace(0, np.pi, _RINGS + 1)[1:-1]
    around = np.linspace(0, 2 * np.pi, _SEGMENTS, endpoint=False)
    angle, turn = (x.ravel() for x in np.meshgrid(ring, around, indexing="ij"))
    return np.concatenate((angle, [0.0, np.pi])), np.concatenate((turn, [0.0, 0.0]))


def _faces() -> Array:
    """Triangles (M, 3) of a shell."""
    rings, s = _RINGS - 1, _SEGMENTS
    r, c = (x.ravel() for x in np.meshgrid(np.arange(rings - 1), np.arange(s), indexing="ij"))
    d = (c + 1) % s
    quads = np.stack((r * s + c, r * s + d, (r + 1) * s + d, (r + 1) * s + c), axis=1)
    i, j, first, last = np.arange(s), (np.arange(s) + 1) % s, rings * s, rings * s + 1
    caps = [np.stack((np.full(s, first), j, i), axis=1),
            np.stack((np.full(s, last), (rings - 1) * s + i, (rings - 1) * s + j), axis=1)]  # fmt: skip
    return np.concatenate((quads[:, [0, 1, 2]], quads[:, [0, 2, 3]], *caps))
