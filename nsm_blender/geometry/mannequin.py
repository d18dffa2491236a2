# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundled character as arrays: a jointed artist's mannequin around the model skeleton.

Body pieces are lofts (stacks of superellipse rings), joints are balls centered on the skeleton's joints. Limbs follow
one bone each and turn around their balls, so no bend can tear or pinch them; waist, chest, neck, shoulders and toes
blend smoothly between bones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..motion.easing import smoothstep
from ..motion.rotations import Array
from ..motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON, mirror_indices

HEIGHT = 1.75
"""Height in meters from the soles to the crown."""

BODY, JOINT, ACCENT = 0, 1, 2
"""Material slots: the pieces, the balls and soft parts, the visor and the trimmings."""

MATERIALS: tuple[tuple[str, tuple[float, float, float, float], float], ...] = (
    ("NSM Mannequin Body", (0.68, 0.56, 0.42, 1.0), 0.45),
    ("NSM Mannequin Joint", (0.055, 0.06, 0.07, 1.0), 0.55),
    ("NSM Mannequin Accent", (0.80, 0.17, 0.03, 1.0), 0.30),
)
"""(name, linear RGBA, roughness) of each slot."""

Weigh = Callable[[Array], Array]
"""Vertices (V, 3) to weights (V, J) that sum to 1."""


@dataclass(frozen=True, eq=False)
class Bone:
    """A bone of the armature in the rest pose, in meters; `front` is the direction of its +Z axis."""

    name: str
    parent: str | None
    head: Array
    tail: Array
    front: tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Piece:
    """Part of the mesh: vertices (V, 3), quads (Q, 4) and triangles (T, 3), their slots, weights (V, J)."""

    vertices: Array
    quads: Array
    triangles: Array
    quad_slots: Array
    triangle_slots: Array
    weights: Array


def joint_places() -> Array:
    """Joints (J, 3) of the model skeleton in its T-pose, soles on the ground, hips over the origin."""
    return MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT])


def bones() -> list[Bone]:
    """The armature's bones in skeleton order.

    Each bone's X axis is its natural hinge: a positive turn bends the knee and the elbow.
    """
    places = dict(zip(MODEL_SKELETON.names, joint_places(), strict=True))
    down, forward, up = np.array([0.0, 0.0, -1.0]), np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    tails = {
        # Spine starts where Hips does; the pelvis points down so that both can be seen and clicked
        "Hips": places["Hips"] + 0.10 * down,
        "Head": np.array([0.0, places["Head"][1], HEIGHT]),
        "Spine2": places["Neck"],
    }
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        tails[f"{side}Hand"] = places[f"{side}Hand"] + np.array([0.18 * sign, 0.0, 0.0])
        tails[f"{side}Toe"] = places[f"{side}Toe"] + 0.065 * forward
    out = []
    for joint, name in enumerate(MODEL_SKELETON.names):
        children = MODEL_SKELETON.children(joint)
        tail = tails[name] if name in tails else places[MODEL_SKELETON.names[children[0]]]
        if name.endswith(("UpLeg", "Leg")) or name == "Hips":
            front = -forward
        elif name.endswith(("Foot", "Toe")):
            front = down
        else:
            front = forward
        if name.endswith("Shoulder"):
            front = up
        parent = MODEL_SKELETON.parents[joint]
        out.append(
            Bone(
                name,
                MODEL_SKELETON.names[parent] if parent >= 0 else None,
                places[name],
                tail,
                (float(front[0]), float(front[1]), float(front[2])),
            )
        )
    return out


def mannequin() -> Piece:
    """The whole mesh in the T-pose, facing -Y, soles at z = 0, crown at `HEIGHT`; the same every time."""
    at = dict(zip(MODEL_SKELETON.names, joint_places(), strict=True))
    middle = [*_torso(), *_head(at)]
    left = [*_arm(at), *_leg(at)]
    return _join([*middle, *left, *(_mirrored(p) for p in left)])


