# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations as arrays: quaternions (w, x, y, z), matrices, exponential maps, yaw angles.

Every function broadcasts over leading axes and keeps float32 when it is given float32.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import array_api_compat
import numpy as np
from array_api_compat import numpy as numpy_namespace
from numpy.typing import NDArray

Array = NDArray[Any]

_TINY = 1e-8
"""Length below which a vector or an angle counts as zero."""
_CUBE_ROTATIONS = tuple(
    m
    for order in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
    if np.linalg.det(m := np.eye(3)[list(order)] * np.array(signs)[:, None]) > 0
)
"""The 24 rotation matrices that turn axes into axes."""
_SLANT = np.cos(np.radians(25))
"""Cosine of the largest slant that is a figure's own: rest poses are drawn along the axes of the program."""


def namespace(x: Any) -> Any:
    """The functions for an array or a tensor; for NumPy's arrays and numbers without a search."""
    return numpy_namespace if isinstance(x, np.ndarray | np.generic | float) else array_api_compat.array_namespace(x)


def stacked(*parts: Any) -> Any:
    """Stack arrays or tensors [...] of one shape and type along a new last axis, [..., n]; four times as fast as
    np.stack for small arrays."""
    if not isinstance(parts[0], np.ndarray | np.generic):
        return namespace(parts[0]).stack(parts, axis=-1)
    out = np.empty((*parts[0].shape, len(parts)), dtype=parts[0].dtype)
    for number, part in enumerate(parts):
        out[..., number] = part
    return out


def normalize(q: Array) -> Array:
    """Scale the last axis of `q` [..., n] to length one."""
    norm = np.sqrt(np.einsum("...i,...i->...", q, q))[..., None]
    out: Array = q / np.maximum(norm, _TINY)
    return out


