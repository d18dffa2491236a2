# SPDX-License-Identifier: GPL-3.0-or-later
"""Gaps that are stepped over: the root crosses them as on a plank, and the feet stand on their edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..geometry.ground import Ground, GroundMesh
from ..motion.filters import runs
from ..motion.rotations import Array
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..motion.stances import Stances
from ..planning.path import GroundPath
from ..planning.path_on_ground import Gap

BEFORE, BEHIND = 0.04, 0.16
"""Meters from a gap's edge at which the ball of a foot stands at least: before the gap the toes may stand over the
edge, behind it the heel has ground too."""


class StepsOver:
    """How a walk along a path steps over its gaps."""

    def __init__(self, path: GroundPath, gaps: Sequence[Gap]) -> None:
        self._path, self._gaps = path, gaps

    def bridged(self, meshes: Sequence[GroundMesh]) -> Ground:
        """The ground with planks over the gaps."""
        return Ground.of([*(mesh.mesh() for mesh in meshes), *(gap.plank(self._path) for gap in self._gaps)])

    def targets(self, places: Array, contacts: Array, root: Array) -> Array:
        """Joint places (T, J, 3) with ankles and toes moved along the path to where their feet stand on ground.

        contacts: (T, 4) of CONTACT_JOINTS. root: (T, 4) of the rollout.
        """
        out, along = places.copy(), self._path.arc_lengths(root[:, :2])
        for side in ("Left", "Right"):
            columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
            ankle, toe = MODEL_SKELETON.indices([side + "Foot", side + "Toe"])
            stands = (contacts[:, columns] > 0).any(axis=1)
            shift = np.zeros((len(places), 3))
            for start, stop in runs(stands):
                place = np.median(places[start:stop, toe, :2], axis=0)
                shift[start:stop, :2] = self._move(place, float(along[(start + stop) // 2]))
            if shift.any():
                Stances(stands[None]).glide(shift)
                out[:, [ankle, toe]] += shift[:, None]
        return out

    def _move(self, ball: Array, near: float) -> Array:
        """Meters (2,) from where the ball of a foot stands to the nearest place with ground for the foot. near: meters
        along the path about there."""
        s = self._path.project(ball, near)
        if self._path.closed:
            s %= self._path.length
        for gap in self._gaps:
            first, last = gap.start - BEFORE, gap.end + BEHIND
            if first < s < last:
                move = first - s if s - first < last - s else last - s
                ahead = self._path.position(np.array((gap.start, gap.end)))
                out: Array = move * (ahead[1] - ahead[0]) / np.linalg.norm(ahead[1] - ahead[0])
                return out
        return np.zeros(2)