# Pieces. Tables hold one ring per row: place along the axis, half-widths along the two other axes,
# then the ring's center along those. All in meters, measured on the model skeleton. Three rings a
# line show the shape at a glance, which the formatter would undo.
# fmt: off

def _torso() -> list[Piece]:
    """The pelvis, waist, chest and shoulders, with their balls."""
    pelvis = _loft("z", [
        (0.842, 0.030, 0.050, 0.0, -0.030), (0.865, 0.058, 0.078, 0.0, -0.027), (0.900, 0.112, 0.098, 0.0, -0.022),
        (0.940, 0.152, 0.108, 0.0, -0.020), (0.980, 0.158, 0.108, 0.0, -0.021), (1.015, 0.144, 0.099, 0.0, -0.023),
        (1.035, 0.132, 0.090, 0.0, -0.024),
    ], BODY, _rigid("Hips"), segments=28, rings=10, caps=(0.012, 0.008), power=2.5)
    waist = _loft("z", [
        (0.990, 0.118, 0.080, 0.0, -0.023), (1.040, 0.116, 0.080, 0.0, -0.024), (1.090, 0.113, 0.079, 0.0, -0.024),
        (1.140, 0.120, 0.084, 0.0, -0.024), (1.180, 0.126, 0.088, 0.0, -0.023),
    ], JOINT, _chain("z", ("Hips", "Spine", "Spine1"), ((0.985, 1.050), (1.070, 1.145))),
        segments=28, rings=10, caps=(0.01, 0.01), power=2.3)
    chest = _loft("z", [
        (1.122, 0.121, 0.085, 0.0, -0.024), (1.150, 0.134, 0.095, 0.0, -0.025), (1.205, 0.150, 0.109, 0.0, -0.026),
        (1.270, 0.166, 0.118, 0.0, -0.024), (1.330, 0.178, 0.113, 0.0, -0.017), (1.375, 0.176, 0.097, 0.0, -0.009),
        (1.408, 0.152, 0.081, 0.0, -0.002), (1.434, 0.100, 0.067, 0.0, 0.002), (1.452, 0.066, 0.058, 0.0, 0.002),
    ], BODY, _chest_weights, segments=32, rings=14, caps=(0.010, 0.008), power=2.45)
    return [pelvis, waist, chest]


def _head(at: dict[str, Array]) -> list[Piece]:
    neck = _loft("z", [
        (1.385, 0.056, 0.056, 0.0, 0.002), (1.430, 0.052, 0.053, 0.0, 0.000), (1.480, 0.047, 0.050, 0.0, -0.004),
        (1.530, 0.047, 0.052, 0.0, -0.008), (1.580, 0.048, 0.056, 0.0, -0.010),
    ], JOINT, _chain("z", ("Spine2", "Neck", "Head"), ((1.370, 1.430), (1.495, 1.550))),
        segments=24, rings=8, caps=(0.01, 0.01))
    skull = _loft("z", [
        (1.531, 0.030, 0.036, 0.0, -0.066), (1.550, 0.046, 0.056, 0.0, -0.054), (1.580, 0.058, 0.074, 0.0, -0.040),
        (1.620, 0.068, 0.088, 0.0, -0.029), (1.660, 0.0755, 0.0970, 0.0, -0.021), (1.684, 0.0760, 0.0975, 0.0, -0.018),
    ], BODY, _rigid("Head"), segments=28, rings=12, caps=(0.010, HEIGHT - 1.684), power=2.2, cap_rings=6)
    nose = _ball((0.0, -0.108, 1.630), (0.0125, 0.025, 0.033), BODY, "Head", 12, 8)
    return [neck, skull, nose, _visor()]


