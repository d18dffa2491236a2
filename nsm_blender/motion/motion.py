# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a bake: world transforms per frame, with contacts, phase and actions."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileFormatError
from ..files import ArraySpec, parse_json, read_arrays, write_arrays
from ..stepwise import Stepwise, by_frames, finished
from .clip import sampled_frames
from .rotations import Array, conjugate, make_continuous, rotate, slerp, wrap_angle
from .time_warp import TimeWarp

_MOST_JOINTS = 1_000
"""Joints of a motion at most; a rig with its fingers and face has 300."""
_MOST_NAMES = 1_000
"""Contacts or actions of a motion at most; ours has a dozen."""
_FARTHEST = 1e5
"""Meters from the origin at which a joint is believed."""
_FASTEST_FPS = 2000.0
"""Highest frame rate in Hz that is believed."""
_LEAST_NORM = 0.5
"""Length below which a quaternion is taken for damage; rotations have 1."""
_ARRAYS = {
    "names": ArraySpec("U", ("joints",), _MOST_JOINTS),
    "parents": ArraySpec("iu", ("joints",), _MOST_JOINTS),
    "positions": ArraySpec("f", ("frames", "joints", 3)),
    "rotations": ArraySpec("f", ("frames", "joints", 4)),
    "root": ArraySpec("f", ("frames", 4)),
    "contacts": ArraySpec("f", ("frames", "contacts")),
    "contact_names": ArraySpec("U", ("contacts",), _MOST_NAMES),
    "phase": ArraySpec("f", ("frames",)),
    "actions": ArraySpec("f", ("frames", "actions")),
    "action_names": ArraySpec("U", ("actions",), _MOST_NAMES),
    "fps": ArraySpec("fiu", ()),
    "meta": ArraySpec("U", ()),
}
"""Arrays of a motion file."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Joint transforms of one character over T frames, in the world (Blender's frame, meters).

    positions: (T, J, 3) float32. rotations: (T, J, 4) float32 world quaternions; the identity is the
    rest pose (T-pose, facing -Y). root: (T, 4) float32, x, y, z on the ground and the facing angle about +Z
    (radians, 0 faces -Y). contacts: (T, C) float32 in 0..1. phase: (T,) float32 radians in 0..2 pi.
    actions: (T, A) float32 weights.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    positions: Array
    rotations: Array
    root: Array
    contacts: Array
    contact_names: tuple[str, ...]
    phase: Array
    actions: Array
    action_names: tuple[str, ...]
    fps: float
    meta: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.positions)

    def save(self, path: Path | str) -> None:
        """Write the motion as an .npz file that needs no pickle to read. Raises UserError, with nothing written."""
        arrays = {
            "names": np.array(self.names, dtype=np.str_),
            "parents": np.array(self.parents, dtype=np.int32),
            "positions": self.positions.astype(np.float32),
            "rotations": self.rotations.astype(np.float32),
            "root": self.root.astype(np.float32),
            "contacts": self.contacts.astype(np.float32),
            "contact_names": np.array(self.contact_names, dtype=np.str_),
            "phase": self.phase.astype(np.float32),
            "actions": self.actions.astype(np.float32),
            "action_names": np.array(self.action_names, dtype=np.str_),
            "fps": np.float32(self.fps),
            "meta": np.array(json.dumps(self.meta)),
        }
        write_arrays(path, arrays)

    @staticmethod
    def load(path: Path | str) -> Motion:
        """Read a motion written by `save`. Raises FileFormatError."""
        z = read_arrays(path, "a motion file", _ARRAYS)
        parents = tuple(int(p) for p in z["parents"])
        if not len(z["positions"]) or not parents:
            raise FileFormatError(f"{path}: not a motion file, it has no frames or no joints")
        if any(not -1 <= parent < joint for joint, parent in enumerate(parents)):
            raise FileFormatError(f"{path}: 'parents' must name joints that come before their children")
        if max(np.abs(z["positions"]).max(), np.abs(z["root"]).max()) > _FARTHEST:
            raise FileFormatError(f"{path}: 'positions' or 'root' lead more than {_FARTHEST / 1000:g} km away")
        if not (np.linalg.norm(z["rotations"], axis=-1) > _LEAST_NORM).all():
            raise FileFormatError(f"{path}: 'rotations' holds a quaternion that is no rotation")
        if not 0 < float(z["fps"]) <= _FASTEST_FPS:
            raise FileFormatError(f"{path}: 'fps' must be one number above zero, at most {_FASTEST_FPS:g}")
        return Motion(
            names=tuple(str(n) for n in z["names"]),
            parents=parents,
            positions=z["positions"],
            rotations=z["rotations"],
            root=z["root"],
            contacts=z["contacts"],
            contact_names=tuple(str(n) for n in z["contact_names"]),
            phase=z["phase"],
            actions=z["actions"],
            action_names=tuple(str(n) for n in z["action_names"]),
            fps=float(z["fps"]),
            meta=parse_json(str(z["meta"]), dict, "a description of a motion", f"{path}, 'meta'"),
        )

    def _bones(self, rotations: Array, positions: Array) -> Array:
        """Place (T, J, 3) of each joint relative to its parent, in the parent's frame; zero for a root."""
        above = [max(p, 0) for p in self.parents]
        return rotate(conjugate(rotations[:, above]), positions - positions[:, above])

    def resampled(self, fps: float, count: int | None = None) -> Motion:
        """The motion at `fps`, `count` frames long (default: to its last frame); rotations by slerp.

        Bones stay rigid: each is turned with its parent, and only joint 0 moves on a straight line.
        Contacts take the nearer frame.
        """
        return finished(self.resampling(fps, count))

    def resampling(self, fps: float, count: int | None = None, warp: TimeWarp | None = None) -> Stepwise[Motion]:
        """`resampled` in pieces. warp: when the frames are shown, where that is not at the motion's own pace."""
        if count is None:
            count = sampled_frames(len(self), self.fps / fps, str(self.meta.get("name", "")))
        times = np.arange(count) * (self.fps / fps)
        made = yield from self.sampling(times if warp is None else warp.frames(times))
        return replace(made, fps=fps)

    def sampled(self, times: Array) -> Motion:
        """The motion at the given times (F,), in frames from the first on; rotations as in `resampled`.

        Times beyond an end take that end's pose. The frame rate stays.
        """
        return finished(self.sampling(times))

    def sampling(self, times: Array) -> Stepwise[Motion]:
        """`sampled` in pieces."""
        times = np.clip(times, 0, len(self) - 1)
        i = np.clip(np.floor(times).astype(int), 0, max(len(self) - 2, 0))
        j = np.minimum(i + 1, len(self) - 1)
        t = (times - i).astype(np.float32)
        nearest = np.where(t < 0.5, i, j)
        root = self.root[i] + t[:, None] * (self.root[j] - self.root[i])
        root[:, 3] = self.root[i, 3] + t * wrap_angle(self.root[j, 3] - self.root[i, 3])
        phase = (self.phase[i] + t * wrap_angle(self.phase[j] - self.phase[i])) % (2 * np.pi)

        def turned(i: Array, j: Array, t: Array) -> Array:
            return slerp(self.rotations[i], self.rotations[j], np.repeat(t[:, None], len(self.names), 1))

        yield
        rotations = yield from by_frames(turned, i, j, t)
        yield
        positions = self.positions[i] + t[:, None, None] * (self.positions[j] - self.positions[i])
        yield
        bones = yield from by_frames(self._bones, self.rotations, self.positions)
        for joint, parent in enumerate(self.parents):
            yield
            if parent >= 0:
                bone = bones[i, joint] + t[:, None] * (bones[j, joint] - bones[i, joint])
                positions[:, joint] = positions[:, parent] + rotate(rotations[:, parent], bone)
        yield
        return Motion(
            self.names,
            self.parents,
            positions,
            make_continuous(rotations),
            root,
            self.contacts[nearest],
            self.contact_names,
            phase,
            self.actions[nearest],
            self.action_names,
            self.fps,
            self.meta,
        )
