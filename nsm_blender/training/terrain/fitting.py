# SPDX-License-Identifier: GPL-3.0-or-later
"""Patches of ground fitted to the feet of a recorded motion, cycle by cycle (PFNN 4.2, eq. 1 to 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from ...motion.filters import runs
from ...motion.rotations import Array
from ...motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from .patches import Library

BEST = 10
"""Patches that are kept of each cycle (4.2)."""
JUMP_REACH = 0.3
"""l of eq. 4 in meters: the ground lies no deeper below the feet of a jump, so that small jumps cross small things."""
LONGEST_CYCLE = 180
"""Frames at most that are fitted at once, as a performer who stands has a cycle without end."""
MARGIN = 60
"""Frames before and after a cycle whose contacts refine its ground: those whose heights the network's inputs hold."""
RECORDED = -1
"""Number in `Errors` of a ground that is no patch of the library, but was recorded with the motion."""
Heights = Callable[[Array], Array]
"""Heights (...) in meters of a ground at places (..., 2)."""
_SOLES = np.array([ANKLE_HEIGHT if name.endswith("Foot") else TOE_HEIGHT for name in CONTACT_JOINTS])
"""Heights in meters of the contact joints above the ground they stand on."""


@dataclass(frozen=True, eq=False)
class Feet:
    """The feet of a motion at 60 fps.

    places: (T, 4, 3) of CONTACT_JOINTS, lowered by what they stand above the ground. contacts: (T, 4) bool. jumps: (T,)
    bool, frames of a jump. phase: (T,) unwrapped radians.
    """

    places: Array
    contacts: Array
    jumps: Array
    phase: Array

    @staticmethod
    def of(positions: Array, contacts: Array, jumps: Array, phase: Array) -> Feet:
        """The feet of joints (T, J, 3)."""
        places = positions[:, MODEL_SKELETON.indices(CONTACT_JOINTS)].astype(np.float64)
        places[..., 2] -= _SOLES
        return Feet(places, contacts > 0.5, jumps, phase)

    def cycles(self) -> list[tuple[int, int]]:
        """Ranges of frames of one locomotion cycle each, from one right strike to the next, covering all frames."""
        turns = np.floor(self.phase / (2 * np.pi))
        edges = [0, *(np.flatnonzero(np.diff(turns) > 0) + 1).tolist(), len(self.phase)]
        out = []
        for a, b in pairwise(edges):
            parts = max(-(-(b - a) // LONGEST_CYCLE), 1)
            bounds = np.linspace(a, b, parts + 1).astype(int).tolist()
            out += [(x, y) for x, y in pairwise(bounds) if y > x]
        return out

    def stances(self, start: int, stop: int) -> tuple[Array, Array]:
        """Places (S, 2) and heights (S,) on which the joints stand in a range of frames, one for each contact."""
        rows = []
        for joint in range(self.contacts.shape[1]):
            for a, b in runs(self.contacts[start:stop, joint]):
                rows.append(self.places[start + a : start + b, joint].mean(axis=0))
        found = np.array(rows).reshape(-1, 3)
        return found[:, :2], found[:, 2]


@dataclass(frozen=True, eq=False)
class Errors:
    """How well a fitted ground carries the feet: meters.

    number: of the patch, or RECORDED. fit: root of the mean E_fit over the joints' frames before the refinement. stand:
    the same of the distance between feet in contact and the ground after it. inside: how deep the deepest of the lifted
    feet is in the ground after it.
    """

    number: int
    fit: float
    stand: float
    inside: float


@dataclass(frozen=True, eq=False)
class Fit:
    """A ground under a cycle, `bare` as it was found, with its refinement."""

    bare: Heights
    anchors: Array
    weights: Array

    def heights(self, places: Array) -> Array:
        """Heights (...) in meters of the ground at places (..., 2)."""
        flat = places.reshape(-1, 2)
        out = self.bare(flat) + _kernel(flat, self.anchors) @ self.weights[:-1] + self.weights[-1]
        return np.asarray(out).reshape(places.shape[:-1])


def fit_cycle(feet: Feet, start: int, stop: int, library: Library, best: int = BEST) -> list[tuple[Fit, Errors]]:
    """The `best` patches for frames start..stop-1, refined, with their errors, best first.

    A patch is turned and shifted at random already; it is put with its middle where the feet stand, at the height that
    suits the contacts best.
    """
    contacts = feet.contacts[start:stop]
    if not contacts.any():
        # Nothing stands in a cycle that is all flight: what is stood on before and after it tells the place.
        start, stop = max(start - MARGIN, 0), min(stop + MARGIN, len(feet.contacts))
        contacts = feet.contacts[start:stop]
    places = feet.places[start:stop]
    down = contacts.reshape(-1)
    if not down.any():
        return []
    xy, z = places[..., :2].reshape(-1, 2), places[..., 2].reshape(-1)
    middle = xy[down].mean(axis=0)
    jumping = np.repeat(feet.jumps[start:stop], contacts.shape[1])
    h = library.heights(xy - middle)
    lift = z[down].mean() - h[:, down].mean(axis=1)
    h += lift[:, None]
    error = fitting_error(h, z, down, jumping)
    order = np.argsort(error, kind="stable")[:best]
    out = []
    for number in order.tolist():
        bare = partial(_lying, library, number, middle, float(lift[number]))
        out.append(_refined(feet, start, stop, bare, number, float(error[number])))
    return out


def refine_recorded(feet: Feet, start: int, stop: int, ground: Heights) -> tuple[Fit, Errors]:
    """The ground that was recorded with a motion, refined for frames start..stop-1 as a patch is, with its errors."""
    places = feet.places[start:stop]
    h = ground(places[..., :2].reshape(-1, 2))[None]
    jumping = np.repeat(feet.jumps[start:stop], places.shape[1])
    error = fitting_error(h, places[..., 2].reshape(-1), feet.contacts[start:stop].reshape(-1), jumping)
    return _refined(feet, start, stop, ground, RECORDED, float(error[0]))


def _lying(library: Library, number: int, middle: Array, lift: float, places: Array) -> Array:
    """Heights (N,) of a patch with its middle at `middle` (2,), lifted."""
    return library.chosen(number, places - middle) + lift


def _refined(feet: Feet, start: int, stop: int, bare: Heights, number: int, error: float) -> tuple[Fit, Errors]:
    """A ground bent to the feet that stand in frames start..stop-1 and MARGIN around; error: E_fit before."""
    anchors, stood = _apart(*feet.stances(max(start - MARGIN, 0), min(stop + MARGIN, len(feet.contacts))))
    fit = Fit(bare, anchors, _spline(anchors, stood - bare(anchors)))
    places, down = feet.places[start:stop].reshape(-1, 3), feet.contacts[start:stop].reshape(-1)
    above = fit.heights(places[:, :2]) - places[:, 2]
    stand = float(np.sqrt(np.mean(above[down] ** 2))) if down.any() else 0.0
    inside = float(np.max(above[~down], initial=0.0))
    return fit, Errors(number, float(np.sqrt(error / len(places))), stand, inside)


def fitting_error(h: Array, f: Array, contact: Array, jump: Array) -> Array:
    """E_fit (P,) of eq. 1: grounds h (P, N) under joints at f (N,) in meters, in contact (N,), in a jump (N,)."""
    above = h - f
    lifted = ~contact
    down = np.sum(above[:, contact] ** 2, axis=1)
    up = np.sum(np.maximum(above[:, lifted], 0) ** 2, axis=1)
    flying = lifted & jump
    over = np.sum(np.maximum(-JUMP_REACH - above[:, flying], 0) ** 2, axis=1)
    out: Array = down + up + over
    return out


def _apart(places: Array, heights: Array, nearest: float = 0.03) -> tuple[Array, Array]:
    """Stances (S, 2), (S,) of which none lies nearer than `nearest` meters to another: those are their mean.

    Contacts in one place that differ in height cannot both be met by a ground, and would tear it.
    """
    cells: dict[tuple[int, int], list[int]] = {}
    for i, cell in enumerate(np.round(places / (2 * nearest)).astype(int).tolist()):
        cells.setdefault((cell[0], cell[1]), []).append(i)
    groups: Sequence[list[int]] = list(cells.values())
    return (
        np.array([places[g].mean(axis=0) for g in groups]).reshape(-1, 2),
        np.array([heights[g].mean() for g in groups]),
    )


def _kernel(places: Array, anchors: Array) -> Array:
    """Linear kernel (N, S): the distances."""
    out: Array = np.linalg.norm(places[:, None] - anchors[None], axis=2)
    return out


def _spline(anchors: Array, residuals: Array) -> Array:
    """Weights (S + 1,) of the radial basis functions and a constant that pass through residuals (S,) at anchors (S, 2).

    The weights sum to zero, so that the ground is level again far away.
    """
    count = len(anchors)
    system = np.zeros((count + 1, count + 1))
    system[:count, :count] = _kernel(anchors, anchors)
    system[count, :count] = system[:count, count] = 1
    out: Array = np.linalg.lstsq(system, np.append(residuals, 0.0), rcond=None)[0]
    return out