def _visor() -> Piece:
    """A shell around the front of the skull at eye height; its rim sinks below the surface."""
    across, up = np.linspace(-1, 1, 25), np.linspace(-1, 1, 9)
    a, u = np.meshgrid(across, up, indexing="xy")
    out = 1.0 + 0.07 * (1 - np.abs(u) ** 4) * (1 - np.abs(a) ** 8) - 0.02
    angle = np.deg2rad(78) * a
    vertices = np.stack([
        0.0755 * np.sin(angle) * out,
        -0.0215 - 0.0970 * np.cos(angle) * out,
        1.668 + 0.021 * u * (1 - 0.25 * a**2),
    ], -1)
    quads = _grid_quads(len(up), len(across), closed=False)
    flat = vertices.reshape(-1, 3)
    return _piece(flat, quads, np.zeros((0, 3), int), ACCENT, _rigid("Head"))


def _arm(at: dict[str, Array]) -> list[Piece]:
    y, z = at["LeftArm"][1], at["LeftArm"][2]
    shoulder, elbow, wrist = at["LeftArm"][0], at["LeftForeArm"][0], at["LeftHand"][0]

    def along(start: float, rows: Sequence[tuple[float, float, float, float, float]]) -> list[tuple[float, ...]]:
        return [(start + t, a, b, y + u, z + v) for t, a, b, u, v in rows]

    upper = _loft("x", along(shoulder, [
        (0.020, 0.044, 0.046, 0, 0), (0.050, 0.050, 0.050, 0, 0.000), (0.100, 0.048, 0.047, 0, 0),
        (0.170, 0.043, 0.042, 0, 0), (0.230, 0.040, 0.039, 0, 0), (0.258, 0.037, 0.036, 0, 0),
    ]), BODY, _rigid("LeftArm"), segments=18, rings=9, caps=(0.020, 0.014))
    fore = _loft("x", along(elbow, [
        (0.036, 0.036, 0.036, 0, 0), (0.070, 0.041, 0.040, 0, 0), (0.110, 0.040, 0.039, 0, 0),
        (0.170, 0.034, 0.033, 0, 0), (0.215, 0.029, 0.027, 0, 0), (0.232, 0.027, 0.025, 0, 0),
    ]), BODY, _rigid("LeftForeArm"), segments=18, rings=9, caps=(0.014, 0.010))
    mitt = _loft("x", along(wrist, [
        (0.018, 0.026, 0.019, -0.001, 0), (0.045, 0.036, 0.020, -0.003, 0), (0.085, 0.043, 0.018, -0.004, -0.001),
        (0.120, 0.042, 0.015, -0.003, -0.003), (0.150, 0.037, 0.013, 0.000, -0.006),
        (0.172, 0.029, 0.011, 0.002, -0.009),
    ]), BODY, _rigid("LeftHand"), segments=18, rings=8, caps=(0.012, 0.016), power=2.5)
    thumb = _limb(at["LeftHand"] + [0.036, -0.022, -0.004], at["LeftHand"] + [0.098, -0.070, -0.012],
                  0.0165, 0.0125, BODY, "LeftHand")
    return [
        _ball(at["LeftArm"], (0.056, 0.056, 0.056), JOINT, "LeftArm"),
        upper,
        _ball(at["LeftForeArm"], (0.040, 0.040, 0.040), JOINT, "LeftForeArm"),
        fore,
        _ball(at["LeftHand"], (0.029, 0.029, 0.028), JOINT, "LeftHand"),
        mitt, thumb,
    ]