def multiply(a: Array, b: Array) -> Array:
    """Hamilton product of quaternions [..., 4]: rotate by `b`, then by `a`."""
    aw, ax, ay, az = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bw, bx, by, bz = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    return stacked(
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def conjugate(q: Array) -> Array:
    """Inverse of unit quaternions [..., 4]."""
    return q * np.array([1, -1, -1, -1], dtype=q.dtype)


def rotate(q: Array, v: Array) -> Array:
    """Rotate vectors `v` [..., 3] by unit quaternions `q` [..., 4]."""
    # Written out: np.cross takes twice as long.
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    a, b, c = v[..., 0], v[..., 1], v[..., 2]
    ta, tb, tc = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return stacked(a + w * ta + (y * tc - z * tb), b + w * tb + (z * ta - x * tc), c + w * tc + (x * tb - y * ta))


def to_matrix(q: Array) -> Array:
    """Unit quaternions [..., 4] to rotation matrices [..., 3, 3] (columns are the rotated axes)."""
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    m = np.empty((*q.shape[:-1], 3, 3), dtype=q.dtype)
    m[..., 0, 0] = 1 - 2 * (y * y + z * z)
    m[..., 0, 1] = 2 * (x * y - w * z)
    m[..., 0, 2] = 2 * (x * z + w * y)
    m[..., 1, 0] = 2 * (x * y + w * z)
    m[..., 1, 1] = 1 - 2 * (x * x + z * z)
    m[..., 1, 2] = 2 * (y * z - w * x)
    m[..., 2, 0] = 2 * (x * z - w * y)
    m[..., 2, 1] = 2 * (y * z + w * x)
    m[..., 2, 2] = 1 - 2 * (x * x + y * y)
    return m


def from_matrix(m: Array) -> Array:
    """Rotation matrices [..., 3, 3] to unit quaternions [..., 4], w >= 0."""
    m00, m11, m22 = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    x, y, z = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    xy, xz, yz = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    # q can be written in four ways; the way with the largest leading term is well conditioned.
    largest = (1 + m00 + m11 + m22, 1 + m00 - m11 - m22, 1 - m00 + m11 - m22, 1 - m00 - m11 + m22)
    q = stacked(
        stacked(largest[0], x, y, z),
        stacked(x, largest[1], xy, xz),
        stacked(y, xy, largest[2], yz),
        stacked(z, xz, yz, largest[3]),
    )
    best = np.argmax(stacked(*largest), axis=-1)
    out = normalize(np.take_along_axis(q, best[..., None, None], axis=-2)[..., 0, :])
    return np.where(out[..., :1] < 0, -out, out)


def from_axis_angle(axis: Array, angle: Array) -> Array:
    """Unit axes [..., 3] and angles [...] (radians) to quaternions [..., 4]."""
    half = np.asarray(angle)[..., None] * 0.5
    vector = np.sin(half) * axis
    return np.concatenate((np.broadcast_to(np.cos(half), (*vector.shape[:-1], 1)), vector), axis=-1)


def from_euler(angles: Array, order: str) -> Array:
    """Euler angles [..., n] (radians) to quaternions, intrinsic, first letter applied outermost.

    `order` is a string such as "ZXY": q = q_Z q_X q_Y, as BVH and AMC files mean it.
    """
    out: Array | None = None
    for i, letter in enumerate(order.upper()):
        axis = np.zeros(3, dtype=angles.dtype)
        axis["XYZ".index(letter)] = 1
        q = from_axis_angle(np.broadcast_to(axis, (*angles.shape[:-1], 3)), angles[..., i])
        out = q if out is None else multiply(out, q)
    assert out is not None
    return out


def from_exponential_map(r: Array) -> Array:
    """Exponential maps [..., 3] (axis times angle, Grassia 1998) to unit quaternions [..., 4]."""
    angle = np.sqrt(np.sum(r * r, axis=-1, keepdims=True))
    half = 0.5 * angle
    scale = np.where(angle < 1e-5, 0.5 - angle * angle / 48, np.sin(half) / np.maximum(angle, 1e-5))
    return np.concatenate((np.cos(half), scale * r), axis=-1)


def to_exponential_map(q: Array) -> Array:
    """Unit quaternions [..., 4] to exponential maps [..., 3] with angle in [0, pi]."""
    q = np.where(q[..., :1] < 0, -q, q)
    sin = np.sqrt(np.sum(q[..., 1:] * q[..., 1:], axis=-1, keepdims=True))
    angle = 2 * np.arctan2(sin, q[..., :1])
    scale = np.where(sin < 1e-6, 2.0, angle / np.maximum(sin, 1e-6))
    out: Array = (scale * q[..., 1:]).astype(q.dtype)
    return out


def from_yaw(angle: Array) -> Array:
    """Rotations about the up axis Z by `angle` [...] (radians) as quaternions [..., 4]."""
    half = np.asarray(angle) * 0.5
    zero = np.zeros_like(half)
    return np.stack((np.cos(half), zero, zero, np.sin(half)), axis=-1)


def between(a: Array, b: Array) -> Array:
    """Shortest rotations [..., 4] that take directions `a` [..., 3] to directions `b` [..., 3]."""
    a, b = np.broadcast_arrays(normalize(a), normalize(b))
    dot = np.einsum("...i,...i->...", a, b)
    out = np.empty((*dot.shape, 4), dtype=a.dtype)
    out[..., 0] = 1 + dot
    # Written out: np.cross takes twice as long.
    (ax, ay, az), (bx, by, bz) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    out[..., 1], out[..., 2], out[..., 3] = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    opposite = dot < -1 + 1e-7
    if opposite.any():  # any axis perpendicular to `a` will do
        turned = a[opposite]
        other = np.where(np.abs(turned[..., :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
        out[opposite, 0], out[opposite, 1:] = 0, np.cross(turned, other)
    return normalize(out)


def snapped_to_axes(m: Array) -> Array:
    """Nearest rotation by right angles to a rotation matrix (3, 3) within 25 degrees of it; else the matrix."""
    cube = max(_CUBE_ROTATIONS, key=lambda other: float(np.sum(other * m)))
    return cube if np.sum(cube * m) > 1 + 2 * _SLANT else m


def slerp(a: Array, b: Array, t: Array) -> Array:
    """Spherical interpolation of quaternions [..., 4] at `t` [...] in 0..1, on the short way."""
    t = np.asarray(t, dtype=a.dtype)[..., None]
    dot = np.sum(a * b, axis=-1, keepdims=True)
    b = np.where(dot < 0, -b, b)
    dot = np.minimum(np.abs(dot), 1)
    theta = np.arccos(dot)
    sin = np.sin(theta)
    near = sin < 1e-4
    safe = np.where(near, 1, sin)
    wa = np.where(near, 1 - t, np.sin((1 - t) * theta) / safe)
    wb = np.where(near, t, np.sin(t * theta) / safe)
    return normalize(wa * a + wb * b)


def make_continuous(q: Array) -> Array:
    """Flip signs along the first axis of `q` (T, ..., 4) so that neighbors are on the same hemisphere."""
    dots = np.einsum("...i,...i->...", q[1:], q[:-1])
    flips = np.cumprod(np.where(dots < 0, -1, 1).astype(q.dtype), axis=0)
    out = q.copy()
    out[1:] *= flips[..., None]
    return out


def wrap_angle(angle: Array) -> Array:
    """Map angles to [-pi, pi)."""
    out: Array = (np.asarray(angle) + np.pi) % (2 * np.pi) - np.pi
    return out
