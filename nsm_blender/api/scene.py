# SPDX-License-Identifier: GPL-3.0-or-later
"""What shots and motions are made of: meshes become colliders with handles, motion files become motions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..geometry import proposals
from ..geometry.colliders import STILL, Collider, Placed, Surroundings
from ..geometry.cuboids import cuboids_of
from ..geometry.mesh import TriangleMesh
from ..geometry.roles import Handles, Proposal
from ..geometry.shapes import block
from ..geometry.voxels import SIZE
from ..motion import clip_file, load
from ..motion.clip import Clip
from ..motion.motion import Motion
from ..motion.recorded import motion_of
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..rigging import mapping
from ..stepwise import Stepwise

propose_mapping = mapping.propose
AUTO = "auto"
"""The role of a collider that is guessed from its shape."""


def box_mesh(low: tuple[float, float, float], high: tuple[float, float, float]) -> TriangleMesh:
    """The box between two corners (x, y, z) in meters; `TriangleMesh.joined` makes one thing of several."""
    return block(low, high).mesh


def collider_of(
    mesh: TriangleMesh,
    name: str,
    role: str = AUTO,
    *,
    pose: Sequence[float] | Array = STILL[0],
    around: Sequence[Collider] = (),
    size: float = SIZE,
) -> Collider:
    """A mesh as a collider that stands still: cuboids, its role, and the handles that the role needs.

    mesh: in the collider's frame, meters. role: one of ROLES, or "auto": guessed from the shape. pose: (7,) where the
    frame is in the world, x, y, z and a unit quaternion w, x, y, z. around: the colliders near it, which tell from
    where it can be reached. size: meters of a voxel. Raises ColliderError when the mesh cannot be wrapped.
    """
    there = np.asarray(pose, dtype=float)
    cuboids = cuboids_of(mesh, size)
    role = guess_role(mesh, there) if role == AUTO else role
    found = propose_handles(role, mesh, around, pose=there)
    return Collider(name, cuboids, there[None], role, found.handles, found.also)


def guess_role(mesh: TriangleMesh, pose: Array = STILL[0]) -> str:
    """The role (one of ROLES) that the shape of a thing suggests. mesh, pose and errors as for `collider_of`."""
    return proposals.guess_role(mesh, pose)


def begin_guess(mesh: TriangleMesh, pose: Array = STILL[0]) -> Stepwise[str]:
    """`guess_role` in pieces of some milliseconds: a generator that yields after each and returns the role."""
    return proposals.guessing_role(mesh, pose)


def propose_handles(
    role: str, mesh: TriangleMesh, around: Sequence[Collider] = (), *, pose: Array = STILL[0]
) -> Proposal:
    """How a thing of this role is used, as handles in the collider's frame, with warnings in words.

    around: the other colliders, as they are in the first frame. Arguments and errors else as for `collider_of`.
    """
    return proposals.propose(role, mesh, _placed(around), pose=pose)


def begin_proposal(
    role: str, mesh: TriangleMesh, around: Sequence[Collider] = (), *, pose: Array = STILL[0]
) -> Stepwise[Proposal]:
    """`propose_handles` in pieces of some milliseconds: a generator that yields after each and returns the handles."""
    return proposals.proposing(role, mesh, _placed(around), pose=pose)


def check_handles(
    handles: Handles, role: str, mesh: TriangleMesh, around: Sequence[Collider] = (), *, pose: Array = STILL[0]
) -> list[str]:
    """What is odd about handles in the collider's frame, in words; empty when nothing is. Arguments and errors as for
    `propose_handles`."""
    return proposals.check(handles, role, mesh, _placed(around), pose=pose)


def _placed(around: Sequence[Collider]) -> Placed:
    return Surroundings(list(around)).at(0)


def import_motion(path: Path | str) -> Motion:
    """A motion file as a motion of the model skeleton, at the file's rate, its contacts found from the feet.

    path: .bvh, .amc (its .asf beside it), or a clip (.npz) as `export_clip` writes it; what a bake has saved is read by
    `Motion.load`. Raises FileFormatError or RigError, naming the file.
    """
    return motion_of(load.load_motion(path), Path(path).stem)


def export_clip(motion: Motion, path: Path | str, name: str = "") -> None:
    """Write a motion on the model skeleton as a clip file (.npz): for training, or for another character. name: by
    default the motion's own. Raises UserError when the file cannot be written."""
    local = MODEL_SKELETON.local_rotations(motion.rotations)
    meta = {"name": name or str(motion.meta.get("name", ""))}
    clip_file.save_clip(Clip(MODEL_SKELETON, motion.positions[:, 0], local, motion.fps, meta), path)