def _leg(at: dict[str, Array]) -> list[Piece]:
    hip, knee, ankle = at["LeftUpLeg"], at["LeftLeg"], at["LeftFoot"]
    x, y = float(hip[0]), float(hip[1])
    thigh = _loft("z", [
        (knee[2] + 0.040, 0.050, 0.052, x, y), (knee[2] + 0.075, 0.057, 0.060, x, y),
        (knee[2] + 0.150, 0.066, 0.071, x + 0.001, y - 0.002), (knee[2] + 0.250, 0.077, 0.083, x + 0.003, y),
        (hip[2] - 0.070, 0.083, 0.089, x + 0.004, y + 0.004), (hip[2] - 0.025, 0.078, 0.083, x + 0.004, y + 0.004),
    ], BODY, _rigid("LeftUpLeg"), segments=20, rings=10, caps=(0.016, 0.035))
    shin = _loft("z", [
        (0.094, 0.031, 0.033, x, y), (0.130, 0.033, 0.036, x, y), (0.200, 0.039, 0.043, x, y + 0.004),
        (0.290, 0.050, 0.055, x, y + 0.011), (0.360, 0.053, 0.058, x, y + 0.010), (0.410, 0.050, 0.053, x, y + 0.004),
        (knee[2] - 0.040, 0.046, 0.048, x, y),
    ], BODY, _rigid("LeftLeg"), segments=20, rings=11, caps=(0.012, 0.016))
    return [
        _ball(hip, (0.081, 0.083, 0.083), JOINT, "LeftUpLeg", 18, 10),
        thigh,
        _ball(knee, (0.053, 0.054, 0.054), JOINT, "LeftLeg"),
        shin,
        _ball(ankle, (0.039, 0.041, 0.041), JOINT, "LeftFoot"),
        _shoe(x, float(at["LeftToe"][1])),
    ]


def _shoe(x: float, toe: float) -> Piece:
    """A shoe with a flat sole at z = 0 that bends at the ball of the foot."""
    rows = [(0.026, 0.026, 0.062), (0.005, 0.034, 0.073), (-0.030, 0.037, 0.078), (-0.070, 0.039, 0.074),
            (-0.110, 0.043, 0.062), (-0.145, 0.047, 0.050), (-0.178, 0.046, 0.042), (-0.205, 0.038, 0.034)]
    table = [(y, width, height / 2, x + 0.006 * np.clip(-y / 0.2, 0, 1), height / 2) for y, width, height in rows]
    piece = _loft("y", table[::-1], BODY, _rigid("LeftFoot"), segments=20, rings=15, caps=(0.022, 0.014), power=2.6)
    v = piece.vertices.copy()
    # flatten what lies under the instep: the sole's rim stays round, its face is level
    v[:, 2] = np.where(v[:, 2] < 0.016, np.clip(1.9 * (v[:, 2] - 0.016) + 0.016, 0.0, None), v[:, 2])
    weights = _chain("y", ("LeftToe", "LeftFoot"), ((toe - 0.022, toe + 0.022),))(v)
    slot = np.where(v[piece.quads][:, :, 2].mean(1) < 0.014, JOINT, BODY)
    slot = np.where((v[piece.quads][:, :, 1].mean(1) < toe - 0.02) & (slot == BODY), ACCENT, slot)
    tips = v[piece.triangles]
    cap = np.where(tips[:, :, 1].mean(1) < toe, ACCENT, BODY)
    return Piece(v, piece.quads, piece.triangles, slot, cap, weights)


# fmt: on
# Weights


def _one_hot(name: str) -> Array:
    out = np.zeros(len(MODEL_SKELETON))
    out[MODEL_SKELETON.index(name)] = 1
    return out


def _rigid(name: str) -> Weigh:
    """All vertices follow one bone."""
    return lambda v: np.tile(_one_hot(name), (len(v), 1))


def _risen(x: Array, low: float, high: float) -> Array:
    return smoothstep((x - low) / (high - low))


def _chain(axis: str, names: Sequence[str], seams: Sequence[tuple[float, float]]) -> Weigh:
    """Bones one after the other along `axis`, blended over the seam between each two."""

    def weigh(v: Array) -> Array:
        t = v[:, "xyz".index(axis)]
        out = np.tile(_one_hot(names[0]), (len(v), 1))
        for name, (low, high) in zip(names[1:], seams, strict=True):
            share = _risen(t, low, high)[:, None]
            out = out * (1 - share) + _one_hot(name) * share
        return out

    return weigh


