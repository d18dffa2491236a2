# SPDX-License-Identifier: GPL-3.0-or-later
"""A body in motion with its labels, which can be cut, moved, mirrored and joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...errors import FileFormatError
from ...files import ArraySpec, read_arrays, write_arrays
from ...labels.actions import locomotion_actions
from ...models.nsm import ACTIONS, FPS
from ...motion.clip import Clip
from ...motion.contacts import foot_contacts
from ...motion.easing import critically_damped
from ...motion.filters import gaussian
from ...motion.foot_lock import plant_feet
from ...motion.gait import gait_labels
from ...motion.mirror import mirror_rotations, mirror_vectors
from ...motion.motion import Motion
from ...motion.root import root_track
from ...motion.rotations import (
    Array,
    conjugate,
    from_exponential_map,
    from_yaw,
    make_continuous,
    multiply,
    rotate,
    to_exponential_map,
)
from ...motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, mirror_indices

_MIRROR = mirror_indices(MODEL_SKELETON.names)
HALF_LIFE = 0.18
"""Seconds in which half of the difference at a join is gone: the hands, some ten centimeters off, then come over with
no more than people's accelerations."""
ACTION_BLEND = 0.3
"""Seconds over which action labels change."""
_MOST_TRACKS = 1_000
"""Tracks of a file at most; a training makes some hundred walks."""
_ARRAYS: dict[str, tuple[str, tuple[int, ...]]] = {
    "hips": ("f", (3,)),
    "rotations": ("f", (len(MODEL_SKELETON), 4)),
    "contacts": ("f", (len(CONTACT_JOINTS),)),
    "actions": ("fb", (len(ACTIONS),)),
    "recorded": ("b", ()),
}
"""Types and shapes, without the frames, of a track's arrays in a file."""


@dataclass(frozen=True, eq=False)
class Track:
    """T frames at 60 fps of the model skeleton, in Blender's frame, with labels.

    hips: (T, 3) meters. rotations: (T, J, 4) world quaternions. contacts: (T, 4) of CONTACT_JOINTS. actions:
    (T, len(ACTIONS)) 0 or 1. recorded: (T,) whether a person was recorded doing this; else it was made by hand, a
    network or a rule.
    """

    hips: Array
    rotations: Array
    contacts: Array
    actions: Array
    recorded: Array

    def __len__(self) -> int:
        return len(self.hips)

    def positions(self) -> Array:
        """World joint places (T, J, 3)."""
        return MODEL_SKELETON.positions(self.hips, self.rotations)

    def root(self) -> Array:
        """Root (T, 4): x, y, 0 and the facing angle."""
        return root_track(self.positions(), FPS)

    def cut(self, start: int, stop: int) -> Track:
        """Frames start..stop-1."""
        return Track(**{name: value[start:stop] for name, value in vars(self).items()})

    def moved(self, turn: float, about: Array, shift: Array) -> Track:
        """Turned by `turn` radians about the vertical through `about` (2,), then shifted by `shift` (2,)."""
        yaw = from_yaw(np.array(turn))
        center, step = np.append(about, 0.0), np.append(shift, 0.0)
        hips = rotate(np.broadcast_to(yaw, (len(self), 4)), self.hips - center) + center + step
        rotations = multiply(np.broadcast_to(yaw, self.rotations.shape), self.rotations)
        return replace(self, hips=hips, rotations=make_continuous(rotations))

    def mirrored(self) -> Track:
        """As seen in a mirror."""
        return replace(
            self,
            hips=mirror_vectors(self.hips),
            rotations=mirror_rotations(self.rotations[:, _MIRROR]),
            contacts=self.contacts[:, [2, 3, 0, 1]],
        )

    def reversed(self) -> Track:
        """Played backward, which nobody was recorded doing."""
        backward = Track(**{name: value[::-1] for name, value in vars(self).items()})
        return replace(backward, recorded=np.zeros(len(self), dtype=bool))

    def relabeled(self, start: int, stop: int, *names: str) -> Track:
        """With frames start..stop-1 labeled as these actions and no other."""
        actions = self.actions.copy()
        actions[start:stop] = [name in names for name in ACTIONS]
        return replace(self, actions=actions)

    def motion(self, name: str = "") -> Motion:
        """As a Motion, to look at."""
        return Motion(
            names=MODEL_SKELETON.names,
            parents=MODEL_SKELETON.parents,
            positions=self.positions().astype(np.float32),
            rotations=self.rotations.astype(np.float32),
            root=self.root().astype(np.float32),
            contacts=self.contacts.astype(np.float32),
            contact_names=CONTACT_JOINTS,
            phase=np.zeros(len(self), dtype=np.float32),
            actions=self.actions.astype(np.float32),
            action_names=ACTIONS,
            fps=FPS,
            meta={"name": name},
        )


def save_tracks(path: Path, tracks: Sequence[Track]) -> None:
    """Write tracks to one file."""
    arrays = {f"{number}.{name}": value for number, track in enumerate(tracks) for name, value in vars(track).items()}
    write_arrays(path, {"count": np.array(len(tracks)), **arrays}, packed=False)


def load_tracks(path: Path) -> list[Track]:
    """The tracks of a file again. Raises FileFormatError."""
    what = "a file of tracks"
    count = int(read_arrays(path, what, {"count": ArraySpec("iu", ())})["count"])
    if not 0 <= count <= _MOST_TRACKS:
        raise FileFormatError(f"{path}: not {what}, as none holds {count} tracks.")
    specs = {
        f"{number}.{name}": ArraySpec(kinds, (f"frames{number}", *rest))
        for number in range(count)
        for name, (kinds, rest) in _ARRAYS.items()
    }
    arrays = read_arrays(path, what, specs)
    return [Track(**{name: arrays[f"{number}.{name}"] for name in _ARRAYS}) for number in range(count)]


def from_clip(clip: Clip) -> Track:
    """A clip on the model skeleton at 60 fps, labeled as locomotion."""
    positions, rotations = clip.world()
    contacts = foot_contacts(positions, FPS)
    gait = gait_labels(positions, contacts, FPS)
    recorded = np.full(len(clip), bool(clip.meta.get("mocap", True)))
    return Track(
        positions[:, 0].astype(float),
        make_continuous(rotations.astype(float)),
        contacts,
        locomotion_actions(gait),
        recorded,
    )


def from_motion(motion: Motion) -> Track:
    """A rollout of the PFNN."""
    return Track(
        motion.positions[:, 0].astype(float),
        make_continuous(motion.rotations.astype(float)),
        motion.contacts.astype(np.float32),
        locomotion_actions(motion.actions.argmax(1)),
        np.zeros(len(motion), dtype=bool),
    )


def align(track: Track, frame: int, place: Array, angle: float) -> Track:
    """`track` moved as a whole so that at `frame` its root is at `place` (2,) and faces `angle`."""
    root = track.root()[frame]
    return track.moved(angle - float(root[3]), root[:2], np.asarray(place) - root[:2])


def joined(parts: Sequence[Track], half_lives: Sequence[float] = (), *, own_heights: bool = False) -> Track:
    """Parts one after another, the first frame of each where the last of the one before belongs in the world.

    What is left of difference in pose and velocity at a join decays afterwards (inertialization), half of it in
    `half_lives` seconds of each join, by default HALF_LIFE; the feet, which that lets slide, are planted again: on the
    ground, or each at its own height.
    """
    hips, rotations = [parts[0].hips], [parts[0].rotations]
    for part, half_life in zip(parts[1:], half_lives or [HALF_LIFE] * (len(parts) - 1), strict=True):
        moved_hips, moved_rotations = _inertialized(hips[-1], rotations[-1], part, half_life)
        hips.append(moved_hips)
        rotations.append(moved_rotations)
    contacts = np.concatenate([part.contacts for part in parts])
    places, planted = plant_feet(
        np.concatenate(hips)[None], np.concatenate(rotations)[None], contacts[None], own_heights=own_heights
    )
    return Track(
        places[0, :, 0],
        make_continuous(planted[0]),
        contacts,
        np.concatenate([part.actions for part in parts]),
        np.concatenate([part.recorded for part in parts]),
    )


def blended_actions(actions: Array) -> Array:
    """Action labels that change over ACTION_BLEND seconds, as the network is to predict them."""
    return gaussian(actions.astype(np.float32), ACTION_BLEND * FPS / 3)


def _inertialized(hips: Array, rotations: Array, part: Track, half_life: float) -> tuple[Array, Array]:
    """`part` that goes on from the last frames of `hips` and `rotations`."""
    times = np.arange(1, len(part) + 1) / FPS
    before, after = part.hips[0] - (part.hips[1] - part.hips[0]), part.hips[1] - part.hips[0]
    offset = _decay(hips[-1] - before, ((hips[-1] - hips[-2]) - after) * FPS, times, half_life)
    # One frame before the part begins, as it would have been.
    step = multiply(part.rotations[0], conjugate(part.rotations[1]))
    previous = multiply(step, part.rotations[0])
    difference = _map(rotations[-1], previous)
    earlier = _map(rotations[-2], multiply(step, previous))
    turned = from_exponential_map(_decay(difference, (difference - earlier) * FPS, times, half_life))
    return part.hips + offset, multiply(turned, part.rotations)


def _map(a: Array, b: Array) -> Array:
    """Exponential map of the rotation from b to a."""
    return to_exponential_map(multiply(a, conjugate(b)))


def _decay(value: Array, speed: Array, times: Array, half_life: float) -> Array:
    """A critically damped spring from `value` and `speed` to nothing, at `times` (T,)."""
    rate = 2 * np.log(2) / half_life
    shape = (-1,) + (1,) * value.ndim
    t = times.reshape(shape)
    return critically_damped(value, speed, rate, t)[0]