def _chest_weights(v: Array) -> Array:
    """The spine, and near each arm its shoulder, so that raised shoulders lift the chest's corners."""
    out = _chain("z", ("Spine1", "Spine2"), ((1.165, 1.260),))(v)
    for side, sign in (("Left", 1), ("Right", -1)):
        share = (0.85 * _risen(sign * v[:, 0], 0.055, 0.155) * _risen(v[:, 2], 1.270, 1.370))[:, None]
        out = out * (1 - share) + _one_hot(f"{side}Shoulder") * share
    return out


# Surfaces


def _loft(
    axis: str,
    rows: Sequence[Sequence[float]],
    slot: int,
    weigh: Weigh,
    *,
    segments: int,
    rings: int,
    caps: tuple[float, float],
    power: float = 2.0,
    cap_rings: int = 3,
) -> Piece:
    """A closed tube through rows (place, half-width, half-width, center, center), rounded at both ends.

    axis: the tube's direction; rows ascend along it. The two half-widths and centers belong to the
    other two axes in alphabetical order. power: 2 is an ellipse, more is squarer.
    """
    table = np.asarray(rows, float)
    inner = _hermite(table, np.linspace(table[0, 0], table[-1, 0], rings))
    # quarter ellipses close the ends; equal angles keep the pole round
    angle = np.linspace(0, np.pi / 2, cap_rings + 1)[1:]
    first, last = (_cap(inner[end], angle, sign * height) for end, sign, height in ((0, -1, caps[0]), (-1, 1, caps[1])))
    stack = np.concatenate([first[:-1][::-1], inner, last[:-1]])
    turn = np.linspace(0, 2 * np.pi, segments, endpoint=False)
    c, s = np.cos(turn), np.sin(turn)
    c, s = np.sign(c) * np.abs(c) ** (2 / power), np.sign(s) * np.abs(s) ** (2 / power)
    k = "xyz".index(axis)
    others = [i for i in range(3) if i != k]
    ring = np.zeros((len(stack), segments, 3))
    ring[..., k] = stack[:, 0, None]
    ring[..., others[0]] = stack[:, 3, None] + stack[:, 1, None] * c
    ring[..., others[1]] = stack[:, 4, None] + stack[:, 2, None] * s
    poles = np.zeros((2, 3))
    for pole, row in zip(poles, (first[-1], last[-1]), strict=True):
        pole[[k, *others]] = row[[0, 3, 4]]
    vertices = np.concatenate([ring.reshape(-1, 3), poles])
    quads = _grid_quads(len(stack), segments, closed=True)
    i = np.arange(segments)
    j, top = (i + 1) % segments, (len(stack) - 1) * segments
    bottom_pole, top_pole = len(vertices) - 2, len(vertices) - 1
    triangles = np.concatenate(
        [
            np.stack([np.full(segments, bottom_pole), j, i], -1),
            np.stack([np.full(segments, top_pole), top + i, top + j], -1),
        ]
    )
    if axis == "y":  # x, z around y turn the other way round
        quads, triangles = quads[:, ::-1], triangles[:, ::-1]
    return _piece(vertices, quads, triangles, slot, weigh)


def _cap(row: Array, angle: Array, height: float) -> Array:
    """Rows from `row` to the pole at `height` beyond it, along a quarter ellipse."""
    out = np.tile(row, (len(angle), 1))
    out[:, 0] += height * np.sin(angle)
    out[:, 1:3] *= np.cos(angle)[:, None]
    return out


def _hermite(table: Array, t: Array) -> Array:
    """Smooth curve through the table's rows, by their first column."""
    x = table[:, 0]
    slope = np.gradient(table, x, axis=0)
    i = np.clip(np.searchsorted(x, t, side="right") - 1, 0, len(x) - 2)
    h = (x[i + 1] - x[i])[:, None]
    u = ((t - x[i]) / (x[i + 1] - x[i]))[:, None]
    return np.asarray(
        (2 * u**3 - 3 * u**2 + 1) * table[i]
        + (u**3 - 2 * u**2 + u) * h * slope[i]
        + (3 * u**2 - 2 * u**3) * table[i + 1]
        + (u**3 - u**2) * h * slope[i + 1]
    )


def _ball(
    center: Sequence[float] | Array,
    radii: tuple[float, float, float],
    slot: int,
    bone: str,
    segments: int = 16,
    rings: int = 8,
) -> Piece:
    """An ellipsoid that follows one bone."""
    x, y, z = (float(c) for c in center)
    angle = np.linspace(-np.pi / 2, np.pi / 2, rings + 1)[1:-1]
    turn = np.linspace(0, 2 * np.pi, segments, endpoint=False)
    ring = np.stack(
        np.broadcast_arrays(
            np.cos(angle)[:, None] * np.cos(turn), np.cos(angle)[:, None] * np.sin(turn), np.sin(angle)[:, None]
        ),
        -1,
    ).reshape(-1, 3)
    vertices = np.concatenate([ring, [[0, 0, -1], [0, 0, 1]]]) * np.array(radii) + np.array([x, y, z])
    i = np.arange(segments)
    j, top, count = (i + 1) % segments, (len(angle) - 1) * segments, len(vertices)
    triangles = np.concatenate(
        [
            np.stack([np.full(segments, count - 2), j, i], -1),
            np.stack([np.full(segments, count - 1), top + i, top + j], -1),
        ]
    )
    return _piece(vertices, _grid_quads(len(angle), segments, closed=True), triangles, slot, _rigid(bone))


def _limb(start: Array, end: Array, radius: float, end_radius: float, slot: int, bone: str) -> Piece:
    """A capsule from `start` to `end` in any direction."""
    length = float(np.linalg.norm(end - start))
    middle = (radius + end_radius) / 2
    rows = [(0, radius, radius, 0, 0), (length / 2, middle, middle, 0, 0), (length, end_radius, end_radius, 0, 0)]
    piece = _loft("z", rows, slot, _rigid(bone), segments=12, rings=4, caps=(radius, end_radius))
    axis = (end - start) / length
    side = np.cross([0.0, 0.0, 1.0], axis)
    side /= np.linalg.norm(side)
    frame = np.stack([side, np.cross(axis, side), axis])
    return Piece(
        piece.vertices @ frame + start,
        piece.quads,
        piece.triangles,
        piece.quad_slots,
        piece.triangle_slots,
        piece.weights,
    )


def _grid_quads(rows: int, columns: int, *, closed: bool) -> Array:
    """Quads (Q, 4) of a grid of vertices, row by row; `closed` joins the last column to the first."""
    r, c = np.meshgrid(np.arange(rows - 1), np.arange(columns if closed else columns - 1), indexing="ij")
    d = (c + 1) % columns
    return np.stack([r * columns + c, r * columns + d, (r + 1) * columns + d, (r + 1) * columns + c], -1).reshape(-1, 4)


def _piece(vertices: Array, quads: Array, triangles: Array, slot: int, weigh: Weigh) -> Piece:
    return Piece(vertices, quads, triangles, np.full(len(quads), slot), np.full(len(triangles), slot), weigh(vertices))


def _mirrored(piece: Piece) -> Piece:
    """The same piece on the other side of the body."""
    return Piece(
        piece.vertices * [-1, 1, 1],
        piece.quads[:, ::-1],
        piece.triangles[:, ::-1],
        piece.quad_slots,
        piece.triangle_slots,
        piece.weights[:, mirror_indices(MODEL_SKELETON.names)],
    )


def _join(pieces: Sequence[Piece]) -> Piece:
    starts = np.cumsum([0, *(len(p.vertices) for p in pieces)])[:-1]
    return Piece(
        np.concatenate([p.vertices for p in pieces]),
        np.concatenate([p.quads + start for p, start in zip(pieces, starts, strict=True)]),
        np.concatenate([p.triangles + start for p, start in zip(pieces, starts, strict=True)]),
        np.concatenate([p.quad_slots for p in pieces]),
        np.concatenate([p.triangle_slots for p in pieces]),
        np.concatenate([p.weights for p in pieces]),
    )
